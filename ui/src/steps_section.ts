// Step times: a line per rank, or where there are many the band that the ranks fill.

import * as Plot from "@observablehq/plot";
import { chart, tipRows, type Band, type Drawing } from "./chart.ts";
import type { EroicaDocument, RankSteps, Step } from "./document.ts";
import { h, section, select, type Child } from "./dom.ts";
import { capital, duration, plural, tick, words } from "./format.ts";
import { largest, smallest, stepBands, type StepBand } from "./statistics.ts";

const SINGLE_LINES = 8;
const LINE_COLORS = 8;
/** Above this many points marks are drawn only for steps that are irregular or incomplete. */
const DOTS = 400;

interface Point extends Step { readonly rank: number }

/** The axis ends at the longest complete step; an incomplete one beyond it is drawn at its end. */
function axisTop(steps: readonly { readonly ms: number; readonly complete: boolean }[]): number {
  const complete = steps.filter((step) => step.complete);
  return largest((complete.length > 0 ? complete : steps).map(({ ms }) => ms));
}

const lineColor = (index: number): string => `var(--line-${index % LINE_COLORS})`;

/** The part of the axis that belongs to each step: half-way to its neighbours. */
function stepBandsOnAxis(bands: readonly StepBand[], apply: (value: number) => number, right: number): Band[] {
  return bands.map(({ number }, i) => {
    const here = apply(number);
    const before = i > 0 ? apply(bands[i - 1]!.number) : 2 * here - (bands[i + 1] ? apply(bands[i + 1]!.number) : right);
    const after = i + 1 < bands.length ? apply(bands[i + 1]!.number) : 2 * here - before;
    return { start: (before + here) / 2, end: (here + after) / 2 };
  });
}

const remarks = (step: Step): string =>
  [step.irregular ? "irregular" : "", step.complete ? "" : "incomplete"].filter((word) => word !== "").join(", ");

function drawing(
  width: number, bands: readonly StepBand[], marks: Plot.Markish[], top: number, bottom: number,
  describe: Drawing["cells"]["describe"],
): Drawing {
  const [height, marginRight] = [280, 24];
  const only = bands.length === 1 ? bands[0]!.number : null;
  const first = only === null ? bands[0]!.number : only - 1;
  const last = only === null ? bands[bands.length - 1]!.number : only + 1;
  const svg = Plot.plot({
    width, height, marginLeft: 64, marginRight, marginTop: 12, marginBottom: 40,
    x: {
      label: "step", labelArrow: "none", domain: [first, last],
      ticks: bands.length <= 12 ? bands.map(({ number }) => number) : Math.max(2, Math.floor(width / 90)),
      tickFormat: (value: number) => (Number.isInteger(value) ? `${value}` : ""),
    },
    y: { label: null, grid: true, domain: [bottom, top], nice: true, ticks: 5, tickFormat: tick },
    marks,
  }) as SVGSVGElement & Plot.Plot;
  const x = svg.scale("x");
  return {
    svg,
    cells: {
      columns: stepBandsOnAxis(bands, (value) => x?.apply(value) ?? 0, width - marginRight),
      rows: [{ start: 0, end: height - 40 }],
      describe,
    },
  };
}

function lines(ranks: readonly RankSteps[], bands: readonly StepBand[], fromZero: boolean, width: number): Drawing {
  const points = ranks.flatMap(({ rank, steps }) => steps.map((step): Point => ({ ...step, rank })));
  const color = new Map(ranks.map(({ rank }, i) => [rank, lineColor(i)]));
  const durations = points.map(({ durationMs }) => durationMs);
  const odd = points.filter((point) => point.irregular || !point.complete);
  const regular = points.length <= DOTS ? points.filter((point) => !point.irregular && point.complete) : [];
  const stroke = (point: Point): string => color.get(point.rank)!;
  const top = axisTop(points.map(({ durationMs: ms, complete }) => ({ ms, complete })));
  const xy = { x: "number", y: (point: Point) => Math.min(point.durationMs, top) };
  const byNumber = ranks.map(({ steps }) => new Map(steps.map((step) => [step.number, step])));
  return drawing(width, bands, [
    Plot.line(points, { ...xy, z: "rank", stroke, strokeWidth: 1.75 }),
    Plot.dot(regular, { ...xy, fill: stroke, r: 2.5 }),
    Plot.dot(odd.filter((point) => point.complete), { ...xy, stroke, fill: "var(--surface)", strokeWidth: 2, r: 4.5 }),
    Plot.dot(odd.filter((point) => !point.complete), { ...xy, stroke, symbol: "times", strokeWidth: 2, r: 4.5 }),
  ], top, fromZero ? 0 : smallest(durations), (_row, column) => {
    const { number } = bands[column]!;
    const rows = ranks.flatMap(({ rank }, i) => {
      const step = byNumber[i]!.get(number);
      if (!step) return [];
      const more = [step.fetchMs ? `dataloader ${duration(step.fetchMs)}` : "", remarks(step)].filter((text) => text);
      return [{ color: lineColor(i), name: `rank ${rank}`, value: [duration(step.durationMs), ...more].join(" · ") }];
    });
    return {
      tip: [h("strong", {}, `Step ${number}`), tipRows(rows)],
      spoken: `Step ${number}: ${rows.map(({ name, value }) => `${name} ${value}`).join(", ")}`,
    };
  });
}

function band(bands: readonly StepBand[], chosen: RankSteps | null, fromZero: boolean, width: number): Drawing {
  const own = new Map((chosen?.steps ?? []).map((step) => [step.number, step]));
  const top = axisTop([
    ...bands.map(({ max, count, incomplete }) => ({ ms: max, complete: incomplete < count })),
    ...[...own.values()].map(({ durationMs, complete }) => ({ ms: durationMs, complete })),
  ]);
  const shown = (key: keyof StepBand) => (step: StepBand): number => Math.min(step[key], top);
  const area = (y1: keyof StepBand, y2: keyof StepBand, fillOpacity: number): Plot.Markish =>
    Plot.areaY(bands, { x: "number", y1: shown(y1), y2: shown(y2), fill: "var(--accent)", fillOpacity });
  const odd = bands.filter(({ irregular, incomplete }) => irregular > 0 || incomplete > 0);
  return drawing(width, bands, [
    area("min", "max", 0.14),
    area("p10", "p90", 0.2),
    area("p25", "p75", 0.3),
    Plot.line(bands, { x: "number", y: shown("p50"), stroke: "var(--accent)", strokeWidth: 2 }),
    Plot.dot(odd.filter(({ irregular }) => irregular > 0),
      { x: "number", y: shown("p50"), stroke: "var(--accent)", fill: "var(--surface)", strokeWidth: 2, r: 4.5 }),
    Plot.dot(odd.filter(({ irregular, incomplete }) => irregular === 0 && incomplete > 0),
      { x: "number", y: shown("p50"), stroke: "var(--accent)", symbol: "times", strokeWidth: 2, r: 4.5 }),
    Plot.line(chosen?.steps ?? [],
      { x: "number", y: (step: Step) => Math.min(step.durationMs, top), stroke: "var(--highlight)", strokeWidth: 1.75 }),
  ], top, fromZero ? 0 : smallest(bands.map(({ min }) => min)),
  (_row, column) => {
    const step = bands[column]!;
    const mine = own.get(step.number);
    const rows = [
      { name: "longest", value: `${duration(step.max)} · rank ${step.slowestRank}` },
      { name: "90 % of ranks below", value: duration(step.p90) },
      { name: "median", value: duration(step.p50) },
      { name: "10 % of ranks below", value: duration(step.p10) },
      { name: "shortest", value: duration(step.min) },
      ...(mine ? [{ color: "var(--highlight)", name: `rank ${chosen!.rank}`, value: duration(mine.durationMs) }] : []),
      ...(step.irregular > 0 ? [{ name: "irregular on", value: plural(step.irregular, "rank") }] : []),
      ...(step.incomplete > 0 ? [{ name: "incomplete on", value: plural(step.incomplete, "rank") }] : []),
    ];
    return {
      tip: [h("strong", {}, `Step ${step.number}`), h("div", { class: "quiet" }, plural(step.count, "rank")), tipRows(rows)],
      spoken: `Step ${step.number}: ${rows.map(({ name, value }) => `${name} ${value}`).join(", ")}`,
    };
  });
}

function legend(ranks: readonly RankSteps[], many: boolean, odd: boolean): HTMLElement {
  const key = (className: string, text: string, style = ""): HTMLElement =>
    h("li", {}, h("span", { class: `key ${className}`, style }), text);
  return h("ul", { class: "legend" },
    ...(many
      ? [key("key-line", "median"), key("key-area key-half", "middle half of the ranks"),
        key("key-area key-most", "middle 80 %"), key("key-area key-all", "all")]
      : ranks.map(({ rank }, i) => key("key-line", `rank ${rank}`, `background:${lineColor(i)}`))),
    ...(odd ? [key("key-ring", "irregular"), h("li", {}, h("span", { class: "key key-cross" }, "×"), "incomplete")] : []));
}

export function stepsSection(doc: EroicaDocument): HTMLElement | null {
  const { steps } = doc;
  const ranks = steps.ranks.filter((rank) => rank.steps.length > 0);
  const bands = stepBands(ranks);
  const how = h("p", { class: "note" }, [
    steps.source !== "" ? `Steps found by: ${words(steps.source)}.` : "",
    steps.note !== "" ? capital(steps.note.replace(/\.?$/, ".")) : "",
  ].join(" ").trim());
  if (bands.length === 0) {
    return steps.note === "" && steps.source === "" ? null : section("steps", "Step times", how);
  }

  const many = ranks.length > SINGLE_LINES;
  let fromZero = true;
  let shown: RankSteps | null = many ? ranks.find(({ rank }) => rank === steps.slowestRank) ?? null : null;
  const plot = chart("Duration of each step; left and right arrow keys move from step to step.", (width) =>
    (many ? band(bands, shown, fromZero, width) : lines(ranks, bands, fromZero, width)));

  const chosen = h("input", {
    type: "number", min: 0, list: null, value: shown ? shown.rank : "", placeholder: "none",
    oninput: () => {
      shown = chosen.value === "" ? null : ranks.find(({ rank }) => rank === Number(chosen.value)) ?? null;
      plot.redraw();
    },
  });
  const controls: Child[] = [
    many && h("label", { class: "control" },
      h("span", { class: "key key-line", style: "background:var(--highlight)" }), h("span", {}, "Rank"), chosen),
    select("Axis", [["zero", "from zero"], ["fit", "fitted to the data"]], "zero",
      (value) => { fromZero = value === "zero"; plot.redraw(); }),
  ];
  const odd = bands.some(({ irregular, incomplete }) => irregular > 0 || incomplete > 0);
  return section("steps", "Step times", h("div", { class: "controls" }, ...controls, legend(ranks, many, odd)),
    plot.element, how);
}
