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
import { follow, type StreamState } from "./news.ts";
import { reportView } from "./report_view.ts";
import { incidentsHref, jobsHref, reportHref, routeOf, type Route } from "./route.ts";
import { moment } from "./sentences.ts";
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
  /** From when it is what it shows, ms since 1970; null: it was never loaded. */
  asOf: number | null;
  /** The last load got no answer, which may be otherwise soon. */
  away: boolean;
  /** The token does not allow it: asked for no more, unless by hand. */
  refused: boolean;
  triedAt: number;
}
let shown: Shown | null = null;
/** The event stream, while there is one. */
let listening: AbortController | null = null;
/** How it stands; null: not known yet. */
let stream: StreamState | null = null;

function tell(text: string): void {
  notice.hidden = text === "";
  if (problem.textContent !== text) problem.textContent = text;  // said again it would be read aloud again
}

function showConnection(): void {
  const state = shown?.away === true ? "not connected" : shown?.refused === true ? "refused" : stream === "live" ? "live" : "connecting";
  // What news alone would change stands still without them.
  const isFrozen = shown !== null && shown.asOf !== null && shown.view.hear !== undefined && !shown.view.polls && stream !== null && stream !== "live";
  connection.textContent = isFrozen ? `${state}, as of ${moment(shown!.asOf)}` : state;
  connection.className = `connection ${state.replace(" ", "-")}`;
  signOut.hidden = token.get() === "";
}

function hangUp(): void {
  listening?.abort();
  listening = null;
  stream = null;
}

function askForToken(): void {
  const why = token.get() === "" ? "This server answers only those who have a token of it." : "The server does not know this token, or knows it no more.";
  token.clear();
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

/** There is an answer, and its view shows it. */
function answered(at: Shown): void {
  if (at.end.signal.aborted) return;
  at.asOf = Date.now();
  at.away = at.refused = false;
  at.view.element.hidden = false;
  document.getElementById("loading")?.remove();
  tell("");
  listen();
}

async function load(at: Shown): Promise<void> {
  try {
    await at.view.load(at.end.signal, () => answered(at));
    answered(at);
  } catch (error) {
    if (at.end.signal.aborted) return;
    const problem = error instanceof Problem ? error : new Problem(500, `This page made a mistake (${String(error)})`);
    if (problem.status === 401) return askForToken();
    at.away = problem.passes;
    at.refused = problem.status === 403;
    document.getElementById("loading")?.remove();
    if (!at.away && !at.refused) listen();
    tell(`${capital(problem.message)}.${at.asOf === null ? "" : ` What stands below is as of ${moment(at.asOf)}.`}`);
  }
  if (at.end.signal.aborted) return;
  at.triedAt = performance.now();
  showConnection();
}

function leave(): void {
  document.querySelectorAll<HTMLDialogElement>("dialog[open]").forEach((each) => each.close());
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
  const at: Shown = { view, loader: new Loader(() => load(at), LOAD_PAUSE_MS), end: new AbortController(), asOf: null, away: false, refused: false, triedAt: 0 };
  shown = at;
  at.loader.request();
}

/** Opens the event stream, while the page is visible. */
function listen(): void {
  if (listening !== null || document.hidden) return;
  listening = new AbortController();
  void follow((news) => {
    if (shown === null) return;
    if (shown.view.hear?.(news) === true) shown.loader.request();
    else if (shown.view.hear !== undefined && shown.asOf !== null && !shown.away) shown.asOf = Date.now();
  }, heard, listening.signal);
}

function heard(state: StreamState): void {
  if (state instanceof Problem && state.status === 401) return askForToken();
  // News may have been missed; those between the first answer and the first stream only where asking leaves no trace.
  const isMissed = state === "live" && shown?.view.hear !== undefined && (stream !== null || shown.view.polls);
  // The server is gone, or the stream alone: a request tells.
  const isGone = state instanceof Problem && state.passes && !(stream instanceof Problem);
  stream = state;
  if (shown !== null && shown.asOf !== null && (isMissed || isGone)) shown.loader.request();
  showConnection();
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
  const isOld = stream !== "live" || performance.now() - shown.triedAt > STALE_MS;
  if (shown.away || (shown.view.polls && isOld && !shown.refused)) shown.loader.request();
}, POLL_MS);
window.addEventListener("hashchange", () => { go(); main.focus({ preventScroll: true }); });

document.body.append(
  h("header", { class: "bar" }, h("a", { class: "brand", href: jobsHref }, "eroica"), h("nav", { "aria-label": "Places" }, ...links),
    h("span", { class: "session" }, connection, signOut)),
  notice, main);
go();
