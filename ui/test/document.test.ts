import assert from "node:assert/strict";
import { test } from "node:test";
import { readDocument, TIME_CLASSES } from "../src/document.ts";

test("a document that lacks everything reads as empty", () => {
  for (const value of [null, undefined, 3, "text", [], {}, { profile: [] }, { profile: { time: 4, functions: {} } }]) {
    const doc = readDocument(value);
    assert.equal(doc.jobId, "");
    assert.deepEqual([doc.ranks, doc.functions, doc.collectives, doc.classes, doc.diagnoses, doc.hints], [[], [], [], [], [], []]);
    assert.equal(doc.steps.medianMs, null);
    assert.equal(doc.basis, "a step");
  }
});

test("values of a wrong type are missing values, in every place", () => {
  const wrong: unknown[] = [null, true, "x", [], {}, [[]], { rank: "1" }, -1, 1e308];
  const shape = (value: unknown): unknown => ({
    schema: value, job: { id: value, world_size: value }, window: { step_ms: value }, coverage: value,
    import: { events: value, defects: { truncated: value } },
    profile: {
      steps: { ranks: [{ rank: 0, steps: [value, { number: value, duration_ms: value }] }, value], note: value },
      time: { over_ranks: { compute: value }, ranks: [value, { rank: 1, ms_per_step: value, host: value }] },
      functions: [value, { name: value, ranks: [value], path: value, issuer: value, hardware: [value] }],
      collectives: [value, { kind: value, ranks: value }], notes: [value],
    },
    diagnoses: [value, { ranks: value, evidence: [value], confidence: value, function: value, alternatives: value }],
    what_if: value, peer_groups: [value, { name: value, ranks: value }], blocked: value, timeline: value, victims: value,
  });
  for (const value of wrong) {
    const doc = readDocument(shape(value));
    for (const rank of doc.ranks) {
      for (const name of TIME_CLASSES) assert.ok(Number.isFinite(rank.msPerStep[name]) && rank.msPerStep[name] >= 0);
    }
    for (const { confidence } of doc.diagnoses) assert.ok(confidence === null || (confidence >= 0 && confidence <= 1));
  }
});

test("ranks are in order, and one that comes twice counts once", () => {
  const doc = readDocument({
    profile: { time: { ranks: [{ rank: 9, host: "b" }, { rank: 2, host: "a" }, { rank: 9, host: "c" }, { host: "none" }] } },
  });
  assert.deepEqual(doc.ranks.map(({ rank, host }) => [rank, host]), [[2, "a"], [9, "b"]]);
});

test("steps are in order; one without number or duration is left out", () => {
  const doc = readDocument({ profile: { steps: { ranks: [{ rank: 0, steps: [
    { number: 4, duration_ms: 2 }, { number: 3, duration_ms: 1, complete: false, irregular: true }, { number: 5 }, null] }] } } });
  assert.deepEqual(doc.steps.ranks[0]!.steps.map((step) => [step.number, step.complete, step.irregular]),
    [[3, false, true], [4, true, false]]);
});

test("without steps times are those of the window", () => {
  const time = (...per: string[]): unknown => ({ profile: { time: { ranks: per.map((value, rank) => ({ rank, per: value })) } } });
  assert.equal(readDocument(time("window", "window")).basis, "in the window");
  assert.equal(readDocument(time("window", "step")).basis, "a step");
});

test("only defects that happened are kept", () => {
  assert.deepEqual(readDocument({ import: { defects: { truncated: 0, bad_event: 3, odd: "x" } } }).import.defects, { bad_event: 3 });
});

test("a hostile key does not reach a prototype", () => {
  readDocument(JSON.parse('{"import":{"defects":{"__proto__":{"polluted":1},"constructor":2}},"__proto__":{"job":{"id":"x"}}}'));
  assert.equal(({} as Record<string, unknown>).polluted, undefined);
});
