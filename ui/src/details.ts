// The drawer with all that is known of one function or one collective.

import * as Plot from "@observablehq/plot";
import { bandsOf, chart, tipRows, type Chart } from "./chart.ts";
import type { Collective, FunctionProfile, Maybe } from "./document.ts";
import { append, facts, h, type Child } from "./dom.ts";
import {
  bytes, count, digits, duration, fixed, location, microseconds, MISSING, percent, rankList, whole, words,
} from "./format.ts";
import { groups, largest, median } from "./statistics.ts";
import { table } from "./table.ts";

const dialog = h("dialog", { class: "drawer", "aria-labelledby": "drawer-title" });
dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close();
});

function open(title: string, subtitle: string, content: readonly Child[]): void {
  if (!dialog.isConnected) document.body.append(dialog);
  dialog.replaceChildren();
  append(dialog, [
    h("div", { class: "drawer-body" },
      h("div", { class: "drawer-head" },
        h("div", {},
          h("h2", { id: "drawer-title", class: "code" }, title),
          subtitle !== "" && h("p", { class: "code quiet" }, subtitle)),
        h("button", { type: "button", class: "button", onclick: () => dialog.close() }, "Close")),
      ...content),
  ]);
  dialog.showModal();
  dialog.scrollTop = 0;
}

/** How a value is written, on an axis without trailing zeros. */
type Show = (value: number, keepZeros?: boolean) => string;
interface RankValue { readonly rank: number; readonly value: number }

/** A bar for each rank, or for the largest of a group of ranks; the line is the median. */
function rankBars(label: string, values: readonly RankValue[], show: Show): Chart {
  const middle = median(values.map(({ value }) => value));
  return chart(label, (width) => {
    const bars = groups(values, Math.max(8, Math.floor((width - 70) / 6))).map((group) => ({
      label: rankList(group.map(({ rank }) => rank), 3),
      most: group.reduce((best, each) => (each.value > best.value ? each : best)),
      size: group.length,
    }));
    const labels = bars.map((bar) => bar.label);
    const sparse = bars.length <= Math.floor((width - 70) / 26);
    const svg = Plot.plot({
      width, height: 170, marginLeft: 64, marginRight: 8, marginTop: 10, marginBottom: sparse ? 34 : 12,
      x: sparse ? { type: "band", domain: labels, label: "rank", labelArrow: "none", padding: 0.25, tickSize: 0 }
        : { type: "band", domain: labels, axis: null, padding: 0.1 },
      y: { label: null, grid: true, ticks: 4, domain: [0, largest(values.map(({ value }) => value)) || 1], tickFormat: (value: number) => show(value, false) },
      marks: [
        Plot.barY(bars, { x: "label", y: (bar: (typeof bars)[number]) => bar.most.value, fill: "var(--accent)" }),
        Plot.ruleY([middle], { stroke: "var(--highlight)", strokeDasharray: "4 3" }),
      ],
    }) as SVGSVGElement & Plot.Plot;
    return {
      svg,
      cells: {
        columns: bandsOf(svg.scale("x"), labels),
        rows: [{ start: 0, end: 170 }],
        describe: (_row, column) => {
          const { most, size } = bars[column]!;
          const rows = [{ name: "this rank", value: show(most.value) }, { name: "median of all", value: show(middle) }];
          return {
            tip: [h("strong", {}, `Rank ${most.rank}`),
              size > 1 && h("div", { class: "quiet" }, `largest of ${size} ranks`), tipRows(rows)],
            spoken: `Rank ${most.rank}: ${show(most.value)}; median ${show(middle)}`,
          };
        },
      },
    };
  });
}

const known = <T extends { readonly rank: number }>(rows: readonly T[], value: (row: T) => Maybe): RankValue[] =>
  rows.flatMap((row) => {
    const found = value(row);
    return found === null ? [] : [{ rank: row.rank, value: found }];
  });

function barsFor(title: string, values: readonly RankValue[], show: Show): Child[] {
  if (values.length < 2 || largest(values.map(({ value }) => value)) <= 0) return [];
  return [
    h("h3", {}, title),
    rankBars(`${title}, a bar for each rank`, values, show).element,
    h("p", { class: "note" }, "The dashed line is the median."),
  ];
}

const most = (value: Maybe, rank: Maybe): string =>
  (rank === null ? duration(value) : `${duration(value)} on rank ${rank}`);

export function showFunction(profile: FunctionProfile, basis: string): void {
  const issuer = profile.issuer;
  const { exposedMs, totalMs, selfMs, durationUs } = profile;
  open(profile.name || "unnamed function", location(profile), [
    facts([
      ["Kind", profile.kind || MISSING],
      ["Share of the time", percent(profile.share)],
      [`Exposed ${basis}`, duration(exposedMs.median)],
      ["Most exposed", most(exposedMs.max, exposedMs.maxRank)],
      [`In all ${basis}`, duration(totalMs.median)],
      ...(selfMs.median === null ? [] : [[`Self ${basis}`, duration(selfMs.median)] as const]),
      [`Executions ${basis}`, count(profile.executionsPerStep)],
      ["One execution", `${microseconds(durationUs.p50)} (p99 ${microseconds(durationUs.p99)}, ` +
        `longest ${microseconds(durationUs.max)})`],
    ]),
    profile.full !== "" && profile.full !== profile.name && h("details", {},
      h("summary", {}, "Whole name"), h("p", { class: "code" }, profile.full)),
    issuer !== null && h("div", {},
      h("h3", {}, "Issued by"),
      h("p", { class: "code" }, issuer.name, location(issuer) !== "" && h("span", { class: "quiet" }, ` ${location(issuer)}`))),
    profile.path.length > 0 && h("div", {},
      h("h3", {}, "Call path"),
      h("ol", { class: "path code" }, ...profile.path.map((frame) => h("li", {}, frame)))),
    ...barsFor(`Exposed time ${basis}, by rank`, known(profile.ranks, ({ exposedMs: value }) => value), duration),
    profile.hardware.length > 0 && h("h3", {}, "Hardware while it ran"),
    profile.hardware.length > 0 && table({
      label: "Hardware use", rows: profile.hardware,
      columns: [
        { title: "Rank", number: true, value: (row) => row.rank, cell: (row) => (row.rank === null ? MISSING : `${row.rank}`) },
        { title: "Signal", value: (row) => row.metric, cell: (row) => row.metric },
        { title: "Of", value: (row) => row.entity, cell: (row) => row.entity },
        { title: "Mean", number: true, value: (row) => row.mean, cell: (row) => digits(row.mean) },
        { title: "Deviation", number: true, value: (row) => row.deviation, cell: (row) => digits(row.deviation) },
        { title: "Unit", value: (row) => row.unit, cell: (row) => row.unit },
      ],
    }),
    profile.ranks.length > 0 && h("h3", {}, "Ranks"),
    profile.ranks.length > 0 && table({
      label: "The function on each rank", rows: profile.ranks, sortBy: 1,
      columns: [
        { title: "Rank", number: true, value: (row) => row.rank, cell: (row) => `${row.rank}` },
        { title: "Exposed, ms", number: true, value: (row) => row.exposedMs, cell: (row) => fixed(row.exposedMs) },
        { title: "Total, ms", number: true, value: (row) => row.totalMs, cell: (row) => fixed(row.totalMs) },
        { title: "Executions", number: true, value: (row) => row.executions, cell: (row) => whole(row.executions) },
        { title: "p50", number: true, value: (row) => row.p50Us, cell: (row) => microseconds(row.p50Us) },
        { title: "p99", number: true, value: (row) => row.p99Us, cell: (row) => microseconds(row.p99Us) },
      ],
    }),
  ]);
}

export const groupName = (collective: Collective): string => collective.groupDescription || collective.group;

export function showCollective(collective: Collective, basis: string): void {
  const { durationUs } = collective;
  const group = [groupName(collective), collective.groupSize === null ? "" : `${whole(collective.groupSize)} ranks`];
  open(words(collective.kind) || "collective", group.filter((part) => part !== "").join(", "), [
    facts([
      ["Group", collective.group || MISSING],
      ["Data type", collective.dtype || MISSING],
      [`Count ${basis}`, count(collective.countPerStep)],
      [`Bytes ${basis}`, bytes(collective.bytesPerStep)],
      ["One execution", `${microseconds(durationUs.p50)} (p99 ${microseconds(durationUs.p99)}, ` +
        `longest ${microseconds(durationUs.max)})`],
      [`Exposed ${basis}`, duration(collective.exposedMs)],
      ["Bandwidth", collective.gigabytesPerS === null ? MISSING : `${digits(collective.gigabytesPerS)} GB/s`],
    ]),
    collective.joined !== null && h("p", { class: "note" },
      `${whole(collective.joined.instances)} of ${whole(collective.joined.of)} instances joined over the members by ` +
      `${collective.joined.by === "sequence" ? "their sequence numbers" : "the intervals between their ends"}: ` +
      `${collective.joined.why}. Ends differ by ${microseconds(collective.joined.errorUs)} or less.`),
    ...barsFor(`Came later than the others ${basis}`, known(collective.ranks, ({ lateMs }) => lateMs), duration),
    ...barsFor(`Waited for the last one ${basis}`, known(collective.ranks, ({ waitMs }) => waitMs), duration),
    ...barsFor("Median duration, by rank", known(collective.ranks, ({ p50Us }) => p50Us), microseconds),
    collective.ranks.length > 1 && h("p", { class: "note" },
      "Members of a collective that all wait for each other end together: the one with the shortest duration came last."),
    collective.ranks.length > 0 && h("h3", {}, "Ranks"),
    collective.ranks.length > 0 && table({
      label: "The collective on each rank", rows: collective.ranks,
      columns: [
        { title: "Rank", number: true, value: (row) => row.rank, cell: (row) => `${row.rank}` },
        { title: "p50", number: true, value: (row) => row.p50Us, cell: (row) => microseconds(row.p50Us) },
        { title: `Total, ms ${basis}`, number: true, value: (row) => row.totalMs, cell: (row) => fixed(row.totalMs) },
        { title: "Count", number: true, value: (row) => row.count, cell: (row) => whole(row.count) },
        { title: "Bytes", number: true, value: (row) => row.bytes, cell: (row) => bytes(row.bytes) },
      ],
    }),
  ]);
}
