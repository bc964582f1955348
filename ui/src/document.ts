// The diagnosis document as the page uses it. Whatever the JSON lacks or has in the wrong type becomes null,
// an empty string or an empty list here, so that nothing behind this file needs to doubt its input.

import { fields, number, numbers, records, text, texts, type Fields } from "./json.ts";

export const TIME_CLASSES = [
  "compute", "memory", "communication", "dataloader", "python", "launch", "sync", "idle",
] as const;
export type TimeClass = (typeof TIME_CLASSES)[number];

export type Maybe = number | null;
export type Named<T> = Record<string, T>;

export interface Spread { readonly median: Maybe; readonly max: Maybe; readonly maxRank: Maybe }
export interface Quantiles { readonly p50: Maybe; readonly p99: Maybe; readonly max: Maybe }

export interface Step {
  readonly number: number;
  readonly startMs: Maybe;
  readonly durationMs: number;
  readonly complete: boolean;
  readonly irregular: boolean;
  readonly fetchMs: Maybe;
}
export interface RankSteps { readonly rank: number; readonly steps: Step[] }
export interface Steps {
  readonly source: string;
  readonly note: string;
  readonly count: Maybe;
  readonly complete: Maybe;
  readonly medianMs: Maybe;
  readonly p95Ms: Maybe;
  readonly slowestMs: Maybe;
  readonly slowestStep: Maybe;
  readonly slowestRank: Maybe;
  readonly ranks: RankSteps[];
}

export interface ClassSummary {
  readonly name: TimeClass;
  readonly medianMs: Maybe;
  readonly minMs: Maybe;
  readonly maxMs: Maybe;
  readonly maxRank: Maybe;
  readonly share: Maybe;
}
export interface RankTime {
  readonly rank: number;
  readonly host: string;
  readonly device: string;
  readonly perWindow: boolean;
  readonly msPerStep: Record<TimeClass, number>;
  readonly fetchMedianMs: Maybe;
  readonly fetchMaxMs: Maybe;
}

export interface FunctionRank {
  readonly rank: number;
  readonly exposedMs: Maybe;
  readonly totalMs: Maybe;
  readonly selfMs: Maybe;
  readonly executions: Maybe;
  readonly p50Us: Maybe;
  readonly p99Us: Maybe;
}
export interface HardwareUse {
  readonly rank: Maybe;
  readonly entity: string;
  readonly metric: string;
  readonly unit: string;
  readonly mean: Maybe;
  readonly deviation: Maybe;
}
export interface Place { readonly name: string; readonly file: string; readonly line: Maybe }
export interface FunctionProfile extends Place {
  readonly full: string;
  readonly kind: string;
  readonly path: string[];
  readonly issuer: Place | null;
  readonly executionsPerStep: Maybe;
  readonly exposedMs: Spread;
  readonly totalMs: Spread;
  readonly selfMs: Spread;
  readonly share: Maybe;
  readonly durationUs: Quantiles;
  readonly ranks: FunctionRank[];
  readonly hardware: HardwareUse[];
}

export interface CollectiveRank {
  readonly rank: number;
  readonly count: Maybe;
  readonly bytes: Maybe;
  readonly totalMs: Maybe;
  readonly p50Us: Maybe;
  /** It came so much later than the others' median; null: its instances were not joined with theirs. */
  readonly lateMs: Maybe;
  /** From its coming until the last one came. */
  readonly waitMs: Maybe;
}
export interface CollectiveJoin {
  readonly by: string;
  /** All members were joined; else another may have come later still. */
  readonly whole: boolean;
  readonly instances: Maybe;
  readonly of: Maybe;
  readonly transferMs: Maybe;
  readonly errorUs: Maybe;
  readonly why: string;
}
export interface Collective {
  readonly kind: string;
  readonly group: string;
  readonly groupDescription: string;
  readonly groupSize: Maybe;
  readonly dtype: string;
  readonly countPerStep: Maybe;
  readonly bytesPerStep: Maybe;
  readonly durationUs: Quantiles;
  readonly exposedMs: Maybe;
  readonly gigabytesPerS: Maybe;
  /** What joining its instances over the members told; null: they were not joined. */
  readonly joined: CollectiveJoin | null;
  readonly ranks: CollectiveRank[];
}

export interface Evidence {
  readonly what: string;
  readonly value: Maybe;
  readonly unit: string;
  readonly peersMedian: Maybe;
  readonly peersMad: Maybe;
  readonly ranks: number[];
}
export interface Alternative { readonly cause: string; readonly confidence: Maybe; readonly ruledOutBy: string }
export interface Diagnosis {
  readonly cause: string;
  readonly title: string;
  readonly summary: string;
  readonly scope: string;
  readonly ranks: number[];
  readonly hosts: string[];
  readonly component: string;
  readonly function: (Place & { readonly kind: string; readonly path: string[] }) | null;
  readonly confidence: Maybe;
  readonly confidenceWhy: string[];
  readonly lostMsPerStep: Maybe;
  readonly lostGpuSecondsPerHour: Maybe;
  readonly marginalMsPerStep: Maybe;
  readonly evidence: Evidence[];
  readonly alternatives: Alternative[];
  readonly action: string;
}

export interface PeerGroup { readonly name: string; readonly why: string; readonly ranks: number[] }
/** Step times recomputed: as factors of what they would be, and in ms. */
export interface WhatIf {
  readonly slowdown: Maybe;
  readonly slowdownEven: Maybe;
  readonly stepMsWithoutFindings: Maybe;
  /** The mean, of which losses are a part. */
  readonly stepMs: Maybe;
}
export interface Blocked {
  readonly group: string;
  readonly sequence: Maybe;
  readonly operation: string;
  readonly waiting: number[];
  readonly missing: number[];
  readonly stacks: string[];
  readonly processState: string[];
}

/** What only a timeline of a pipeline's operations tells. */
export interface Timeline {
  readonly verdict: string;
  readonly workers: Maybe;
  readonly dp: Maybe;
  readonly stages: Maybe;
  readonly s: Maybe;
  readonly slowestWorkersExplain: Maybe;
  readonly lastStageExplains: Maybe;
  readonly simulatedStepMs: Maybe;
  readonly idealStepMs: Maybe;
}

export interface EroicaDocument {
  readonly schema: string;
  readonly jobId: string;
  readonly worldSize: Maybe;
  readonly window: {
    readonly startUnixNs: string;
    readonly durationMs: Maybe;
    readonly steps: Maybe;
    readonly medianMs: Maybe;
    readonly p95Ms: Maybe;
  };
  readonly coverage: {
    readonly ranksExpected: Maybe;
    readonly ranksSeen: Maybe;
    readonly hostsSeen: Maybe;
    readonly signalsMissing: string[];
  };
  readonly import: { readonly events: Maybe; readonly bytes: Maybe; readonly defects: Named<number> };
  readonly steps: Steps;
  readonly classes: ClassSummary[];
  readonly ranks: RankTime[];
  /** What the times of classes, functions and collectives are measured by: where no steps were found, the window. */
  readonly basis: "a step" | "in the window";
  readonly functions: FunctionProfile[];
  readonly functionsLeftOut: Maybe;
  readonly collectives: Collective[];
  readonly notes: string[];
  readonly whatIf: WhatIf;
  readonly peerGroups: PeerGroup[];
  readonly blocked: Blocked | null;
  readonly timeline: Timeline | null;
  readonly victims: number[];
  readonly diagnoses: Diagnosis[];
  readonly hints: Diagnosis[];
}

const share = (value: unknown): Maybe => {
  const found = number(value);
  return found === null ? null : Math.max(0, Math.min(1, found));
};

/** Entries that name a rank, in the order of the ranks, each rank once. */
function byRank<T extends { readonly rank: number }>(value: unknown, read: (source: Fields, rank: number) => T): T[] {
  const found = new Map<number, T>();
  for (const source of records(value)) {
    const rank = number(source.rank);
    if (rank !== null && !found.has(rank)) found.set(rank, read(source, rank));
  }
  return [...found.values()].sort((a, b) => a.rank - b.rank);
}

function spread(value: unknown): Spread {
  const source = fields(value);
  return { median: number(source.median), max: number(source.max), maxRank: number(source.max_rank) };
}

function quantiles(value: unknown): Quantiles {
  const source = fields(value);
  return { p50: number(source.p50), p99: number(source.p99), max: number(source.max) };
}

function place(source: Fields): Place {
  return { name: text(source.name), file: text(source.file), line: number(source.line) };
}

function readSteps(value: unknown): Steps {
  const source = fields(value);
  return {
    source: text(source.source),
    note: text(source.note),
    count: number(source.count),
    complete: number(source.complete),
    medianMs: number(source.median_ms),
    p95Ms: number(source.p95_ms),
    slowestMs: number(source.slowest_ms),
    slowestStep: number(source.slowest_step),
    slowestRank: number(source.slowest_rank),
    ranks: byRank(source.ranks, (entry, rank) => ({
      rank,
      steps: records(entry.steps).flatMap((step): Step[] => {
        const [index, durationMs] = [number(step.number), number(step.duration_ms)];
        if (index === null || durationMs === null) return [];
        return [{
          number: index,
          durationMs,
          startMs: number(step.start_ms),
          complete: step.complete !== false,
          irregular: step.irregular === true,
          fetchMs: number(step.fetch_ms),
        }];
      }).sort((a, b) => a.number - b.number),
    })),
  };
}

function readClasses(value: unknown): ClassSummary[] {
  const source = fields(value);
  return TIME_CLASSES.filter((name) => name in source).map((name) => {
    const entry = fields(source[name]);
    return {
      name,
      medianMs: number(entry.median_ms_per_step),
      minMs: number(entry.min_ms_per_step),
      maxMs: number(entry.max_ms_per_step),
      maxRank: number(entry.max_rank),
      share: number(entry.share),
    };
  });
}

function readRankTime(source: Fields, rank: number): RankTime {
  const [fetch, perStep] = [fields(source.fetch_ms_per_step), fields(source.ms_per_step)];
  const msPerStep = {} as Record<TimeClass, number>;
  for (const name of TIME_CLASSES) msPerStep[name] = Math.max(0, number(perStep[name]) ?? 0);
  return {
    rank,
    host: text(source.host),
    device: text(source.device),
    perWindow: source.per === "window",
    msPerStep,
    fetchMedianMs: number(fetch.median),
    fetchMaxMs: number(fetch.max),
  };
}

function readFunction(source: Fields): FunctionProfile {
  const issuer = place(fields(source.issuer));
  return {
    ...place(source),
    full: text(source.full),
    kind: text(source.kind),
    path: texts(source.path),
    issuer: issuer.name !== "" || issuer.file !== "" ? issuer : null,
    executionsPerStep: number(source.executions_per_step),
    exposedMs: spread(source.exposed_ms_per_step),
    totalMs: spread(source.total_ms_per_step),
    selfMs: spread(source.self_ms_per_step),
    share: number(source.share),
    durationUs: quantiles(source.duration_us),
    ranks: byRank(source.ranks, (entry, rank) => ({
      rank,
      exposedMs: number(entry.exposed_ms_per_step),
      totalMs: number(entry.total_ms_per_step),
      selfMs: number(entry.self_ms_per_step),
      executions: number(entry.executions),
      p50Us: number(entry.p50_us),
      p99Us: number(entry.p99_us),
    })),
    hardware: records(source.hardware).map((entry) => ({
      rank: number(entry.rank),
      entity: text(entry.entity),
      metric: text(entry.metric),
      unit: text(entry.unit),
      mean: number(entry.mean),
      deviation: number(entry.deviation),
    })),
  };
}

function readJoin(source: Fields): CollectiveJoin | null {
  const by = text(source.by);
  if (by === "" || by === "nothing") return null;
  return {
    by,
    whole: source.whole === true,
    instances: number(source.instances),
    of: number(source.of),
    transferMs: number(source.transfer_ms_per_step),
    errorUs: number(source.error_us),
    why: text(source.why),
  };
}

function readCollective(source: Fields): Collective {
  return {
    kind: text(source.kind),
    group: text(source.group),
    groupDescription: text(source.group_desc),
    groupSize: number(source.group_size),
    dtype: text(source.dtype),
    countPerStep: number(source.count_per_step),
    bytesPerStep: number(source.bytes_per_step),
    durationUs: quantiles(source.duration_us),
    exposedMs: number(source.exposed_ms_per_step),
    gigabytesPerS: number(source.gigabytes_per_s),
    joined: readJoin(fields(source.joined)),
    ranks: byRank(source.ranks, (entry, rank) => ({
      rank,
      count: number(entry.count),
      bytes: number(entry.bytes),
      totalMs: number(entry.total_ms_per_step),
      p50Us: number(entry.p50_us),
      lateMs: number(entry.late_ms_per_step),
      waitMs: number(entry.wait_ms_per_step),
    })),
  };
}

function readDiagnosis(source: Fields): Diagnosis {
  const called = fields(source.function);
  const where = place(called);
  return {
    cause: text(source.cause),
    title: text(source.title) || text(source.cause) || "Unnamed cause",
    summary: text(source.summary),
    scope: text(source.scope),
    ranks: numbers(source.ranks),
    hosts: texts(source.hosts),
    component: text(source.component),
    function: where.name !== "" || where.file !== ""
      ? { ...where, kind: text(called.kind), path: texts(called.path) }
      : null,
    confidence: share(source.confidence),
    confidenceWhy: texts(source.confidence_why),
    lostMsPerStep: number(source.lost_ms_per_step),
    lostGpuSecondsPerHour: number(source.lost_gpu_seconds_per_hour),
    marginalMsPerStep: number(source.marginal_ms_per_step),
    evidence: records(source.evidence).map((entry) => ({
      what: text(entry.what),
      value: number(entry.value),
      unit: text(entry.unit),
      peersMedian: number(entry.peers_median),
      peersMad: number(entry.peers_mad),
      ranks: numbers(entry.ranks),
    })),
    alternatives: records(source.alternatives).map((entry) => ({
      cause: text(entry.cause),
      confidence: number(entry.confidence),
      ruledOutBy: text(entry.ruled_out_by),
    })),
    action: text(source.action),
  };
}

function readWhatIf(value: unknown): WhatIf {
  const source = fields(value);
  return {
    slowdown: number(source.slowdown),
    slowdownEven: number(source.slowdown_even),
    stepMsWithoutFindings: number(source.step_ms_without_findings),
    stepMs: number(source.step_ms),
  };
}

function readBlocked(value: unknown): Blocked | null {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  const source = fields(value);
  return {
    group: text(source.group),
    sequence: number(source.sequence),
    operation: text(source.operation),
    waiting: numbers(source.waiting),
    missing: numbers(source.missing),
    stacks: texts(source.stacks),
    processState: texts(source.process_state),
  };
}

function readTimeline(value: unknown): Timeline | null {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  const source = fields(value);
  return {
    verdict: text(source.verdict),
    workers: number(source.workers),
    dp: number(source.dp),
    stages: number(source.stages),
    s: number(source.s),
    slowestWorkersExplain: number(source.m_w),
    lastStageExplains: number(source.m_s),
    simulatedStepMs: number(source.simulated_step_ms),
    idealStepMs: number(source.ideal_step_ms),
  };
}

function readDefects(value: unknown): Named<number> {
  const counts = Object.entries(fields(value)).map(([name, count]) => [name, number(count) ?? 0] as const);
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

/** Takes any JSON value; never throws. */
export function readDocument(value: unknown): EroicaDocument {
  const source = fields(value);
  const [job, window, coverage] = [fields(source.job), fields(source.window), fields(source.coverage)];
  const [imported, profile] = [fields(source.import), fields(source.profile)];
  const stepMs = fields(window.step_ms);
  const time = fields(profile.time);
  const ranks = byRank(time.ranks, readRankTime);
  return {
    schema: text(source.schema),
    jobId: text(job.id),
    worldSize: number(job.world_size),
    window: {
      startUnixNs: text(window.start_unix_ns),
      durationMs: number(window.duration_ms),
      steps: number(window.steps),
      medianMs: number(stepMs.median),
      p95Ms: number(stepMs.p95),
    },
    coverage: {
      ranksExpected: number(coverage.ranks_expected),
      ranksSeen: number(coverage.ranks_seen),
      hostsSeen: number(coverage.hosts_seen) || null,
      signalsMissing: texts(coverage.signals_missing),
    },
    import: { events: number(imported.events), bytes: number(imported.bytes), defects: readDefects(imported.defects) },
    steps: readSteps(profile.steps),
    classes: readClasses(time.over_ranks),
    ranks,
    basis: ranks.length > 0 && ranks.every(({ perWindow }) => perWindow) ? "in the window" : "a step",
    functions: records(profile.functions).map(readFunction),
    functionsLeftOut: number(profile.functions_left_out),
    collectives: records(profile.collectives).map(readCollective),
    notes: texts(profile.notes),
    whatIf: readWhatIf(source.what_if),
    peerGroups: records(source.peer_groups)
      .map((group) => ({ name: text(group.name), why: text(group.why), ranks: numbers(group.ranks) }))
      .filter(({ ranks: members }) => members.length > 0),
    blocked: readBlocked(source.blocked),
    timeline: readTimeline(source.timeline),
    victims: numbers(source.victims),
    diagnoses: records(source.diagnoses).map(readDiagnosis),
    hints: records(source.hints).map(readDiagnosis),
  };
}
