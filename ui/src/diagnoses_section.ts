// Claims as cards, most costly first as the document has them; hints folded away below.

import type { Diagnosis, EroicaDocument, Evidence } from "./document.ts";
import { h, section, type Child } from "./dom.ts";
import { capital, digits, duration, location, MISSING, percent, ranksInWords, whole, words } from "./format.ts";

const amount = (value: string, unit: string): string => {
  if (value === "") return MISSING;
  const shown = Number.isFinite(Number(value)) ? digits(Number(value)) : value;
  if (unit === "share" && Number.isFinite(Number(value))) return percent(Number(value));
  return unit === "" || unit === "1" ? shown : `${shown} ${unit}`;
};

function where(diagnosis: Diagnosis): string {
  const ranks = ranksInWords(diagnosis.ranks);
  const hosts = diagnosis.hosts.length === 0 ? "" : `${diagnosis.hosts.length === 1 ? "host" : "hosts"} ${diagnosis.hosts.slice(0, 6).join(", ")}` +
    (diagnosis.hosts.length > 6 ? ` and ${whole(diagnosis.hosts.length - 6)} more` : "");
  const all = diagnosis.scope === "all" ? "all ranks" : "";
  return capital([ranks || all, hosts, diagnosis.component].filter((part) => part !== "").join(" · "));
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

function card(diagnosis: Diagnosis): HTMLElement {
  const called = diagnosis.function;
  const lost = diagnosis.lostMsPerStep;
  const perHour = diagnosis.lostGpuSecondsPerHour;
  return h("article", { class: "card" },
    h("div", { class: "card-head" },
      h("div", {},
        h("h3", {}, diagnosis.title),
        h("p", { class: "where" }, where(diagnosis))),
      lost !== null && h("div", { class: "lost" },
        h("strong", {}, duration(lost)), h("span", { class: "quiet" }, "lost a step"),
        perHour !== null && h("span", { class: "quiet" }, `${digits(perHour)} GPU seconds an hour`))),
    diagnosis.summary !== "" && h("p", {}, diagnosis.summary),
    called !== null && h("p", { class: "code" }, called.name,
      location(called) !== "" && h("span", { class: "quiet" }, `${called.name === "" ? "" : "  "}${location(called)}`)),
    diagnosis.action !== "" && h("p", { class: "action" }, h("strong", {}, "Do next: "), diagnosis.action),
    diagnosis.evidence.length > 0 && evidenceTable(diagnosis.evidence),
    h("div", { class: "card-foot" },
      confidence(diagnosis.confidence),
      diagnosis.cause !== "" && h("span", { class: "code quiet" }, diagnosis.cause)),
    (diagnosis.confidenceWhy.length > 0 || diagnosis.alternatives.length > 0) && h("details", {},
      h("summary", {}, "Why this, and not something else"),
      diagnosis.confidenceWhy.length > 0 && h("ul", {}, ...diagnosis.confidenceWhy.map((why) => h("li", {}, why))),
      diagnosis.alternatives.length > 0 && h("ul", {}, ...diagnosis.alternatives.map(({ cause, ruledOutBy, confidence: sure }) =>
        h("li", {}, h("span", { class: "code" }, cause), sure === null ? "" : ` (${percent(sure)})`,
          ruledOutBy === "" ? "" : `: ruled out by ${words(ruledOutBy)}`)))));
}

export function diagnosesSection(doc: EroicaDocument): HTMLElement | null {
  if (doc.diagnoses.length === 0 && doc.hints.length === 0) return null;
  const victims = doc.victims.length > 0 && doc.diagnoses.length > 0;
  return section("diagnoses", doc.diagnoses.length > 0 ? "What is wrong" : "Hints",
    ...doc.diagnoses.map(card),
    victims && h("p", { class: "note" }, `Only waiting for the others: ${ranksInWords(doc.victims)}.`),
    doc.hints.length > 0 && h("details", { open: doc.diagnoses.length === 0 },
      h("summary", {}, `${capital(doc.hints.length === 1 ? "one hint" : `${whole(doc.hints.length)} hints`)}, less sure than a claim`),
      ...doc.hints.map(card)));
}
