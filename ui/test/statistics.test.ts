import assert from "node:assert/strict";
import { test } from "node:test";
import { readDocument, type RankTime } from "../src/document.ts";
import { contrast, departures, groups, heatRow, median, quantile, sortRanks, stepBands, totalMs } from "../src/statistics.ts";

const ranks = (...budgets: Record<string, number>[]): RankTime[] =>
  readDocument({ profile: { time: { ranks: budgets.map((ms_per_step, rank) => ({ rank, ms_per_step })) } } }).ranks;

test("quantiles agree with the definition on small samples", () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 2, 3]), 2.5);
  assert.equal(quantile([1, 2, 3, 4, 5], 0.25), 2);
  assert.equal(quantile([7], 0.9), 7);
  assert.ok(Number.isNaN(quantile([], 0.5)));
});

test("groups cover all items in order, none empty, sizes at most one apart", () => {
  for (let size = 1; size < 60; ++size) {
    const items = Array.from({ length: size }, (_, i) => i);
    for (let limit = -1; limit < 40; ++limit) {
      const cut = groups(items, limit);
      assert.deepEqual(cut.flat(), items);
      assert.ok(cut.length <= Math.max(1, limit));
      const sizes = cut.map((group) => group.length);
      assert.ok(Math.min(...sizes) >= 1 && Math.max(...sizes) - Math.min(...sizes) <= 1);
    }
  }
  assert.deepEqual(groups([], 4), []);
});

test("the rank that departs from the others comes first", () => {
  const all = ranks({ compute: 50, python: 1 }, { compute: 51, python: 1 }, { compute: 50, python: 38 }, { compute: 50, python: 1 });
  assert.equal(departures(all).get(2), 37);
  assert.deepEqual(sortRanks(all, "unusual").map(({ rank }) => rank), [2, 1, 0, 3]);
  assert.deepEqual(sortRanks(all, "compute").map(({ rank }) => rank), [1, 0, 2, 3]);
  assert.deepEqual(sortRanks(all, "total").map(({ rank }) => rank), [2, 1, 0, 3]);
  assert.deepEqual(sortRanks([...all].reverse(), "rank").map(({ rank }) => rank), [0, 1, 2, 3]);
  assert.equal(totalMs(all[2]!), 88);
});

test("bands of steps: by number, without incomplete steps where there are complete ones", () => {
  const steps = readDocument({ profile: { steps: { ranks: [
    { rank: 0, steps: [{ number: 1, duration_ms: 1, complete: false }, { number: 2, duration_ms: 10 }] },
    { rank: 3, steps: [{ number: 2, duration_ms: 30, irregular: true }, { number: 1, duration_ms: 3, complete: false }] },
    { rank: 4, steps: [{ number: 2, duration_ms: 2, complete: false }] },
  ] } } }).steps.ranks;
  const bands = stepBands(steps);
  assert.deepEqual(bands.map(({ number, count, min, p50, max }) => [number, count, min, p50, max]), [[1, 2, 1, 2, 3], [2, 3, 10, 20, 30]]);
  assert.deepEqual([bands[1]!.slowestRank, bands[1]!.irregular, bands[1]!.incomplete], [3, 1, 1]);
  assert.deepEqual(stepBands([]), []);
});

test("a group of the heat map shows its most unusual rank", () => {
  const values = new Map([[0, 10], [1, 10], [2, 2], [3, 11], [5, 10]]);
  const row = heatRow(values, [[0, 1], [2, 3], [4], [5]]);
  assert.equal(row.medianMs, 10);
  assert.equal(row.maxMs, 11);
  assert.deepEqual(row.cells.map(({ rank, valueMs }) => [rank, valueMs]), [[0, 10], [2, 2], [4, 0], [5, 10]]);
  assert.equal(heatRow(new Map(), [[0]]).cells[0]!.valueMs, 0);
  assert.equal(heatRow(new Map([[1, 30]]), [[0], [1], [2]]).medianMs, 0, "ranks that the function is not listed for count");
});

test("contrast is bounded, and small differences stay pale", () => {
  assert.equal(contrast(30, 10, 1), 1);
  assert.equal(contrast(5, 10, 1), -0.5);
  assert.equal(contrast(10, 10, 1), 0);
  assert.ok(Math.abs(contrast(0.02, 0.01, 1)) < 0.02);
});
