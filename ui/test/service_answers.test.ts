import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { readDiagnoses, readIncident, readIncidents, readJobs, readJobWithHosts, readReport } from "../src/service/answers.ts";
import { get, Problem, problemOf } from "../src/service/client.ts";
import { Loader } from "../src/service/loader.ts";
import { follow, NewsReader, type News, type StreamState } from "../src/service/news.ts";
import { diagnosisHref, incidentHref, incidentsHref, jobHref, queryOf, routeOf } from "../src/service/route.ts";
import { isToken } from "../src/service/sign_in.ts";

const ODD: unknown[] = [undefined, null, 1, "text", [], [[]], [null], {}, { jobs: 1 }, { jobs: [null, 1, {}] }, { incidents: [{ id: "x" }] },
  { claims: {}, feedback: [3], diagnoses: [null], changes_near_onset: "no", categories: [1], over_time: {}, recurring: [{ causes: 3 }] }];

test("whatever the server answers is read without a word", () => {
  for (const value of ODD) {
    for (const read of [readJobs, readJobWithHosts, readIncidents, readIncident, readDiagnoses, readReport]) {
      assert.doesNotThrow(() => read(value), `${read.name} of ${JSON.stringify(value)}`);
    }
  }
  assert.deepEqual(readJobs({ jobs: [null, {}, { job: "" }] }), []);
  assert.deepEqual(readIncidents({ incidents: [{}, { id: "7" }] }), []);
  const [job] = readJobs({ jobs: [{ job: "j", step_ms: "fast", last_unix_ns: 0, silent: "yes" }] });
  assert.deepEqual([job!.state, job!.stepMs, job!.last, job!.silent, job!.tenant], ["unknown", null, null, false, ""]);
});

test("times become ms, the surest claim comes first", () => {
  const incident = readIncident({ id: 1, onset_unix_ns: 5e9, claims: [{ cause: "a", confidence: 0.2 }, { cause: "b" }, { cause: "c", confidence: 0.9 }] });
  assert.equal(incident.onset, 5000);
  assert.deepEqual(incident.claims.map(({ cause }) => cause), ["c", "a", "b"]);
});

test("text that looks like markup stays text", () => {
  const name = "<script>alert(1)</script>";
  assert.equal(readJobs({ jobs: [{ job: name }] })[0]!.job, name);
  const href = jobHref("<b>", name);
  assert.ok(!/[<>"&]/.test(href), href);
  assert.deepEqual(routeOf(href), { page: "job", tenant: "<b>", job: name });
});

test("places and their addresses", () => {
  assert.deepEqual(routeOf(""), { page: "jobs" });
  assert.deepEqual(routeOf("#/jobs"), { page: "jobs" });
  assert.deepEqual(routeOf(jobHref("", "a/b ü%")), { page: "job", tenant: "", job: "a/b ü%" });
  assert.deepEqual(routeOf(incidentHref(12)), { page: "incident", id: 12 });
  assert.deepEqual(routeOf(diagnosisHref(3)), { page: "diagnosis", id: 3 });
  assert.deepEqual(routeOf("#/report"), { page: "report" });
  const filter = { tenant: "a&b=c", job: "j #1", state: "open" };
  assert.deepEqual(routeOf(incidentsHref(filter)), { page: "incidents", filter });
  assert.deepEqual(routeOf("#/incidents?state=odd"), { page: "incidents", filter: { tenant: "", job: "", state: "" } });
  for (const hash of ["#/jobs/x", "#/jobs/t/", "#/incidents/x", "#/incidents/-1", "#/incidents/1/2", "#/%zz", "#/constructor", "#/jobs/%/x"]) {
    assert.deepEqual(routeOf(hash), { page: "unknown" }, hash);
  }
  assert.equal(queryOf({ a: "", b: 0, c: "&" }), "?b=0&c=%26");
  assert.equal(queryOf({}), "");
});

test("news come in whatever pieces, and what is none is passed over", () => {
  const reader = new NewsReader();
  assert.deepEqual(reader.take(": eroica\n\n:\n\nevent: jo"), []);
  assert.deepEqual(reader.take("b\ndata: {\"job\":\"a\"}\n"), []);
  assert.deepEqual(reader.take("\nevent: x\ndata: {broken\n\nevent: incident\ndata: 1\n\n"),
    [{ name: "job", data: { job: "a" } }, { name: "incident", data: 1 }]);
});

test("the server's words about a problem, where it has some", () => {
  assert.deepEqual([problemOf(403, '{"error":"no"}').message, problemOf(403, '{"error":"no"}').status], ["no", 403]);
  for (const body of ["<html>", "null", '{"error":{}}', ""]) assert.equal(problemOf(502, body).message, "The server answered with status 502");
});

test("what may be otherwise soon", () => {
  assert.deepEqual([0, 400, 401, 403, 404, 500, 501, 502, 503, 504].filter((status) => new Problem(status, "").passes), [0, 502, 503, 504]);
});

test("a token can be sent in a header", () => {
  assert.ok(isToken("eroica-0aZ_~!"));
  for (const odd of ["", "a b", "a\n", "\u00e9", "\u2026", "\u0000"]) assert.ok(!isToken(odd), JSON.stringify(odd));
});

/** Browsers have AbortSignal.any, node from 20.3 on; from 20.16 on it also lets time pass as the tests here want. */
const [major, minor] = process.versions.node.split(".").map(Number) as [number, number];
const skip = major < 20 || (major === 20 && minor < 16);

/** Answers instead of a server. */
function serve(answer: () => Response | Promise<Response>): void {
  globalThis.fetch = async () => answer();
  Object.defineProperty(globalThis, "sessionStorage", { configurable: true, value: { getItem: () => null } });
}
function inPieces(pieces: readonly string[], everyMs: number): ReadableStream<Uint8Array> {
  const [left, encoder] = [[...pieces], new TextEncoder()];
  return new ReadableStream({
    async pull(to) {
      await new Promise((done) => setTimeout(done, everyMs));
      const next = left.shift();
      if (next === undefined) to.close();
      else to.enqueue(encoder.encode(next));
    },
  });
}

test("an answer comes in pieces, or says in words why there is none", { skip }, async () => {
  serve(() => new Response(inPieces(['{"a":', ' "b', 'c"}'], 1)));
  assert.deepEqual(await get("/x"), { a: "bc" });
  serve(() => new Response('{"error":"no"}', { status: 403 }));
  await assert.rejects(get("/x"), { status: 403, message: "no" });
  serve(() => Promise.reject(new TypeError("connection refused")));
  await assert.rejects(get("/x"), { status: 0, message: "The server cannot be reached" });
  serve(() => new Response("<html>"));
  await assert.rejects(get("/x"), { status: 0 });
});

test("the stream tells how it stands", { skip }, async () => {
  const told: (number | string)[] = [];
  const heard: News[] = [];
  const answers = [
    () => new Response(inPieces(["event: job\nda", 'ta: {"job":"a"}\n\n'], 1)),
    () => new Response("", { status: 401 }),
  ];
  serve(() => answers.shift()!());
  const end = new AbortController();
  const tell = (state: StreamState): void => {
    told.push(state instanceof Problem ? state.status : state);
    if (answers.length === 0) end.abort();
  };
  await follow((news) => heard.push(news), tell, end.signal);
  assert.deepEqual(heard, [{ name: "job", data: { job: "a" } }]);
  assert.deepEqual(told, ["live", "ended", 401]);
});

/** Its types are of an older node. */
const stopClock = (): void => mock.timers.enable({ apis: ["setTimeout"] } as never);
/** Lets what waits for nothing but other code happen. */
const settle = (): Promise<void> => new Promise((done) => setImmediate(done));
/** Time passes. */
async function pass(seconds: number): Promise<void> {
  await settle();
  mock.timers.tick(1000 * seconds);
  await settle();
}

test("patience counts from the last piece that came", { skip }, async () => {
  stopClock();
  try {
    let to: ReadableStreamDefaultController<Uint8Array>;
    globalThis.fetch = async (_, init) => new Response(new ReadableStream({ start(controller) {
      to = controller;
      init!.signal!.addEventListener("abort", () => { try { controller.error(init!.signal!.reason); } catch { /* it had ended */ } });
    } }));
    const slow = get("/x");
    for (const piece of ["{", '"a"', ":", "1", "}"]) {
      await pass(15);
      to!.enqueue(new TextEncoder().encode(piece));
    }
    await settle();
    to!.close();
    assert.deepEqual(await slow, { a: 1 });
    const stuck = assert.rejects(get("/x"), { status: 0, message: "The server does not answer" });
    await pass(21);
    await stuck;
  } finally {
    mock.timers.reset();
  }
});

test("a stream that ends at once is opened ever less often", { skip }, async () => {
  stopClock();
  try {
    let opened = 0;
    serve(() => { opened += 1; return new Response(": eroica\n\n"); });
    const end = new AbortController();
    const done = follow(() => {}, () => {}, end.signal);
    const counts: number[] = [];
    for (let second = 0; second < 16; ++second) {
      for (let i = 0; i < 5; ++i) await settle();
      counts.push(opened);
      mock.timers.tick(1000);
    }
    assert.deepEqual(counts, [1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 5]);
    end.abort();
    await done;
  } finally {
    mock.timers.reset();
  }
});

test("loads do not stack", async () => {
  let [running, most, runs] = [0, 0, 0];
  const loader = new Loader(async () => {
    runs += 1;
    most = Math.max(most, ++running);
    await new Promise((done) => setTimeout(done, 20));
    running -= 1;
  }, 1);
  for (let i = 0; i < 10; ++i) loader.request();
  await new Promise((done) => setTimeout(done, 80));
  assert.deepEqual([most, runs], [1, 2]);
  loader.stop();
  loader.request();
  await new Promise((done) => setTimeout(done, 40));
  assert.equal(runs, 2);
});
