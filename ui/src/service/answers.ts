// What the server answers (docs/openapi.json) as values; never throws, whatever came. Times are ms since 1970.

import type { Maybe } from "../document.ts";
import { fields, number, numbers, records, text, texts, type Fields } from "../json.ts";

export interface Job {
  readonly tenant: string;
  readonly job: string;
  readonly state: string;
  readonly silent: boolean;
  readonly first: Maybe;
  readonly last: Maybe;
  readonly hosts: Maybe;
  readonly ranks: Maybe;
  readonly worldSize: Maybe;
  readonly step: Maybe;
  readonly stepMs: Maybe;
  readonly usualMs: Maybe;
  readonly windows: Maybe;
  readonly profiledS: Maybe;
  readonly interferenceMs: Maybe;
  readonly probePercent: Maybe;
  readonly watcherPercent: Maybe;
  readonly incident: Maybe;
}
export interface Host {
  readonly host: string;
  readonly state: string;
  readonly left: boolean;
  readonly last: Maybe;
  readonly ranks: Maybe;
  readonly step: Maybe;
  readonly stepMs: Maybe;
  readonly usualMs: Maybe;
}
/** A window that somebody asked for, at one host. */
export interface Order {
  readonly id: Maybe;
  readonly host: string;
  readonly at: Maybe;
  readonly state: string;
  readonly window: string;
  readonly refused: string;
}
export interface JobWithHosts extends Job { readonly byHost: Host[]; readonly orders: Order[] }

export interface IncidentSummary {
  readonly id: Maybe;
  readonly tenant: string;
  readonly job: string;
  readonly headline: string;
  readonly kind: string;
  readonly state: string;
  readonly resolution: string;
  readonly cause: string;
  readonly ranks: Maybe;
  readonly onsetStep: Maybe;
  readonly usualMs: Maybe;
  readonly stepMs: Maybe;
  readonly onset: Maybe;
  readonly detected: Maybe;
  readonly localised: Maybe;
  readonly acted: Maybe;
  readonly recovered: Maybe;
  readonly closed: Maybe;
  readonly repeats: Maybe;
  readonly lostGpuS: Maybe;
  readonly recoveredGpuS: Maybe;
  readonly interferenceMs: Maybe;
  readonly windowsCount: Maybe;
  readonly documentsCount: Maybe;
}
export interface Claim {
  readonly cause: string;
  /** The first 64. */
  readonly ranks: number[];
  readonly component: string;
  readonly confidence: Maybe;
  readonly first: Maybe;
  readonly last: Maybe;
  readonly times: Maybe;
  /** Number of the last diagnosis that says so. */
  readonly document: Maybe;
  /** As it came: it has the fields of a diagnosis in a document. */
  readonly source: Fields;
}
export interface Change {
  readonly what: string;
  readonly who: string;
  readonly at: Maybe;
  readonly jobs: string[];
  readonly url: string;
  /** Below 0: after the onset. */
  readonly beforeOnsetS: Maybe;
}
export interface Feedback {
  readonly at: Maybe;
  readonly who: string;
  readonly verdict: string;
  readonly cause: string;
  readonly text: string;
}
export interface ListedDiagnosis {
  readonly id: Maybe;
  readonly host: string;
  readonly incident: Maybe;
  readonly at: Maybe;
  readonly healthy: boolean;
}
export interface Incident extends IncidentSummary {
  readonly claims: Claim[];
  readonly diagnoses: ListedDiagnosis[];
  readonly near: Change[];
  readonly actions: Change[];
  readonly feedback: Feedback[];
}

export interface Delays { readonly known: Maybe; readonly medianS: Maybe; readonly p90S: Maybe }
export interface Category { readonly name: string; readonly incidents: Maybe; readonly lostGpuS: Maybe; readonly recoveredGpuS: Maybe }
export interface Period { readonly from: Maybe; readonly incidents: Maybe; readonly diagnosed: Maybe; readonly judged: Maybe; readonly right: Maybe }
export interface Recurring { readonly kind: string; readonly name: string; readonly incidents: Maybe; readonly last: Maybe; readonly causes: string[] }
export interface Report {
  readonly from: Maybe;
  readonly to: Maybe;
  readonly jobs: Maybe;
  readonly incidents: Maybe;
  readonly diagnosed: Maybe;
  readonly unresolved: Maybe;
  readonly judged: Maybe;
  readonly right: Maybe;
  readonly otherCause: Maybe;
  readonly falseAlarms: Maybe;
  readonly lostGpuS: Maybe;
  readonly recoveredGpuS: Maybe;
  readonly interferenceGpuS: Maybe;
  readonly delays: readonly (readonly [string, Delays])[];
  readonly categories: Category[];
  readonly overTime: Period[];
  readonly recurring: Recurring[];
}

const time = (unixNs: unknown): Maybe => {
  const found = number(unixNs);
  return found === null || found <= 0 ? null : found / 1e6;
};

export function readJob(value: unknown): Job {
  const source = fields(value);
  return {
    tenant: text(source.tenant),
    job: text(source.job),
    state: text(source.state) || "unknown",
    silent: source.silent === true,
    first: time(source.first_unix_ns),
    last: time(source.last_unix_ns),
    hosts: number(source.hosts),
    ranks: number(source.ranks),
    worldSize: number(source.world_size),
    step: number(source.step),
    stepMs: number(source.step_ms),
    usualMs: number(source.usual_ms),
    windows: number(source.windows),
    profiledS: number(source.profiled_s),
    interferenceMs: number(source.interference_ms),
    probePercent: number(source.probe_percent),
    watcherPercent: number(source.watcher_percent),
    incident: number(source.incident),
  };
}

export const readJobs = (value: unknown): Job[] =>
  records(fields(value).jobs).map(readJob).filter(({ job }) => job !== "");

function readHost(source: Fields): Host {
  return {
    host: text(source.host),
    state: text(source.state) || "unknown",
    left: source.left === true,
    last: time(source.last_unix_ns),
    ranks: number(source.ranks),
    step: number(source.step),
    stepMs: number(source.step_ms),
    usualMs: number(source.usual_ms),
  };
}

function readOrder(source: Fields): Order {
  return {
    id: number(source.id),
    host: text(source.host),
    at: time(source.unix_ns),
    state: text(source.state),
    window: text(source.window),
    refused: text(source.refused),
  };
}

export function readJobWithHosts(value: unknown): JobWithHosts {
  const source = fields(value);
  return { ...readJob(value), byHost: records(source.by_host).map(readHost), orders: records(source.orders).map(readOrder) };
}

export function readSummary(value: unknown): IncidentSummary {
  const source = fields(value);
  return {
    id: number(source.id),
    tenant: text(source.tenant),
    job: text(source.job),
    headline: text(source.headline),
    kind: text(source.kind),
    state: text(source.state) || "unknown",
    resolution: text(source.resolution),
    cause: text(source.cause),
    ranks: number(source.ranks),
    onsetStep: number(source.onset_step),
    usualMs: number(source.baseline_ms),
    stepMs: number(source.level_ms),
    onset: time(source.onset_unix_ns),
    detected: time(source.detected_unix_ns),
    localised: time(source.localised_unix_ns),
    acted: time(source.acted_unix_ns),
    recovered: time(source.recovered_unix_ns),
    closed: time(source.closed_unix_ns),
    repeats: number(source.repeats),
    lostGpuS: number(source.lost_gpu_s),
    recoveredGpuS: number(source.recovered_gpu_s),
    interferenceMs: number(source.interference_ms),
    windowsCount: number(source.windows_count),
    documentsCount: number(source.documents_count),
  };
}

export const readIncidents = (value: unknown): IncidentSummary[] =>
  records(fields(value).incidents).map(readSummary).filter(({ id }) => id !== null);

function readClaim(source: Fields): Claim {
  return {
    cause: text(source.cause),
    ranks: numbers(source.ranks),
    component: text(source.component),
    confidence: number(source.confidence),
    first: time(source.first_unix_ns),
    last: time(source.last_unix_ns),
    times: number(source.times),
    document: number(source.document),
    source,
  };
}

function readChange(source: Fields): Change {
  return {
    what: text(source.what),
    who: text(source.who),
    at: time(source.unix_ns),
    jobs: texts(source.jobs),
    url: text(source.url),
    beforeOnsetS: number(source.before_onset_s),
  };
}

function readListed(source: Fields): ListedDiagnosis {
  return {
    id: number(source.id),
    host: text(source.host),
    incident: number(source.incident),
    at: time(source.unix_ns),
    healthy: source.healthy === true,
  };
}

export const readDiagnoses = (value: unknown): ListedDiagnosis[] =>
  records(fields(value).diagnoses).map(readListed).filter(({ id }) => id !== null);

/** The surest claim first, as in the server's sentence. */
export function readIncident(value: unknown): Incident {
  const source = fields(value);
  return {
    ...readSummary(value),
    claims: records(source.claims).map(readClaim).sort((a, b) => (b.confidence ?? 0) - (a.confidence ?? 0)),
    diagnoses: readDiagnoses(value),
    near: records(source.changes_near_onset).map(readChange),
    actions: records(source.actions).map(readChange),
    feedback: records(source.feedback).map((entry) => ({
      at: time(entry.unix_ns), who: text(entry.who), verdict: text(entry.verdict), cause: text(entry.cause), text: text(entry.text),
    })),
  };
}

function readDelays(value: unknown): Delays {
  const source = fields(value);
  return { known: number(source.known), medianS: number(source.median_s), p90S: number(source.p90_s) };
}

export function readReport(value: unknown): Report {
  const source = fields(value);
  return {
    from: time(source.from_unix_ns),
    to: time(source.to_unix_ns),
    jobs: number(source.jobs),
    incidents: number(source.incidents),
    diagnosed: number(source.diagnosed),
    unresolved: number(source.unresolved),
    judged: number(source.judged),
    right: number(source.right),
    otherCause: number(source.other_cause),
    falseAlarms: number(source.false_alarms),
    lostGpuS: number(source.lost_gpu_s),
    recoveredGpuS: number(source.recovered_gpu_s),
    interferenceGpuS: number(source.interference_gpu_s),
    delays: [
      ["From the onset until it was detected", readDelays(source.to_detection)],
      ["From the onset until a cause was named", readDelays(source.to_localisation)],
      ["From the detection until something was done", readDelays(source.to_action)],
      ["From the onset until it was well again", readDelays(source.to_fix)],
    ],
    categories: Object.entries(fields(source.categories)).map(([name, entry]) => {
      const category = fields(entry);
      return { name, incidents: number(category.incidents), lostGpuS: number(category.lost_gpu_s), recoveredGpuS: number(category.recovered_gpu_s) };
    }),
    overTime: records(source.over_time).map((entry) => ({
      from: time(entry.from_unix_ns), incidents: number(entry.incidents), diagnosed: number(entry.diagnosed),
      judged: number(entry.judged), right: number(entry.right),
    })),
    recurring: records(source.recurring).map((entry) => ({
      kind: text(entry.kind), name: text(entry.name), incidents: number(entry.incidents), last: time(entry.last_unix_ns),
      causes: Object.keys(fields(entry.causes)),
    })),
  };
}
