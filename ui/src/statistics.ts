// What the charts need to stay readable with thousands of ranks: quantiles, groups, the most unusual first.

import { TIME_CLASSES, type RankTime, type Step, type RankSteps, type TimeClass } from "./document.ts";

export function quantile(sorted: readonly number[], q: number): number {
  if (sorted.length === 0) return NaN;
  const position = (sorted.length - 1) * q;
  const below = Math.floor(position);
  const low = sorted[below]!;
  const high = sorted[Math.min(below + 1, sorted.length - 1)]!;
  return low + (high - low) * (position - below);
}

export const ascending = (values: readonly number[]): number[] => [...values].sort((a, b) => a - b);
export const median = (values: readonly number[]): number => quantile(ascending(values), 0.5);
export const mean = (values: readonly number[]): number =>
  values.length === 0 ? NaN : values.reduce((sum, value) => sum + value, 0) / values.length;

export const largest = (values: readonly number[]): number => values.reduce((a, b) => Math.max(a, b), 0);
export const smallest = (values: readonly number[]): number => values.reduce((a, b) => Math.min(a, b), Infinity);

/** Cuts `items` into at most `limit` consecutive groups of nearly the same size, none empty. */
export function groups<T>(items: readonly T[], limit: number): T[][] {
  const count = Math.min(Math.max(1, limit), items.length);
  return Array.from({ length: count }, (_, i) =>
    items.slice(Math.floor((i * items.length) / count), Math.floor(((i + 1) * items.length) / count)));
}

export const totalMs = (rank: RankTime): number =>
  TIME_CLASSES.reduce((sum, name) => sum + rank.msPerStep[name], 0);

/** How far a rank's budget lies from the ranks' medians: the sum over the classes, in ms per step. */
export function departures(ranks: readonly RankTime[]): Map<number, number> {
  const middle = new Map(TIME_CLASSES.map((name) => [name, median(ranks.map((rank) => rank.msPerStep[name]))]));
  return new Map(ranks.map((rank) => [
    rank.rank,
    TIME_CLASSES.reduce((sum, name) => sum + Math.abs(rank.msPerStep[name] - middle.get(name)!), 0),
  ]));
}

export type Order = "rank" | "unusual" | "total" | TimeClass;

/** Ranks in the order asked for, the largest value first; ties by rank. */
export function sortRanks(ranks: readonly RankTime[], order: Order): RankTime[] {
  if (order === "rank") return [...ranks].sort((a, b) => a.rank - b.rank);
  const departure = order === "unusual" ? departures(ranks) : null;
  const key = (rank: RankTime): number =>
    departure !== null ? departure.get(rank.rank)! : order === "total" ? totalMs(rank) : rank.msPerStep[order as TimeClass];
  return [...ranks].sort((a, b) => key(b) - key(a) || a.rank - b.rank);
}

export function meanBudget(ranks: readonly RankTime[]): Record<TimeClass, number> {
  const budget = {} as Record<TimeClass, number>;
  for (const name of TIME_CLASSES) budget[name] = mean(ranks.map((rank) => rank.msPerStep[name]));
  return budget;
}

export interface StepBand {
  readonly number: number;
  readonly count: number;
  readonly min: number;
  readonly p10: number;
  readonly p25: number;
  readonly p50: number;
  readonly p75: number;
  readonly p90: number;
  readonly max: number;
  readonly slowestRank: number;
  readonly irregular: number;
  readonly incomplete: number;
}

/** The k-th step of all ranks together; incomplete ones count only where there is no complete one. */
export function stepBands(ranks: readonly RankSteps[]): StepBand[] {
  const steps = new Map<number, { rank: number; step: Step }[]>();
  for (const { rank, steps: own } of ranks) {
    for (const step of own) {
      const entry = steps.get(step.number);
      if (entry) entry.push({ rank, step });
      else steps.set(step.number, [{ rank, step }]);
    }
  }
  return [...steps.entries()].sort(([a], [b]) => a - b).map(([number, all]) => {
    const complete = all.filter(({ step }) => step.complete);
    const used = complete.length > 0 ? complete : all;
    const sorted = ascending(used.map(({ step }) => step.durationMs));
    const slowest = used.reduce((best, entry) => (entry.step.durationMs > best.step.durationMs ? entry : best));
    return {
      number,
      count: all.length,
      min: sorted[0]!,
      p10: quantile(sorted, 0.1),
      p25: quantile(sorted, 0.25),
      p50: quantile(sorted, 0.5),
      p75: quantile(sorted, 0.75),
      p90: quantile(sorted, 0.9),
      max: sorted[sorted.length - 1]!,
      slowestRank: slowest.rank,
      irregular: all.filter(({ step }) => step.irregular).length,
      incomplete: all.length - complete.length,
    };
  });
}

export interface HeatCell {
  readonly ranks: number[];
  /** Of the rank in the group that departs most from the function's median. */
  readonly valueMs: number;
  readonly rank: number;
}
export interface HeatRow { readonly medianMs: number; readonly maxMs: number; readonly cells: HeatCell[] }

/**
 * One row of the heat map: a group of ranks is shown by its most unusual member, so that none is averaged away.
 * A rank that the function is not listed for spent nothing worth keeping on it: it counts as 0.
 */
export function heatRow(values: ReadonlyMap<number, number>, columns: readonly (readonly number[])[]): HeatRow {
  const valueOf = (rank: number): number => values.get(rank) ?? 0;
  const all = columns.flat().map(valueOf);
  const medianMs = all.length > 0 ? median(all) : 0;
  const departure = (rank: number): number => Math.abs(valueOf(rank) - medianMs);
  const cells = columns.map((ranks): HeatCell => {
    const rank = ranks.reduce((best, other) => (departure(other) > departure(best) ? other : best));
    return { ranks: [...ranks], valueMs: valueOf(rank), rank };
  });
  return { medianMs, maxMs: largest(all), cells };
}

/** −1 … 1: difference from the function's median, relative to it; a difference below `floorMs` shows pale. */
export function contrast(valueMs: number, medianMs: number, floorMs: number): number {
  return Math.max(-1, Math.min(1, (valueMs - medianMs) / Math.max(medianMs, floorMs)));
}
