// The answer first: what is wrong, or where the time goes, in one sentence, then the job in figures.

import type { Blocked, EroicaDocument } from "./document.ts";
import { h, tiles, type Tile } from "./dom.ts";
import { duration, percent, plural, ranksInWords, whole, words } from "./format.ts";

const joined = (parts: readonly string[]): string =>
  parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts[parts.length - 1]}`;

export const medianMs = (doc: EroicaDocument): number | null => doc.steps.medianMs ?? doc.window.medianMs;

/** "all_reduce number 12 of group dp: ranks 0–2 wait for rank 3" */
export function blockedInWords({ operation, sequence, group, waiting, missing }: Blocked): string {
  const what = [words(operation) || "a collective", sequence === null ? "" : `number ${sequence}`,
    group === "" ? "" : `of group ${group}`].filter((part) => part !== "").join(" ");
  const who = `${ranksInWords(waiting) || "others"} ${waiting.length === 1 ? "waits" : "wait"}`;
  return `${what}: ${who}${missing.length === 0 ? ", no rank is missing" : ` for ${ranksInWords(missing)}`}`;
}

/** The sentence at the top. */
export function answer(doc: EroicaDocument): string {
  const [first, ...others] = doc.diagnoses;
  const step = doc.whatIf.stepMs ?? medianMs(doc);
  const stopped = doc.blocked === null ? "" : `Blocked in ${blockedInWords(doc.blocked)}. `;
  if (first) {
    const where = ranksInWords(first.ranks) || first.hosts.join(", ") || (first.scope === "all" ? "all ranks" : first.component);
    const of = step === null ? "" : ` of ${duration(step)}`;
    const lost = first.lostMsPerStep !== null && first.lostMsPerStep > 0 ? `: ${duration(first.lostMsPerStep)}${of} a step lost` : "";
    const more = others.length > 0 ? `, and ${plural(others.length, "more cause")}` : "";
    return `${stopped}${first.title}${where === "" ? "" : ` (${where})`}${lost}${more}.`;
  }
  const shares = doc.classes
    .flatMap(({ name, share }) => (share !== null && share >= 0.05 ? [{ name, share }] : []))
    .sort((a, b) => b.share - a.share)
    .slice(0, 3)
    .map(({ name, share }) => `${percent(share)} ${name}`);
  if (stopped !== "") return stopped.trim();
  const well = doc.peerGroups.length > 0 ? "Nothing wrong was found. " : "";
  if (step !== null && shares.length > 0) return `${well}A step takes ${duration(step)}: ${joined(shares)}.`;
  if (step !== null) return `${well}A step takes ${duration(step)}.`;
  if (shares.length > 0) return `${well}Where the time goes: ${joined(shares)}.`;
  return "The input had nothing that could be measured.";
}

function tilesOf(doc: EroicaDocument): Tile[] {
  const { coverage, steps } = doc;
  const seen = coverage.ranksSeen ?? (doc.ranks.length > 0 ? doc.ranks.length : null);
  const expected = coverage.ranksExpected ?? doc.worldSize;
  const short = seen !== null && expected !== null && seen < expected;
  const total = steps.count ?? doc.window.steps;
  const slowest = [
    steps.slowestStep === null ? "" : `step ${steps.slowestStep}`,
    steps.slowestRank === null ? "" : `rank ${steps.slowestRank}`,
  ].filter((part) => part !== "").join(", ");
  return [
    { name: "Ranks", value: whole(seen), ...(short ? { more: `of ${whole(expected)}`, warn: true } : {}) },
    { name: "Hosts", value: whole(coverage.hostsSeen) },
    { name: "Steps", value: whole(total),
      ...(steps.complete !== null && total !== null && steps.complete < total ? { more: `${whole(steps.complete)} complete` } : {}) },
    { name: "Median step", value: duration(medianMs(doc)) },
    { name: "p95 step", value: duration(steps.p95Ms ?? doc.window.p95Ms) },
    { name: "Slowest step", value: duration(steps.slowestMs), more: slowest },
    ...(doc.whatIf.slowdown !== null ? [{ name: "Slowdown", value: `${doc.whatIf.slowdown.toFixed(2)} ×` }] : []),
  ];
}

export function headline(doc: EroicaDocument): HTMLElement {
  return h("header", { class: "headline" },
    h("p", { class: "job" }, h("span", { class: "brand" }, "eroica"),
      h("span", {}, doc.jobId === "" ? "unnamed job" : doc.jobId)),
    h("h1", {}, answer(doc)),
    tiles(tilesOf(doc)));
}
