import assert from "node:assert/strict";
import { test } from "node:test";
import { readDocument } from "../src/document.ts";
import { answer } from "../src/headline.ts";
import { filterRows, sortRows } from "../src/table.ts";

const profile = {
  steps: { median_ms: 152.3 },
  time: { over_ranks: { compute: { share: 0.561 }, communication: { share: 0.28 }, idle: { share: 0.02 }, python: { share: 0.084 } } },
};

test("without claims the answer is where the time goes", () => {
  assert.equal(answer(readDocument({ profile })), "A step takes 152 ms: 56 % compute, 28 % communication and 8.4 % python.");
  assert.equal(answer(readDocument({ profile: { time: profile.time } })), "Where the time goes: 56 % compute, 28 % communication and 8.4 % python.");
  assert.equal(answer(readDocument({ window: { step_ms: { median: 9 } } })), "A step takes 9.00 ms.");
  assert.equal(answer(readDocument({})), "The input had nothing that could be measured.");
});

test("with claims it is the most costly one", () => {
  const first = { title: "The CPU quota stops a rank", ranks: [2], lost_ms_per_step: 37.9 };
  assert.equal(answer(readDocument({ profile, diagnoses: [first] })), "The CPU quota stops a rank (rank 2): 37.9 ms of 152 ms a step lost.");
  assert.equal(answer(readDocument({ diagnoses: [first, {}, {}] })),
    "The CPU quota stops a rank (rank 2): 37.9 ms a step lost, and 2 more causes.");
  assert.equal(answer(readDocument({ diagnoses: [{ cause: "net.slow", scope: "all" }] })), "net.slow (all ranks).");
});

test("what is blocked comes first, and a job that was compared and is well says so", () => {
  const blocked = { group: "dp", sequence: 12, operation: "all_reduce", waiting: [0, 1, 2], missing: [3] };
  assert.equal(answer(readDocument({ blocked })), "Blocked in all reduce number 12 of group dp: ranks 0–2 wait for rank 3.");
  assert.equal(answer(readDocument({ blocked: {}, diagnoses: [{ title: "A process is stopped", ranks: [3] }] })),
    "Blocked in a collective: others wait, no rank is missing. A process is stopped (rank 3).");
  assert.equal(answer(readDocument({ window: { step_ms: { median: 9 } }, peer_groups: [{ name: "all ranks", ranks: [0, 1] }] })),
    "Nothing wrong was found. A step takes 9.00 ms.");
});

test("rows sort with missing values last in both directions, ties in their order", () => {
  const rows = [{ n: 2, id: 0 }, { n: null, id: 1 }, { n: 10, id: 2 }, { n: 2, id: 3 }];
  assert.deepEqual(sortRows(rows, (row) => row.n, false).map(({ id }) => id), [0, 3, 2, 1]);
  assert.deepEqual(sortRows(rows, (row) => row.n, true).map(({ id }) => id), [2, 0, 3, 1]);
  assert.deepEqual(sortRows(["rank 10", "rank 9", ""], (row) => row, false), ["rank 9", "rank 10", ""]);
});

test("the filter wants all words, in any case and order", () => {
  const rows = ["aten::linear model.py", "NCCL AllReduce", "linear.py"];
  assert.deepEqual(filterRows(rows, (row) => row, "LINEAR model"), ["aten::linear model.py"]);
  assert.deepEqual(filterRows(rows, (row) => row, "  "), rows);
  assert.deepEqual(filterRows(rows, (row) => row, "(["), []);
});
