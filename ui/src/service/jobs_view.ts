// All jobs of the last day, as they stand now.

import { h, section } from "../dom.ts";
import { digits, duration, MISSING, whole } from "../format.ts";
import { liveTable } from "../table.ts";
import { readJob, readJobs, type Job } from "./answers.ts";
import { get } from "./client.ts";
import { byUrgency, jobsAnswer, slowdown, stateInWords, urgency } from "./sentences.ts";
import { incidentLink, jobLink, slot, stateBadge, when, type View } from "./view.ts";

/** News comes for each job each second: what is shown changes no more often. */
const SHOW_EVERY_MS = 1000;

const keyOf = ({ tenant, job }: Job): string => JSON.stringify([tenant, job]);
const sorted = (list: Iterable<Job>): Map<string, Job> => new Map(byUrgency([...list]).map((job) => [keyOf(job), job]));

export function jobsView(): View {
  /** The worst first; a job that stays as bad as it was keeps its place. */
  let jobs = new Map<string, Job>();
  let isSorted = true;
  const head = h("h1", {});
  const none = slot();
  const rows = liveTable<Job>({
    label: "Jobs",
    rows: [],
    pageSize: 50,
    empty: "No jobs.",
    key: keyOf,
    words: (job) => [job.job, job.tenant, stateInWords(job)].join(" "),
    columns: [
      { title: "Job", value: ({ job }) => job, cell: jobLink },
      { title: "State", value: urgency, cell: stateBadge },
      { title: "Open incident", value: ({ incident }) => incident, cell: ({ incident }) => incidentLink(incident) },
      { title: "Step time", number: true, help: "The latest steps’ time", value: ({ stepMs }) => stepMs, cell: ({ stepMs }) => duration(stepMs) },
      { title: "Usual", number: true, help: "What is usual for this job", value: ({ usualMs }) => usualMs, cell: ({ usualMs }) => duration(usualMs) },
      { title: "Slowdown", number: true, value: ({ stepMs, usualMs }) => slowdown(stepMs, usualMs),
        cell: ({ stepMs, usualMs }) => { const by = slowdown(stepMs, usualMs); return by === null ? MISSING : `${digits(by, true)} ×`; } },
      { title: "Step", number: true, value: ({ step }) => step, cell: ({ step }) => whole(step) },
      { title: "Hosts", number: true, value: ({ hosts }) => hosts, cell: ({ hosts }) => whole(hosts) },
      { title: "Ranks", number: true, help: "Ranks that are observed, of all", value: ({ ranks }) => ranks,
        cell: ({ ranks, worldSize }) => (worldSize === null || worldSize === ranks ? whole(ranks) : `${whole(ranks)} of ${whole(worldSize)}`) },
      { title: "Heard", value: ({ last }) => (last === null ? null : -last), cell: ({ last }) => when(last) },
    ],
  });

  function show(): void {
    if (!isSorted) jobs = sorted(jobs.values());
    isSorted = true;
    const list = [...jobs.values()];
    head.textContent = jobsAnswer(list);
    rows.update(list);
    none.fill(list.length === 0 && h("p", { class: "note" }, "A job is told of by ", h("span", { class: "code" },
      `eroica run --server ${location.origin} -- torchrun train.py`), " or by an agent on its hosts."));
  }

  let waiting = false;
  return {
    title: "Jobs",
    polls: true,
    element: h("div", {}, h("header", {}, head), section("jobs", "Jobs", rows.element, none.element)),
    async load(signal) {
      jobs = sorted(readJobs(await get("/api/v1/jobs", signal)));
      show();
    },
    hear({ name, data }) {
      if (name !== "job") return false;
      const job = readJob(data);
      if (job.job === "") return false;
      const old = jobs.get(keyOf(job));
      isSorted &&= old !== undefined && urgency(old) === urgency(job);
      jobs.set(keyOf(job), job);
      if (!waiting) setTimeout(() => { waiting = false; show(); }, SHOW_EVERY_MS);
      waiting = true;
      return false;
    },
  };
}
