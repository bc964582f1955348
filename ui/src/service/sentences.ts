// What jobs and incidents are, in words.

import type { Maybe } from "../document.ts";
import { capital, digits, duration, MISSING, plural, utc, whole, words } from "../format.ts";
import type { Change, Feedback, IncidentSummary, Job } from "./answers.ts";

/** "45 s", "12 min", "3.2 h", "2.1 days" */
export function span(seconds: Maybe): string {
  if (seconds === null) return MISSING;
  const size = Math.abs(seconds);
  if (size < 120) return `${digits(Math.round(size))} s`;
  if (size < 7200) return `${digits(Math.round(size / 60))} min`;
  if (size < 172_800) return `${digits(Math.round(size / 360) / 10)} h`;
  return `${digits(Math.round(size / 8640) / 10)} days`;
}

export function ago(time: Maybe, now: number): string {
  if (time === null) return MISSING;
  return now - time < 1500 ? "now" : `${span((now - time) / 1000)} ago`;
}

/** With the zone, since nobody can tell it from the figures. */
export const moment = (time: Maybe): string => (time === null ? MISSING : `${utc(`${Math.round(time)}000000`)} UTC`);

export function gpuTime(seconds: Maybe): string {
  if (seconds === null) return MISSING;
  if (seconds < 600) return `${digits(Math.round(seconds * 10) / 10)} GPU s`;
  return seconds < 7200 ? `${digits(seconds / 60)} GPU min` : `${digits(seconds / 3600)} GPU h`;
}

/** 2.00 ×, how much longer than usual a step is. */
export const slowdown = (stepMs: Maybe, usualMs: Maybe): Maybe =>
  stepMs === null || usualMs === null || usualMs <= 0 ? null : stepMs / usualMs;

export const stateInWords = ({ state, silent }: { state: string; silent: boolean }): string =>
  silent && state !== "ended" ? "silent" : state;

/** The worst first; those with an open incident before all others. */
const STATES = ["blocked", "slow", "silent", "unwatched", "learning", "starting", "healthy", "ended"];
export const urgency = (job: Job): number => {
  const place = STATES.indexOf(stateInWords(job));
  return (place < 0 ? STATES.length : place) + (job.incident === null ? STATES.length + 1 : 0);
};
const order = new Intl.Collator("en", { numeric: true });
export const byUrgency = (jobs: readonly Job[]): Job[] =>
  [...jobs].sort((a, b) => urgency(a) - urgency(b) || order.compare(a.job, b.job) || order.compare(a.tenant, b.tenant));

const closedBecause: Record<string, string> = {
  recovered: "it recovered", ended: "the job ended", lost: "nothing more was heard of the job",
};

const sentence = (text: string): string => (text === "" || /[.!?]$/.test(text) ? text : `${text}.`);

const stepNow = (stepMs: Maybe, usualMs: Maybe): string =>
  stepMs === null ? "" : `a step takes ${duration(stepMs)}${usualMs === null ? "" : ` instead of ${duration(usualMs)}`}`;

/** All jobs in one sentence: how many are as they should not be. */
export function jobsAnswer(jobs: readonly Job[]): string {
  if (jobs.length === 0) return "No job was heard of within a day.";
  const count = (is: (job: Job) => boolean): number => jobs.filter(is).length;
  const are = (state: string): number => count((job) => stateInWords(job) === state);
  const [all, blocked, slow, silent] = [count(({ state }) => state !== "ended"), are("blocked"), are("slow"), are("silent")];
  const others = count((job) => job.incident !== null && !["blocked", "slow"].includes(stateInWords(job)));
  const more = blocked + slow > 0 ? "more " : "";
  const wrong = [
    blocked > 0 && plural(blocked, "stands still", "stand still"),
    slow > 0 && plural(slow, "is slow", "are slow"),
    others > 0 && plural(others, `${more}has an open incident`, `${more}have an open incident`),
    silent > 0 && plural(silent, "is silent", "are silent"),
  ].filter((part) => part !== false);
  const who = all === 0 ? "No job runs" : wrong.length > 0 ? plural(all, "job") : plural(all, "job runs", "jobs run");
  const how = wrong.join(", ") || (all === 0 ? "" : all === 1 ? "nothing wrong" : "nothing wrong with any");
  return sentence(how === "" ? who : `${who}: ${how}`);
}

/** A job in one sentence. */
export function jobAnswer(job: Job): string {
  if (stateInWords(job) === "silent") return `Nothing was heard of ${job.job} ${job.last === null ? "for a minute" : `since ${moment(job.last)}`}.`;
  const step = job.stepMs === null ? "" : `a step takes ${duration(job.stepMs)}`;
  const slow = slowdown(job.stepMs, job.usualMs);
  const so: Record<string, string> = {
    starting: "is starting",
    learning: "is being learned: what is usual is not known yet",
    healthy: step === "" ? "is well" : `is well: ${step}`,
    slow: slow !== null && slow > 1 ? `is slow: ${stepNow(job.stepMs, job.usualMs)}` : "is slow",
    blocked: `stands still${job.step === null ? "" : ` after step ${whole(job.step)}`}`,
    ended: `has ended${job.step === null ? "" : ` after step ${whole(job.step)}`}`,
    unwatched: "is not watched any more",
  };
  const what = Object.hasOwn(so, job.state) ? so[job.state]! : `is ${words(job.state)}`;
  return sentence(`${job.job} ${what}`);
}

/** An incident in one sentence: the server's own, or what its figures say. */
export function incidentAnswer(incident: IncidentSummary): string {
  if (incident.headline !== "") return sentence(incident.headline);
  const kinds: Record<string, string> = { slow: "is slow", blocked: "stands still", found: "shows something wrong" };
  const what = Object.hasOwn(kinds, incident.kind) ? kinds[incident.kind]! : "is in trouble";
  const since = incident.onsetStep === null || incident.onsetStep <= 0 ? "" : ` since step ${whole(incident.onsetStep)}`;
  return sentence(`${incident.job || "A job"} ${what}${since}${incident.cause === "" ? "; the cause is not known" : `: ${incident.cause}`}`);
}

/** How it ended, and how slow it is or was. */
export function incidentState(incident: IncidentSummary): string {
  const isClosed = incident.state === "closed";
  const begin = incident.onset ?? incident.detected;
  const because = Object.hasOwn(closedBecause, incident.resolution) ? `: ${closedBecause[incident.resolution]}` : "";
  const lasted = begin === null || incident.closed === null ? "" : `, after ${span((incident.closed - begin) / 1000)}`;
  const slow = slowdown(incident.stepMs, incident.usualMs);
  const step = slow !== null && slow > 1 ? stepNow(incident.stepMs, incident.usualMs) : "";
  return [isClosed ? `Closed${because}${lasted}` : "", isClosed ? step.replace("takes", "took") : step]
    .map((part) => sentence(capital(part))).filter((part) => part !== "").join(" ");
}

export function nearness({ beforeOnsetS }: Change): string {
  if (beforeOnsetS === null) return MISSING;
  if (Math.abs(beforeOnsetS) < 1) return "at the onset";
  return `${span(beforeOnsetS)} ${beforeOnsetS > 0 ? "before" : "after"} the onset`;
}

export const jobsInWords = ({ jobs }: Change): string => (jobs.length === 0 ? "all jobs" : jobs.join(", "));

/** Only addresses of the web become links. */
export const isWebAddress = (url: string): boolean => /^https?:\/\/[^\s]+$/i.test(url);

export function verdictInWords({ verdict, cause }: Pick<Feedback, "verdict" | "cause">): string {
  if (verdict === "other_cause") return cause === "" ? "another cause" : `another cause: ${cause}`;
  return verdict === "wrong" ? "wrong, a false alarm" : verdict || MISSING;
}

export const timesInWords = (times: Maybe): string => (times === null || times <= 1 ? "seen once" : `seen ${plural(times, "time")}`);
