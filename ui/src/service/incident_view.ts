// One incident: the answer, what shows it, what it costs, what was changed nearby, and whether the answer was right.

import { blockedCard, diagnosisCard } from "../diagnoses_section.ts";
import { readDocument, type EroicaDocument } from "../document.ts";
import { h, section, tiles, type Child } from "../dom.ts";
import { capital, duration, MISSING, plural, whole } from "../format.ts";
import { fields } from "../json.ts";
import { readIncident, type Change, type Claim, type Feedback, type Incident } from "./answers.ts";
import { get, Problem } from "./client.ts";
import { feedbackForm } from "./feedback_form.ts";
import { diagnosisOf } from "./evidence.ts";
import { incidentsHref, jobHref } from "./route.ts";
import { gpuTime, incidentAnswer, incidentState, isWebAddress, jobsInWords, moment, nearness, timesInWords, verdictInWords } from "./sentences.ts";
import { diagnosisLink, incidentBadge, slot, when, type View } from "./view.ts";

/** A diagnosis of a large job has megabytes: those of the surest claims are enough. */
const MOST_DOCUMENTS = 4;

const row = (...cells: Child[]): HTMLElement => h("tr", {}, ...cells.map((cell) => h("td", {}, cell)));
const plainTable = (label: string, heads: readonly string[], rows: readonly HTMLElement[]): HTMLElement =>
  h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, h("table", { class: "plain" },
    h("thead", {}, h("tr", {}, ...heads.map((head) => h("th", { scope: "col" }, head)))), h("tbody", {}, ...rows)));

function figures(incident: Incident): HTMLElement {
  const { lostGpuS, recoveredGpuS, recovered } = incident;
  return tiles([
    { name: "GPU time lost", value: gpuTime(lostGpuS), warn: lostGpuS !== null && lostGpuS > 0 },
    ...(recovered !== null ? [{ name: "Saved since it recovered", value: gpuTime(recoveredGpuS) }] : []),
    ...(incident.stepMs !== null
      ? [{ name: "Step", value: duration(incident.stepMs), more: incident.usualMs === null ? "" : `usually ${duration(incident.usualMs)}` }] : []),
    { name: "Ranks", value: whole(incident.ranks) },
    { name: "Windows", value: whole(incident.windowsCount), more: incident.interferenceMs === null || incident.interferenceMs === 0 ? "" : `cost ${duration(incident.interferenceMs)}` },
    ...(incident.repeats !== null && incident.repeats > 0 ? [{ name: "Detected again", value: plural(incident.repeats, "time") }] : []),
  ]);
}

function evidence(incident: Incident, documents: ReadonlyMap<number, EroicaDocument>): Child[] {
  if (incident.claims.length === 0) {
    const windows = incident.windowsCount ?? 0;
    return [h("p", {}, windows === 0 ? "No window was taken yet, so no cause can be named."
      : incident.diagnoses.length === 0 ? `${plural(windows, "window")} taken, none diagnosed yet.`
      : "The windows showed no cause: every diagnosis below found nothing that would explain it.")];
  }
  const blocked = [...documents.values()].map((doc) => doc.blocked).find((each) => each !== null) ?? null;
  return [
    blocked !== null && blockedCard(blocked),
    ...incident.claims.map((claim, i) => claimCard(claim, documents, i === 0)),
  ];
}

function claimCard(claim: Claim, documents: ReadonlyMap<number, EroicaDocument>, open: boolean): HTMLElement {
  const doc = claim.document === null ? undefined : documents.get(claim.document);
  const card = diagnosisCard(diagnosisOf(claim, doc), open);
  card.append(h("p", { class: "note" }, `${capital(timesInWords(claim.times))}, last `, when(claim.last),
    claim.document !== null && ": ", claim.document !== null && diagnosisLink(claim.document, "the whole diagnosis")));
  return card;
}

const changeRow = (change: Change, place: Child): HTMLElement => row(place,
  h("span", { class: "name" }, isWebAddress(change.url)
    ? h("a", { href: change.url, rel: "noreferrer noopener", target: "_blank" }, change.what) : change.what || MISSING),
  change.who || MISSING, jobsInWords(change));

const changesTable = (label: string, changes: readonly Change[], place: (change: Change) => Child): HTMLElement =>
  plainTable(label, ["When", "What", "Who", "Jobs"], changes.map((change) => changeRow(change, place(change))));

const verdictsTable = (feedback: readonly Feedback[]): HTMLElement =>
  plainTable("What was said", ["When", "Who", "Verdict", "Remark"], feedback.map((each) =>
    row(when(each.at), each.who || MISSING, verdictInWords(each), each.text || MISSING)));

/** What happened, in the order of time. */
function course(incident: Incident): HTMLElement {
  const moments = ([
    ["It began", incident.onset], ["It was detected", incident.detected], ["A cause was named", incident.localised],
    ["Something was done", incident.acted], ["It was well again", incident.recovered], ["It was closed", incident.closed],
  ] as const).filter(([, time]) => time !== null).sort(([, a], [, b]) => a! - b!);
  return plainTable("Course", ["What", "When", ""], moments.map(([what, time]) => row(what, moment(time), when(time))));
}

const diagnosesList = ({ diagnoses }: Incident): Child => (diagnoses.length === 0 ? h("p", { class: "quiet" }, "None yet.")
  : plainTable("Diagnoses", ["Diagnosis", "Made", "Host", "Found"], diagnoses.slice(0, 100).map(({ id, at, host, healthy }) =>
    row(diagnosisLink(id), when(at), host || MISSING, healthy ? "nothing wrong" : "something wrong"))));

export function incidentView(id: number, reload: () => void): View {
  const documents = new Map<number, EroicaDocument>();
  const [head, shown, changes, verdicts, rest] = [slot({ class: "headline" }), slot(), slot(), slot(), slot()];
  const feedback = feedbackForm(id, reload);

  /** One that cannot be had is done without: the incident keeps what matters most. */
  async function loadDocuments(claims: readonly Claim[], signal: AbortSignal, show: () => void): Promise<void> {
    const wanted = [...new Set(claims.flatMap(({ document }) => document ?? []))].slice(0, MOST_DOCUMENTS).filter((each) => !documents.has(each));
    await Promise.all(wanted.map(async (each) => {
      try {
        documents.set(each, readDocument(await get(`/api/v1/diagnoses/${each}`, signal)));
        show();
      } catch (problem) {
        if (signal.aborted || !(problem instanceof Problem) || problem.status === 401) throw problem;
      }
    }));
  }

  return {
    title: `Incident ${id}`,
    polls: false,
    element: h("div", {}, head.element,
      section("evidence", "What is wrong, and how it shows", shown.element),
      section("changes", "What was changed", changes.element),
      section("feedback", "Was this right?", feedback.element, verdicts.element),
      rest.element),
    async load(signal, ready) {
      const incident = readIncident(await get(`/api/v1/incidents/${id}`, signal));
      head.fill(
        h("p", { class: "job" }, h("a", { href: incidentsHref() }, "Incidents"), ` · number ${id} · job `,
          h("a", { href: jobHref(incident.tenant, incident.job) }, incident.job || "unnamed"), incident.tenant !== "" && ` · tenant ${incident.tenant}`),
        h("h1", {}, incidentAnswer(incident)),
        h("p", { class: "state-line" }, incidentBadge(incident.state), " Began ", when(incident.onset ?? incident.detected), ". ", incidentState(incident)),
        figures(incident));
      changes.fill(
        h("h3", {}, "Before it began, the nearest first"),
        incident.near.length === 0 ? h("p", { class: "quiet" }, "Nobody told of a change within an hour before the onset.")
          : changesTable("Changes near the onset", incident.near, (change) => h("span", { title: moment(change.at) }, nearness(change))),
        incident.actions.length > 0 && h("h3", {}, "Against it"),
        incident.actions.length > 0 && changesTable("What was done against it", incident.actions, ({ at }) => when(at)));
      verdicts.fill(incident.feedback.length > 0 && verdictsTable(incident.feedback));
      rest.fill(section("course", "Course", course(incident)), section("diagnoses", "Diagnoses", diagnosesList(incident)));
      const show = (): void => {
        shown.fill(...evidence(incident, documents));
        feedback.suggest([...new Set([...documents.values()].flatMap((doc) =>
          [...doc.diagnoses.flatMap(({ alternatives }) => alternatives), ...doc.hints].map(({ cause }) => cause)))].filter((cause) => cause !== ""));
      };
      show();
      ready();
      await loadDocuments(incident.claims, signal, show);
    },
    hear: ({ name, data }) => name === "incident" && fields(fields(data).incident).id === id,
  };
}
