import assert from "node:assert/strict";
import { test } from "node:test";
import { readDocument } from "../src/document.ts";
import { readIncident, readJob, readSummary } from "../src/service/answers.ts";
import { diagnosisOf } from "../src/service/evidence.ts";
import {
  ago, byUrgency, gpuTime, incidentAnswer, incidentState, isWebAddress, jobAnswer, jobsAnswer, moment, nearness, slowdown, span, timesInWords, verdictInWords,
} from "../src/service/sentences.ts";

test("spans of time in the unit that suits", () => {
  assert.deepEqual([null, 0, 45.4, 119, 720, 11_520, 181_440].map(span), ["–", "0 s", "45 s", "119 s", "12 min", "3.2 h", "2.1 days"]);
  assert.equal(ago(1000, 1500), "now");
  assert.equal(ago(1000, 61_000), "60 s ago");
  assert.equal(ago(9000, 1000), "now");  // another clock is ahead
  assert.equal(ago(null, 1), "–");
  assert.equal(moment(Date.UTC(2026, 2, 1, 12, 0, 5)), "2026-03-01 12:00:05 UTC");
  assert.equal(moment(null), "–");
});

test("GPU time", () => {
  assert.deepEqual([null, 0, 12.34, 900, 36_000].map(gpuTime), ["–", "0 GPU s", "12.3 GPU s", "15 GPU min", "10 GPU h"]);
});

test("a job in one sentence", () => {
  const job = (more: object): string => jobAnswer(readJob({ job: "j", state: "healthy", step: 7, step_ms: 200, usual_ms: 100, ...more }));
  assert.equal(job({}), "j is well: a step takes 200 ms.");
  assert.equal(job({ step_ms: null }), "j is well.");
  assert.equal(job({ state: "slow" }), "j is slow: a step takes 200 ms instead of 100 ms.");
  assert.equal(job({ state: "slow", usual_ms: null }), "j is slow.");
  assert.equal(job({ state: "blocked" }), "j stands still after step 7.");
  assert.equal(job({ state: "starting", silent: true, last_unix_ns: Date.UTC(2026, 2, 1) * 1e6 }), "Nothing was heard of j since 2026-03-01 00:00:00 UTC.");
  assert.equal(job({ silent: true }), "Nothing was heard of j for a minute.");
  assert.equal(job({ state: "ended", silent: true }), "j has ended after step 7.");
  assert.equal(job({ state: "of_tomorrow" }), "j is of tomorrow.");
  assert.equal(job({ state: "constructor" }), "j is constructor.");
});

test("an incident in one sentence: the server's, or what its figures say", () => {
  assert.equal(incidentAnswer(readSummary({ headline: "j is slow since step 5; the cause is not known" })),
    "j is slow since step 5; the cause is not known.");
  assert.equal(incidentAnswer(readSummary({ headline: "Stopped!" })), "Stopped!");
  assert.equal(incidentAnswer(readSummary({ job: "j", kind: "blocked", onset_step: 5, cause: "gpu.ecc" })), "j stands still since step 5: gpu.ecc.");
  assert.equal(incidentAnswer(readSummary({})), "A job is in trouble; the cause is not known.");
});

test("how an incident stands", () => {
  const incident = { state: "open", onset_unix_ns: 60e9, baseline_ms: 100, level_ms: 150 };
  assert.equal(incidentState(readSummary(incident)), "A step takes 150 ms instead of 100 ms.");
  assert.equal(incidentState(readSummary({ ...incident, state: "closed", resolution: "recovered", closed_unix_ns: 960e9 })),
    "Closed: it recovered, after 15 min. A step took 150 ms instead of 100 ms.");
  assert.equal(incidentState(readSummary({ state: "closed", resolution: "toString" })), "Closed.");
  assert.equal(incidentState(readSummary({})), "");
});

test("the worst jobs come first: those with an open incident, silent ones before those that are well", () => {
  const jobs = ([["a", "healthy"], ["b", "starting", true], ["c", "ended"], ["d", "slow"], ["e", "blocked"], ["f", "odd"], ["g", "healthy", false, 7],
    ["h", "starting", true, 8], ["i", "slow", false, 9], ["k", "starting"]] as const).map(([job, state, silent, incident]) => readJob({ job, state, silent, incident }));
  assert.equal(byUrgency(jobs).map(({ job }) => job).join(""), "ihgedbkacf");
});

test("all jobs in one sentence", () => {
  const say = (...jobs: [string, ...("silent" | "incident")[]][]): string =>
    jobsAnswer(jobs.map(([state, ...more]) => readJob({ job: "j", state, silent: more.includes("silent"), incident: more.includes("incident") ? 1 : null })));
  assert.equal(say(), "No job was heard of within a day.");
  assert.equal(say(["healthy"]), "1 job runs: nothing wrong.");
  assert.equal(say(["healthy"], ["learning"], ["ended"]), "2 jobs run: nothing wrong with any.");
  assert.equal(say(["ended"]), "No job runs.");
  assert.equal(say(["healthy", "incident"]), "1 job: 1 has an open incident.");
  assert.equal(say(["starting", "silent"]), "1 job: 1 is silent.");
  assert.equal(say(["blocked", "incident"], ["slow", "incident"], ["slow"], ["healthy", "incident"], ["starting", "silent"], ["starting", "silent"], ["ended"]),
    "6 jobs: 1 stands still, 2 are slow, 1 more has an open incident, 2 are silent.");
});

test("changes, links and verdicts", () => {
  const change = (beforeOnsetS: number | null) => nearness({ what: "", who: "", at: null, jobs: [], url: "", beforeOnsetS });
  assert.deepEqual([change(720), change(-30), change(0), change(null)], ["12 min before the onset", "30 s after the onset", "at the onset", "–"]);
  assert.ok(isWebAddress("https://tickets.example/1"));
  for (const url of ["javascript:alert(1)", "data:text/html,x", " https://a b", "//host/path", ""]) assert.ok(!isWebAddress(url), url);
  assert.equal(verdictInWords({ verdict: "other_cause", cause: "gpu.ecc" }), "another cause: gpu.ecc");
  assert.equal(verdictInWords({ verdict: "other_cause", cause: "" }), "another cause");
  assert.equal(verdictInWords({ verdict: "wrong", cause: "" }), "wrong, a false alarm");
  assert.equal(slowdown(150, 0), null);
  assert.equal(slowdown(150, 100), 1.5);
  assert.equal(timesInWords(null), "seen once");
  assert.equal(timesInWords(3), "seen 3 times");
});

test("a claim has the evidence of its document, or what the incident kept", () => {
  const [claim] = readIncident({ claims: [{ cause: "net.slow", title: "A slow link", ranks: [3], confidence: 0.6, action: "look" }] }).claims;
  const doc = readDocument({ diagnoses: [
    { cause: "net.slow", ranks: [1] }, { cause: "net.slow", ranks: [3], evidence: [{ what: "sent" }] }, { cause: "cpu.busy", ranks: [3] }] });
  assert.equal(diagnosisOf(claim!, doc).evidence[0]?.what, "sent");
  const kept = diagnosisOf(claim!, undefined);
  assert.deepEqual([kept.title, kept.action, kept.confidence, kept.evidence.length], ["A slow link", "look", 0.6, 0]);
  assert.equal(diagnosisOf(claim!, readDocument({})).title, "A slow link");
});

test("claims are told apart by cause, ranks and component", () => {
  const summary = (claim: object, ...diagnoses: object[]): string =>
    diagnosisOf(readIncident({ claims: [{ cause: "gpu.slow", summary: "the incident's", ...claim }] }).claims[0]!,
      readDocument({ diagnoses: diagnoses.map((each, i) => ({ cause: "gpu.slow", summary: `${i}`, ...each })) })).summary;
  assert.equal(summary({ ranks: [1] }, { ranks: [12] }), "the incident's");
  assert.equal(summary({ ranks: [1] }, { ranks: [1, 2] }, { ranks: [12] }, { ranks: [1] }), "2");
  assert.equal(summary({ ranks: [] }, { ranks: [3] }), "the incident's");
  assert.equal(summary({ ranks: [] }, { ranks: [3] }, { ranks: [] }), "1");
  assert.equal(summary({ ranks: [1], component: "node-1/nic0" }, { ranks: [1] }, { ranks: [1], component: "node-1/nic1" }), "the incident's");
  assert.equal(summary({ ranks: [1], component: "node-1/nic1" }, { ranks: [1], component: "node-1/nic0" }, { ranks: [1], component: "node-1/nic1" }), "1");
  const many = Array.from({ length: 100 }, (_, i) => 2 * i);
  assert.equal(summary({ ranks: many.slice(0, 64) }, { ranks: many.map((rank) => rank + 1) }, { ranks: many }), "1");
  assert.equal(summary({ ranks: many.slice(0, 63) }, { ranks: many }), "the incident's");
});
