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
  silent && state !== "ended" ? `${state}, silent` : state;

/** The worst first. */
const STATES = ["blocked", "slow", "unwatched", "learning", "starting", "healthy", "ended"];
export const urgency = ({ state, silent }: Job): number => {
  const place = STATES.indexOf(state);
  return (place < 0 ? STATES.length : place) + (silent ? STATES.length + 1 : 0);
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

/** A job in one sentence. */
export function jobAnswer(job: Job): string {
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
  return sentence(`${job.job} ${what}${job.silent && job.state !== "ended" ? "; nothing was heard of it for a minute" : ""}`);
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
