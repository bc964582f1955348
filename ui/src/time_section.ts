// Where a step's time goes: over all ranks, and as a stacked bar for each rank.

import * as Plot from "@observablehq/plot";
import { bandsOf, chart, tipRows, type Drawing } from "./chart.ts";
import { TIME_CLASSES, type EroicaDocument, type RankTime, type TimeClass } from "./document.ts";
import { h, section, select, type Child } from "./dom.ts";
import { duration, fixed, percent, rankList, tick, whole } from "./format.ts";
import { departures, groups, largest, meanBudget, sortRanks, totalMs, type Order } from "./statistics.ts";
import { classColor, CLASS_MEANING } from "./time_classes.ts";

/** Up to this many ranks each has a bar of its own, across; more stand upright and in groups. */
const SINGLE_BARS = 48;
const UNUSUAL_BARS = 12;
const COLUMN_WIDTH = 4;

interface Bar {
  readonly label: string;
  readonly ranks: RankTime[];
  readonly budget: Record<TimeClass, number>;
  /** Stands at the bar's right end. */
  readonly remark?: string;
}

const bar = (label: string, ranks: RankTime[]): Bar => ({ label, ranks, budget: meanBudget(ranks) });
const sum = (budget: Record<TimeClass, number>): number => TIME_CLASSES.reduce((total, name) => total + budget[name], 0);

interface Piece { readonly label: string; readonly name: TimeClass; readonly from: number; readonly to: number }

function pieces(bars: readonly Bar[], asShare: boolean): Piece[] {
  return bars.flatMap(({ label, budget }) => {
    const whole = asShare ? sum(budget) || 1 : 1;
    let from = 0;
    return TIME_CLASSES.flatMap((name): Piece[] => {
      const value = budget[name] / whole;
      if (value <= 0) return [];
      const piece = { label, name, from, to: from + value };
      from += value;
      return [piece];
    });
  });
}

function describe({ label, ranks, budget }: Bar, basis: string): { tip: Child[]; spoken: string } {
  const total = sum(budget);
  const single = ranks.length === 1 ? ranks[0]! : null;
  const where = single ? [single.host, single.device].filter((text) => text !== "").join(", ") : "mean of the group";
  const rows = TIME_CLASSES.filter((name) => budget[name] > 0).map((name) => ({
    color: classColor(name),
    name,
    value: `${duration(budget[name])} · ${percent(total > 0 ? budget[name] / total : null)}`,
  }));
  const title = single ? `Rank ${single.rank}` : `Ranks ${label}`;
  return {
    tip: [h("strong", {}, title), where !== "" && h("div", { class: "quiet" }, where), tipRows(rows),
      h("div", { class: "quiet" }, `${duration(total)} ${basis}`)],
    spoken: `${title}: ${duration(total)} ${basis}; ${rows.map(({ name, value }) => `${name} ${value}`).join(", ")}`,
  };
}

const valueAxis = (asShare: boolean): Plot.ScaleOptions => ({
  label: null,
  grid: true,
  nice: false,
  ...(asShare ? { domain: [0, 1], tickFormat: (value: number) => `${Math.round(value * 100)} %` }
    : { tickFormat: tick }),
});

function acrossBars(bars: readonly Bar[], asShare: boolean, width: number, longest: number, basis: string): Drawing {
  const rowHeight = bars.length <= 8 ? 34 : 20;
  const [marginLeft, marginRight] = [48, bars.some(({ remark }) => remark) ? 76 : 16];
  const height = bars.length * rowHeight + 40;
  const svg = Plot.plot({
    width, height, marginLeft, marginRight, marginTop: 6, marginBottom: 28,
    x: { ...valueAxis(asShare), ticks: Math.max(2, Math.floor(width / 110)), ...(asShare ? {} : { domain: [0, longest] }) },
    y: { type: "band", domain: bars.map(({ label }) => label), label: null, padding: 0.22, tickSize: 0 },
    marks: [
      Plot.barX(pieces(bars, asShare), {
        y: "label", x1: "from", x2: "to", fill: (piece: Piece) => classColor(piece.name), insetRight: 0.75,
      }),
      Plot.text(bars, {
        y: "label", text: "remark", frameAnchor: "right", textAnchor: "start", dx: 8, fill: "var(--quiet)",
      }),
    ],
  }) as SVGSVGElement & Plot.Plot;
  return {
    svg,
    cells: {
      columns: [{ start: 0, end: width }],
      rows: bandsOf(svg.scale("y"), bars.map(({ label }) => label)),
      describe: (row) => describe(bars[row]!, basis),
    },
  };
}

function uprightBars(bars: readonly Bar[], asShare: boolean, width: number, basis: string): Drawing {
  const labels = bars.map(({ label }) => label);
  const svg = Plot.plot({
    width, height: 300, marginLeft: 56, marginRight: 16, marginTop: 10, marginBottom: 10,
    x: { type: "band", domain: labels, axis: null, padding: 0, round: false },
    y: { ...valueAxis(asShare), ticks: 5 },
    marks: [
      Plot.barY(pieces(bars, asShare), {
        x: "label", y1: "from", y2: "to", fill: (piece: Piece) => classColor(piece.name), shapeRendering: "crispEdges",
      }),
    ],
  }) as SVGSVGElement & Plot.Plot;
  return {
    svg,
    cells: {
      columns: bandsOf(svg.scale("x"), labels),
      rows: [{ start: 0, end: 300 }],
      describe: (_row, column) => describe(bars[column]!, basis),
    },
  };
}

function summaryTable(doc: EroicaDocument): HTMLElement {
  const most = largest(doc.classes.map(({ share }) => share ?? 0));
  const several = doc.ranks.length > 1;
  return h("div", { class: "scroll" }, h("table", { class: "plain classes" },
    h("thead", {}, h("tr", {},
      h("th", { scope: "col" }, "Class"),
      h("th", { scope: "col", class: "number" }, several ? "Median, ms" : "ms"),
      h("th", { scope: "col" }, "Share"),
      several && h("th", { scope: "col", class: "number" }, "Least"),
      several && h("th", { scope: "col", class: "number" }, "Most"),
      several && h("th", { scope: "col" }, "on"))),
    h("tbody", {}, ...doc.classes.map((entry) => h("tr", {},
      h("th", { scope: "row", title: CLASS_MEANING[entry.name] },
        h("span", { class: "swatch", style: `background:${classColor(entry.name)}` }), entry.name,
        h("span", { class: "meaning" }, CLASS_MEANING[entry.name])),
      h("td", { class: "number" }, fixed(entry.medianMs)),
      h("td", {}, h("span", { class: "share" },
        h("span", { class: "share-bar" }, h("span", {
          style: `width:${most > 0 ? (100 * (entry.share ?? 0)) / most : 0}%;background:${classColor(entry.name)}`,
        })),
        h("span", { class: "number" }, percent(entry.share)))),
      several && h("td", { class: "number" }, fixed(entry.minMs)),
      several && h("td", { class: "number" }, fixed(entry.maxMs)),
      several && h("td", { class: "rank" }, entry.maxRank === null || !entry.maxMs ? "" : `rank ${entry.maxRank}`))))));
}

/** Charts of the bars, with their controls. */
function rankCharts(ranks: readonly RankTime[], basis: string): Child[] {
  let order: Order = "rank";
  let asShare = false;
  const many = ranks.length > SINGLE_BARS;
  const longest = largest(ranks.map(totalMs));
  const single = (rank: RankTime): Bar => bar(`${rank.rank}`, [rank]);

  const main = chart("Time budget of each rank as stacked bars; arrow keys move from bar to bar.", (width) => {
    const sorted = sortRanks(ranks, order);
    if (!many) return acrossBars(sorted.map(single), asShare, width, longest, basis);
    const columns = groups(sorted, Math.floor((width - 72) / COLUMN_WIDTH));
    return uprightBars(columns.map((group) => bar(rankList(group.map(({ rank }) => rank), 3), group)), asShare, width, basis);
  });
  const departure = departures(ranks);
  const unusual = sortRanks(ranks, "unusual").slice(0, UNUSUAL_BARS);
  let chosen: RankTime[] = [];
  const details = chart("The most unusual ranks as stacked bars.", (width) =>
    acrossBars([...chosen, ...unusual.filter((rank) => !chosen.includes(rank))].map((rank) =>
      ({ ...single(rank), remark: `± ${duration(departure.get(rank.rank) ?? null)}` })), asShare, width, longest, basis));
  const redraw = (): void => {
    main.redraw();
    details.redraw();
  };

  const controls = h("div", { class: "controls" },
    select("Order", [
      ["rank", "rank"], ["unusual", "most unusual first"], ["total", "longest first"],
      ...TIME_CLASSES.map((name) => [name, `most ${name} first`] as const),
    ], order, (value) => { order = value as Order; redraw(); }),
    select("Show", [["ms", `ms ${basis}`], ["share", "shares"]], "ms",
      (value) => { asShare = value === "share"; redraw(); }));
  const wanted = h("input", {
    type: "number", min: 0, placeholder: "none",
    oninput: () => {
      chosen = wanted.value === "" ? [] : ranks.filter(({ rank }) => rank === Number(wanted.value));
      details.redraw();
    },
  });
  if (!many) return [controls, main.element];
  return [
    controls, main.element,
    h("p", { class: "note" }, `${whole(ranks.length)} ranks, from left to right in the order chosen; where a column ` +
      "holds several ranks it shows their mean."),
    h("h3", {}, "Most unusual ranks"),
    h("div", { class: "controls" }, h("label", { class: "control" }, h("span", {}, "Also show rank"), wanted)),
    details.element,
    h("p", { class: "note" }, "At the right: the sum of the rank’s differences from the medians of all classes."),
  ];
}

export function timeSection(doc: EroicaDocument): HTMLElement | null {
  if (doc.classes.length === 0 && doc.ranks.length === 0) return null;
  return section("time", doc.basis === "a step" ? "Where a step’s time goes" : "Where the window’s time goes",
    h("div", { class: doc.ranks.length > SINGLE_BARS ? "stacked" : "beside" },
      doc.classes.length > 0 && summaryTable(doc),
      doc.ranks.length > 0 && h("div", {}, ...rankCharts(doc.ranks, doc.basis))));
}
