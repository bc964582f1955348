// Rank × function: which function takes longer where.

import * as Plot from "@observablehq/plot";
import { bandsOf, chart, tipRows, type Drawing } from "./chart.ts";
import { showFunction } from "./details.ts";
import type { EroicaDocument, FunctionProfile } from "./document.ts";
import { h, section, select } from "./dom.ts";
import { duration, location, rankList, roundStep, shorten, whole } from "./format.ts";
import { contrast, groups, heatRow, median, totalMs, type HeatRow } from "./statistics.ts";

const ROWS = 24;
const MIN_CELL_WIDTH = 6;
const MAX_CELL_WIDTH = 96;
const ROW_HEIGHT = 22;
/** Differences below this share of the step (or window) stay pale, however large they are for the function. */
const FLOOR_SHARE = 0.01;

type Scale = "difference" | "amount";

const exposed = (profile: FunctionProfile): Map<number, number> =>
  new Map(profile.ranks.flatMap(({ rank, exposedMs }) => (exposedMs === null ? [] : [[rank, exposedMs] as const])));

/** More than the median in orange, less in blue; amounts in one hue. Mixed with the page's own colour by the browser. */
export function heatColor(scale: Scale, value: number): string {
  const strength = Math.round(Math.min(1, Math.abs(value)) * 100);
  const hue = scale === "amount" ? "var(--accent)" : value >= 0 ? "var(--more)" : "var(--less)";
  return `color-mix(in srgb, ${hue} ${strength}%, var(--heat-zero))`;
}

/** What the claims say of a rank. */
interface Roles { readonly named: ReadonlySet<number>; readonly victims: ReadonlySet<number> }

const role = (roles: Roles, rank: number): string =>
  roles.named.has(rank) ? "named in a claim" : roles.victims.has(rank) ? "only waiting for others" : "";

function draw(
  width: number, functions: readonly FunctionProfile[], ranks: readonly number[], scale: Scale, stepMs: number, basis: string,
  roles: Roles,
): Drawing {
  const labelLength = Math.max(10, Math.min(44, Math.floor(width / 26)));
  const [marginLeft, marginRight, marginTop] = [Math.round(labelLength * 7.3) + 12, 76, 26];
  const room = width - marginLeft - marginRight;
  const columns = groups(ranks, Math.floor(room / MIN_CELL_WIDTH));
  const rows = functions.map((profile): HeatRow => heatRow(exposed(profile), columns));
  const names = functions.map((_, i) => i);
  const positions = columns.map((_, i) => i);
  const cells = rows.flatMap((row, y) => row.cells.map((cell, x) => {
    const value = scale === "difference" ? contrast(cell.valueMs, row.medianMs, stepMs * FLOOR_SHARE)
      : row.maxMs > 0 ? cell.valueMs / row.maxMs : 0;
    return { x, y, fill: heatColor(scale, value) };
  }));
  const used = Math.min(room, columns.length * MAX_CELL_WIDTH);
  const marked = positions.filter((i) => columns[i]!.some((rank) => roles.named.has(rank)));
  const marginBottom = marked.length > 0 ? 18 : 10;
  const height = marginTop + marginBottom + functions.length * ROW_HEIGHT;
  const every = roundStep(ranks.length, used / 44);
  const labelled = columns.map((group) => group.find((rank) => rank % every === 0));
  const ticks = positions.filter((i) => labelled[i] !== undefined);
  const svg = Plot.plot({
    width, height, marginLeft, marginRight: width - marginLeft - used, marginTop, marginBottom,
    x: {
      type: "band", domain: positions, axis: "top", label: null, tickSize: 0, ticks, padding: used / columns.length > 12 ? 0.06 : 0,
      tickFormat: (i: number) => `${labelled[i]}`,
    },
    y: {
      type: "band", domain: names, label: null, tickSize: 0, padding: 0.08,
      tickFormat: (i: number) => shorten(functions[i]!.name || "unnamed", labelLength),
    },
    marks: [
      Plot.cell(cells, { x: "x", y: "y", fill: "fill" }),
      Plot.text(names, {
        y: (i: number) => i, frameAnchor: "right", textAnchor: "start", dx: 8, fill: "var(--quiet)",
        text: (i: number) => duration(rows[i]!.medianMs),
      }),
      Plot.text(marked, { x: (i: number) => i, frameAnchor: "bottom", dy: 13, fill: "var(--highlight)", text: () => "▲" }),
    ],
  }) as SVGSVGElement & Plot.Plot;
  svg.querySelectorAll("[aria-label='y-axis tick label']").forEach((axis) => axis.setAttribute("class", "code"));
  return {
    svg,
    cells: {
      columns: bandsOf(svg.scale("x"), positions),
      rows: bandsOf(svg.scale("y"), names),
      describe: (y, x) => {
        const [profile, row] = [functions[y]!, rows[y]!];
        const cell = row.cells[x]!;
        const group = cell.ranks.length > 1 ? `most unusual of ranks ${rankList(cell.ranks, 3)}` : "";
        const value = `${duration(cell.valueMs)} ${basis}`;
        return {
          tip: [h("strong", { class: "code" }, shorten(profile.name, 60)), h("div", { class: "quiet" }, location(profile)),
            tipRows([{ name: `rank ${cell.rank}`, value }, { name: "median of all", value: duration(row.medianMs) }]),
            group !== "" && h("div", { class: "quiet" }, group),
            role(roles, cell.rank) !== "" && h("div", { class: "quiet" }, role(roles, cell.rank))],
          spoken: `${profile.name}, rank ${cell.rank}: ${value}, median ${duration(row.medianMs)}`,
        };
      },
      activate: (y) => showFunction(functions[y]!, basis),
    },
  };
}

function legend(scale: Scale): HTMLElement {
  const steps = scale === "difference" ? [-1, -0.5, 0, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1];
  const [left, right] = scale === "difference" ? ["less than the median", "more"] : ["none", "the function’s most"];
  return h("span", { class: "ramp" }, left,
    h("span", { class: "ramp-steps" }, ...steps.map((value) => h("span", { style: `background:${heatColor(scale, value)}` }))),
    right);
}

export function heatSection(doc: EroicaDocument): HTMLElement | null {
  const ranks = [...new Set(doc.functions.flatMap((profile) => profile.ranks.map(({ rank }) => rank)))].sort((a, b) => a - b);
  const seen = doc.functions.filter((profile) => profile.ranks.some(({ exposedMs }) => (exposedMs ?? 0) > 0));
  const functions = [...seen].sort((a, b) => (b.exposedMs.max ?? 0) - (a.exposedMs.max ?? 0)).slice(0, ROWS);
  if (ranks.length < 2 || functions.length === 0) return null;

  const stepMs = doc.ranks.length > 0 ? median(doc.ranks.map(totalMs)) : 0;
  const named = new Set(doc.diagnoses.filter(({ ranks: those }) => those.length < ranks.length).flatMap(({ ranks: those }) => those));
  const roles: Roles = { named, victims: new Set(doc.victims) };
  let scale: Scale = "difference";
  const key = h("span", {}, legend(scale));
  const plot = chart("Exposed time of functions by rank; arrow keys move, Enter opens a function.", (width) =>
    draw(width, functions, ranks, scale, stepMs, doc.basis, roles));
  const controls = h("div", { class: "controls" },
    select("Colour", [["difference", "difference from the function’s median"], ["amount", "share of the function’s most"]],
      scale, (value) => {
        scale = value as Scale;
        key.replaceChildren(legend(scale));
        plot.redraw();
      }),
    key);
  return section("ranks", "Functions by rank",
    h("p", { class: "note" },
      `Exposed time ${doc.basis}: a row for each function${seen.length > ROWS ? ` (the ${ROWS} largest of ${whole(seen.length)})` : ""}, ` +
      "a column for each rank; where it stands for several neighbours it shows the most unusual of them. At the right: the " +
      `median over ranks. ${named.size > 0 ? "▲: a rank that a claim names. " : ""}A click or Enter opens the function.`),
    controls, h("div", { class: "heat" }, plot.element));
}
