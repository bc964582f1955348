// The tables: functions, collectives, what was read and what was missing.

import { groupName, showCollective, showFunction } from "./details.ts";
import type { Collective, CollectiveRank, EroicaDocument, FunctionProfile } from "./document.ts";
import { facts, h, section, type Child } from "./dom.ts";
import {
  bytes, capital, count, digits, fixed, location, microseconds, MISSING, percent, plural, shorten, utc, whole, words, duration,
} from "./format.ts";
import { table } from "./table.ts";

function functionCell(profile: FunctionProfile, basis: string): HTMLElement {
  const issuer = profile.issuer;
  const where = location(profile);
  const from = where === "" && issuer !== null ? ["from", issuer.name, location(issuer)].filter((part) => part !== "").join(" ") : "";
  return h("div", { class: "name" },
    h("button", { type: "button", class: "link code", title: profile.full || profile.name, onclick: () => showFunction(profile, basis) },
      shorten(profile.name || "unnamed", 120)),
    (where !== "" || from !== "") && h("div", { class: "code quiet" }, shorten(where || from, 120)));
}

export function functionsSection(doc: EroicaDocument): HTMLElement | null {
  if (doc.functions.length === 0) return null;
  const left = doc.functionsLeftOut ?? 0;
  return section("functions", "Functions",
    h("p", { class: "note" }, `Times are medians over ranks, ${doc.basis}. Exposed: what a function alone explains; total: hidden ` +
      `or not.${left > 0 ? ` ${plural(left, "smaller function")} left out.` : ""}`),
    table<FunctionProfile>({
    label: "Functions",
    rows: doc.functions,
    words: (row) => [row.name, row.full, row.file, row.kind, row.issuer?.name, row.issuer?.file].join(" "),
    columns: [
      { title: "Function", value: (row) => row.name, cell: (row) => functionCell(row, doc.basis) },
      { title: "Kind", value: (row) => row.kind, cell: (row) => row.kind },
      { title: "Exposed, ms", number: true, help: `Time ${doc.basis} that it alone explains: median over ranks`,
        value: (row) => row.exposedMs.median, cell: (row) => fixed(row.exposedMs.median) },
      { title: "Share", number: true, help: "Exposed time as a share of all time",
        value: (row) => row.share, cell: (row) => percent(row.share) },
      { title: "Most, ms", number: true, help: `Exposed time ${doc.basis} on the rank that has most`,
        value: (row) => row.exposedMs.max,
        cell: (row) => h("span", {}, fixed(row.exposedMs.max),
          row.exposedMs.maxRank !== null && h("span", { class: "quiet below" }, `rank ${row.exposedMs.maxRank}`)) },
      { title: "Total, ms", number: true, help: `Time ${doc.basis}, hidden or not: median over ranks`,
        value: (row) => row.totalMs.median, cell: (row) => fixed(row.totalMs.median) },
      { title: "Runs", number: true, help: `Executions ${doc.basis}`,
        value: (row) => row.executionsPerStep, cell: (row) => count(row.executionsPerStep) },
      { title: "p50", number: true, help: "Median duration of one execution",
        value: (row) => row.durationUs.p50, cell: (row) => microseconds(row.durationUs.p50) },
      { title: "p99", number: true, value: (row) => row.durationUs.p99, cell: (row) => microseconds(row.durationUs.p99) },
    ],
  }));
}

function latest(row: Collective): CollectiveRank | null {
  const errorMs = ((row.joined?.errorUs ?? 0) * (row.countPerStep ?? 0)) / 1000;
  if (!row.joined?.whole) return null;
  const late = row.ranks.filter(({ lateMs }) => lateMs !== null && lateMs > errorMs);
  return late.length === 0 ? null : late.reduce((a, b) => ((b.lateMs ?? 0) > (a.lateMs ?? 0) ? b : a));
}

function waitedFor(row: Collective): string {
  if (row.joined === null || !row.joined.whole) return MISSING;
  const late = latest(row);
  return late === null ? "nobody" : `rank ${late.rank}, ${fixed(late.lateMs)} ms`;
}

export function collectivesSection(doc: EroicaDocument): HTMLElement | null {
  if (doc.collectives.length === 0) return null;
  return section("collectives", "Collectives", table<Collective>({
    label: "Collectives",
    rows: doc.collectives,
    words: (row) => [row.kind, row.group, row.groupDescription, row.dtype].join(" "),
    columns: [
      { title: "Operation", value: (row) => row.kind, cell: (row) =>
        h("button", { type: "button", class: "link", onclick: () => showCollective(row, doc.basis) }, words(row.kind) || "collective") },
      { title: "Group", value: groupName, cell: (row) => h("div", { class: "name" },
        shorten(groupName(row) || MISSING, 60),
        row.groupSize !== null && h("div", { class: "quiet" }, plural(row.groupSize, "rank"))) },
      { title: "Type", value: (row) => row.dtype, cell: (row) => row.dtype || MISSING },
      { title: "Count", number: true, help: `Executions ${doc.basis}`,
        value: (row) => row.countPerStep, cell: (row) => count(row.countPerStep) },
      { title: "Bytes", number: true, help: `Payload ${doc.basis}`, value: (row) => row.bytesPerStep, cell: (row) => bytes(row.bytesPerStep) },
      { title: "Exposed, ms", number: true, help: `Time ${doc.basis} not hidden by compute`,
        value: (row) => row.exposedMs, cell: (row) => fixed(row.exposedMs) },
      { title: "Transfer, ms", number: true, help: `Time ${doc.basis} once all members were there`,
        value: (row) => row.joined?.transferMs ?? null, cell: (row) => fixed(row.joined?.transferMs ?? null) },
      { title: "Waited for", help: `The member that came latest, and how much later than the others ${doc.basis}`,
        value: (row) => latest(row)?.lateMs ?? null, cell: waitedFor },
      { title: "p50", number: true, value: (row) => row.durationUs.p50, cell: (row) => microseconds(row.durationUs.p50) },
      { title: "p99", number: true, value: (row) => row.durationUs.p99, cell: (row) => microseconds(row.durationUs.p99) },
      { title: "GB/s", number: true, value: (row) => row.gigabytesPerS, cell: (row) => digits(row.gigabytesPerS) },
    ],
  }));
}

export function inputSection(doc: EroicaDocument): HTMLElement {
  const { coverage, window } = doc;
  const defects = Object.entries(doc.import.defects).sort(([a], [b]) => a.localeCompare(b, "en"));
  const bullets = (title: string, entries: readonly string[]): Child[] => (entries.length === 0 ? [] : [
    h("h3", {}, title), h("ul", {}, ...entries.map((entry) => h("li", {}, entry)))]);
  return section("input", "What was read",
    facts([
      ["Events", whole(doc.import.events)],
      ["Trace text", bytes(doc.import.bytes)],
      ["Ranks", coverage.ranksExpected === null ? whole(coverage.ranksSeen)
        : `${whole(coverage.ranksSeen)} of ${whole(coverage.ranksExpected)}`],
      ["Hosts", whole(coverage.hostsSeen)],
      ["Window", duration(window.durationMs)],
      ["Began (UTC)", utc(window.startUnixNs)],
    ]),
    h("h3", {}, "Defects of the input"),
    defects.length === 0 ? h("p", { class: "quiet" }, "None.") : h("div", { class: "scroll" }, h("table", { class: "plain narrow" },
      h("tbody", {}, ...defects.map(([name, times]) => h("tr", {},
        h("th", { scope: "row" }, capital(words(name))), h("td", { class: "number" }, whole(times))))))),
    ...bullets("Notes", doc.notes),
    ...bullets("Signals that were missing", coverage.signalsMissing));
}
