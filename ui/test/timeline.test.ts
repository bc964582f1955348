import assert from "node:assert/strict";
import { test } from "node:test";
import { readDocument } from "../src/document.ts";
import { unevenness } from "../src/timeline_section.ts";

test("what a timeline tells is read, and told in one sentence", () => {
  const { timeline } = readDocument({ timeline: { verdict: "last_stage_long", workers: 8, dp: 2, stages: 4, s: 1.1787,
    m_w: 0.0314, m_s: 1.2196, mean_step_ms: 2209.846, simulated_step_ms: 2172.28, ideal_step_ms: 1842.989 } });
  assert.ok(timeline !== null);
  assert.deepEqual([timeline.verdict, timeline.dp, timeline.stages, timeline.lastStageExplains], ["last_stage_long", 2, 4, 1.2196]);
  assert.equal(unevenness(timeline), "A step takes 2.17 s where 1.84 s would do with all work even (S = 1.179).");
});

test("half a timeline says what it can", () => {
  const read = (value: unknown): string => {
    const { timeline } = readDocument({ timeline: value });
    assert.ok(timeline !== null);
    return unevenness(timeline);
  };
  assert.equal(read({ s: 1.5 }), "S = 1.500.");
  assert.equal(read({}), "");
});
