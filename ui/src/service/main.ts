// The frame around the views: places, news, problems, the token.

import { h } from "../dom.ts";
import { capital } from "../format.ts";
import { Problem, token } from "./client.ts";
import { diagnosisView } from "./diagnosis_view.ts";
import { incidentView } from "./incident_view.ts";
import { incidentsView } from "./incidents_view.ts";
import { jobView } from "./job_view.ts";
import { jobsView } from "./jobs_view.ts";
import { Loader } from "./loader.ts";
import { follow } from "./news.ts";
import { reportView } from "./report_view.ts";
import { incidentsHref, jobsHref, reportHref, routeOf, type Route } from "./route.ts";
import { signInForm } from "./sign_in.ts";
import { button, refreshTimes, type View } from "./view.ts";

const POLL_MS = 2000;
/** Not all is news: that nothing was heard of a job, for instance. */
const STALE_MS = 30_000;
const LOAD_PAUSE_MS = 1000;

const places = [["Jobs", jobsHref], ["Incidents", incidentsHref()], ["Report", reportHref]] as const;
const links = places.map(([name, href]) => h("a", { href }, name));
const connection = h("span", { class: "connection", role: "status" });
const signOut = button("Sign out", () => { token.clear(); restart(); });
const problem = h("span", { role: "alert" });
const notice = h("div", { class: "notice", hidden: true }, problem, button("Try again", () => shown?.loader.request()));
const main = h("main", { tabindex: -1 });

function viewOf(route: Route, reload: () => void): View | null {
  switch (route.page) {
    case "jobs": return jobsView();
    case "job": return jobView(route.tenant, route.job, reload);
    case "incidents": return incidentsView(route.filter, reload);
    case "incident": return incidentView(route.id, reload);
    case "diagnosis": return diagnosisView(route.id);
    case "report": return reportView();
    case "unknown": return null;
  }
}

/** What is shown now. */
interface Shown {
  readonly view: View;
  readonly loader: Loader;
  readonly end: AbortController;
  /** It was loaded once. */
  loaded: boolean;
  /** The last load got no answer, which may be otherwise soon. */
  away: boolean;
  triedAt: number;
}
let shown: Shown | null = null;
/** The event stream, while there is one. */
let listening: AbortController | null = null;
let isLive = false;

function tell(text: string): void {
  notice.hidden = text === "";
  if (problem.textContent !== text) problem.textContent = text;  // said again it would be read aloud again
}

function showConnection(): void {
  const state = shown?.away === true ? "not connected" : isLive ? "live" : "connecting";
  connection.textContent = state;
  connection.className = `connection ${state.replace(" ", "-")}`;
  signOut.hidden = token.get() === "";
}

function hangUp(): void {
  listening?.abort();
  listening = null;
  isLive = false;
}

function askForToken(why: string): void {
  leave();
  hangUp();
  tell("");
  connection.textContent = "signed out";
  connection.className = "connection";
  signOut.hidden = true;
  document.title = "Sign in · eroica";
  main.replaceChildren(signInForm(why, (given) => { token.set(given); restart(); }));
  main.querySelector("input")?.focus();
}

async function load(at: Shown): Promise<void> {
  try {
    await at.view.load(at.end.signal);
    if (at.end.signal.aborted) return;
    at.loaded = true;
    at.away = false;
    at.view.element.hidden = false;
    tell("");
  } catch (error) {
    if (at.end.signal.aborted) return;
    const status = error instanceof Problem ? error.status : null;
    if (status === 401) {
      const had = token.get() !== "";
      token.clear();
      return askForToken(had ? "The server does not know this token, or knows it no more." : "This server answers only those who have a token of it.");
    }
    at.away = status === 0 || status === 503;
    const why = error instanceof Problem ? error.message : `This page made a mistake (${String(error)})`;
    tell(`${capital(why)}.${at.loaded ? " What stands below is older." : ""}`);
  }
  at.triedAt = performance.now();
  document.getElementById("loading")?.remove();
  if (!at.away) listen();
  showConnection();
}

function leave(): void {
  shown?.loader.stop();
  shown?.end.abort();
  shown = null;
}

function go(): void {
  leave();
  const view = viewOf(routeOf(location.hash), () => shown?.loader.request());
  links.forEach((link) => {
    const here = location.hash === "" ? jobsHref : location.hash;
    if (here.startsWith(link.getAttribute("href")!)) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  });
  tell("");
  if (view === null) {
    document.title = "eroica";
    main.replaceChildren(h("h1", {}, "There is no such place."), h("p", {}, h("a", { href: jobsHref }, "All jobs")));
    return;
  }
  document.title = `${view.title} · eroica`;
  view.element.hidden = true;
  main.replaceChildren(h("p", { id: "loading", class: "quiet", role: "status" }, "Asking the server…"), view.element);
  window.scrollTo(0, 0);
  const at: Shown = { view, loader: new Loader(() => load(at), LOAD_PAUSE_MS), end: new AbortController(), loaded: false, away: false, triedAt: 0 };
  shown = at;
  at.loader.request();
}

/** Opens the event stream, while the page is visible. */
function listen(): void {
  if (listening !== null || document.hidden) return;
  listening = new AbortController();
  void follow(
    (news) => { if (shown?.view.hear?.(news) === true) shown.loader.request(); },
    (is) => {
      if (is && !isLive && shown !== null && shown.loaded && shown.view.polls) shown.loader.request();  // what was missed
      isLive = is;
      showConnection();
    },
    listening.signal);
}

function restart(): void {
  hangUp();
  go();
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    hangUp();
  } else {
    shown?.loader.request();
  }
});
setInterval(() => {
  refreshTimes(main);
  if (document.hidden || shown === null) return;
  const isOld = !isLive || performance.now() - shown.triedAt > STALE_MS;
  if (shown.away || (shown.view.polls && isOld)) shown.loader.request();
}, POLL_MS);
window.addEventListener("hashchange", () => { go(); main.focus({ preventScroll: true }); });

document.body.append(
  h("header", { class: "bar" }, h("a", { class: "brand", href: jobsHref }, "eroica"), h("nav", { "aria-label": "Places" }, ...links),
    h("span", { class: "session" }, connection, signOut)),
  notice, main);
go();
