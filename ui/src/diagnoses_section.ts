// Claims as cards, most costly first as the document has them; hints folded away below.

import type { Alternative, Blocked, Diagnosis, EroicaDocument, Evidence } from "./document.ts";
import { h, section, type Child } from "./dom.ts";
import { amount, capital, duration, gpuTime, location, MISSING, percent, plural, ranksInWords, whole, words } from "./format.ts";
import { blockedInWords, medianMs } from "./headline.ts";

function where(diagnosis: Diagnosis): string {
  const ranks = ranksInWords(diagnosis.ranks);
  const hosts = diagnosis.hosts.length === 0 ? "" : `${diagnosis.hosts.length === 1 ? "host" : "hosts"} ${diagnosis.hosts.slice(0, 6).join(", ")}` +
    (diagnosis.hosts.length > 6 ? ` and ${whole(diagnosis.hosts.length - 6)} more` : "");
  const all = diagnosis.scope === "all" ? "all ranks" : "";
  const component = diagnosis.component === ranks ? "" : diagnosis.component;
  return capital([ranks || all, hosts, component].filter((part) => part !== "").join(" · "));
}

function confidence(value: number | null): Child {
  if (value === null) return null;
  const word = value >= 0.9 ? "very sure" : value >= 0.75 ? "sure" : value >= 0.5 ? "likely" : "possible";
  return h("div", { class: "confidence" },
    h("span", { class: "meter", "aria-hidden": "true" },
      h("span", { style: `width:${Math.round(value * 100)}%` })),
    h("span", {}, `${word}, ${percent(value)}`));
}

function evidenceTable(evidence: readonly Evidence[]): HTMLElement {
  return h("div", { class: "scroll" }, h("table", { class: "plain" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Evidence"), h("th", { scope: "col", class: "number" }, "Here"),
      h("th", { scope: "col", class: "number" }, "Peers’ median"), h("th", { scope: "col", class: "number" }, "Spread (MAD)"),
      h("th", { scope: "col" }, "Ranks"))),
    h("tbody", {}, ...evidence.map((entry) => h("tr", {},
      h("th", { scope: "row" }, entry.what || MISSING),
      h("td", { class: "number" }, amount(entry.value, entry.unit)),
      h("td", { class: "number" }, amount(entry.peersMedian, entry.unit)),
      h("td", { class: "number" }, amount(entry.peersMad, entry.unit)),
      h("td", {}, ranksInWords(entry.ranks).replace(/^ranks? /, "") || MISSING))))));
}

function alternativesTable(alternatives: readonly Alternative[]): HTMLElement {
  return h("div", { class: "scroll" }, h("table", { class: "plain" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Considered"), h("th", { scope: "col", class: "number" }, "Sure"),
      h("th", { scope: "col" }, "Ruled out by"))),
    h("tbody", {}, ...alternatives.map(({ cause, confidence: sure, ruledOutBy }) => h("tr", {},
      h("th", { scope: "row", class: "code" }, cause || MISSING),
      h("td", { class: "number" }, percent(sure)),
      h("td", {}, words(ruledOutBy) || MISSING))))));
}

/** `open`: what was ruled out is not folded away. */
export function diagnosisCard(diagnosis: Diagnosis, open = false): HTMLElement {
  const called = diagnosis.function;
  const lost = diagnosis.lostMsPerStep;
  const perHour = diagnosis.lostGpuSecondsPerHour;
  const marginal = diagnosis.marginalMsPerStep;
  return h("article", { class: "card" },
    h("div", { class: "card-head" },
      h("div", {},
        h("h3", {}, diagnosis.title),
        h("p", { class: "where" }, where(diagnosis))),
      lost !== null && lost > 0 && h("div", { class: "lost" },
        h("strong", {}, duration(lost)), h("span", { class: "quiet" }, "lost a step"),
        perHour !== null && perHour > 0 && h("span", { class: "quiet" }, gpuTime(perHour)),
        marginal !== null && marginal < 0.9 * lost && h("span", { class: "quiet" }, `${duration(Math.max(0, marginal))} if it alone is fixed`))),
    diagnosis.summary !== "" && h("p", {}, diagnosis.summary),
    called !== null && h("p", { class: "code" }, called.name,
      location(called) !== "" && h("span", { class: "quiet" }, `${called.name === "" ? "" : "  "}${location(called)}`)),
    diagnosis.action !== "" && h("p", { class: "action" }, h("strong", {}, "Do next: "), diagnosis.action),
    diagnosis.evidence.length > 0 && evidenceTable(diagnosis.evidence),
    h("div", { class: "card-foot" },
      confidence(diagnosis.confidence),
      diagnosis.cause !== "" && h("span", { class: "code quiet" }, diagnosis.cause)),
    (diagnosis.confidenceWhy.length > 0 || diagnosis.alternatives.length > 0) && h("details", { open },
      h("summary", {}, "Why this, and not something else"),
      diagnosis.confidenceWhy.length > 0 && h("ul", {}, ...diagnosis.confidenceWhy.map((why) => h("li", {}, why))),
      diagnosis.alternatives.length > 0 && alternativesTable(diagnosis.alternatives)));
}

export function blockedCard(blocked: Blocked): HTMLElement {
  const list = (title: string, entries: readonly string[], kind: string): Child[] => (entries.length === 0 ? [] : [
    h("p", { class: "quiet" }, title), h("ul", { class: kind }, ...entries.slice(0, 20).map((entry) => h("li", {}, entry)))]);
  return h("article", { class: "card blocked" },
    h("h3", {}, `Blocked in ${blockedInWords(blocked)}`),
    ...list("Where the missing ranks are", blocked.stacks, "code"),
    ...list("What their processes do", blocked.processState, ""));
}

/** The step as it is, without what was found, and with all work even: bars of one scale. */
function whatIfBars(doc: EroicaDocument): HTMLElement | null {
  const now = doc.whatIf.stepMs ?? medianMs(doc);
  const without = doc.whatIf.stepMsWithoutFindings;
  if (now === null || now <= 0 || without === null || without <= 0 || doc.diagnoses.length === 0) return null;
  const even = doc.whatIf.slowdownEven;
  const rows: (readonly [string, number])[] = [["Step now", now], ["Without what was found", without],
    ...(even !== null && even > 1 ? [["With all work even", now / even] as const] : [])];
  const longest = Math.max(...rows.map(([, ms]) => ms));
  return h("dl", { class: "what-if", "aria-label": "What a step would take" }, ...rows.map(([name, ms], i) => h("div", {},
    h("dt", {}, name),
    h("dd", {}, h("span", { class: "what-if-bar", "aria-hidden": "true" },
      h("span", { class: i === 0 ? "now" : null, style: `width:${(100 * ms) / longest}%` })),
    h("span", { class: "number" }, duration(ms))))));
}

const GROUPS = 60;

function peerGroups(doc: EroicaDocument): HTMLElement | null {
  const groups = doc.peerGroups;
  if (groups.length === 0) return null;
  const left = groups.length - GROUPS;
  return h("details", { class: "peers" },
    h("summary", {}, `What was compared: ${plural(groups.length, "group")} of ranks that ought to behave alike`),
    h("div", { class: "scroll" }, h("table", { class: "plain" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Group"), h("th", { scope: "col" }, "Ranks"), h("th", { scope: "col" }, "Peers because of"))),
      h("tbody", {}, ...groups.slice(0, GROUPS).map(({ name, why, ranks }) => h("tr", {},
        h("th", { scope: "row" }, name || MISSING),
        h("td", {}, ranksInWords(ranks).replace(/^ranks? /, "")),
        h("td", {}, why || MISSING)))))),
    left > 0 && h("p", { class: "note" }, `${plural(left, "more group")} in the JSON.`));
}

export function diagnosesSection(doc: EroicaDocument): HTMLElement | null {
  if (doc.diagnoses.length === 0 && doc.hints.length === 0 && doc.blocked === null && doc.peerGroups.length === 0) return null;
  const wrong = doc.diagnoses.length > 0 || doc.blocked !== null;
  const victims = doc.victims.length > 0 && wrong;
  return section("diagnoses", wrong ? "What is wrong" : doc.hints.length > 0 ? "Hints" : "Nothing wrong was found",
    doc.blocked !== null && blockedCard(doc.blocked),
    ...doc.diagnoses.map((each) => diagnosisCard(each)),
    whatIfBars(doc),
    victims && h("p", { class: "note" }, `Only waiting for the others: ${ranksInWords(doc.victims)}.`),
    doc.hints.length > 0 && h("details", { open: !wrong },
      h("summary", {}, `${capital(doc.hints.length === 1 ? "one hint" : `${whole(doc.hints.length)} hints`)}, less sure than a claim`),
      ...doc.hints.map((each) => diagnosisCard(each))),
    peerGroups(doc));
}
