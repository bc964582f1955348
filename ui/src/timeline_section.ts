// What a timeline of a pipeline's operations tells: how uneven the work is, and where.

import type { EroicaDocument, Timeline } from "./document.ts";
import { facts, h, section } from "./dom.ts";
import { capital, duration, MISSING, percent, plural, words } from "./format.ts";

/** "A step takes 2.17 s where 1.84 s would do with all work even (S = 1.179)." */
export function unevenness({ s, simulatedStepMs, idealStepMs }: Timeline): string {
  if (s === null) return "";
  const ratio = `S = ${s.toFixed(3)}`;
  if (simulatedStepMs === null || idealStepMs === null) return `${ratio}.`;
  return `A step takes ${duration(simulatedStepMs)} where ${duration(idealStepMs)} would do with all work even (${ratio}).`;
}

export function timelineSection(doc: EroicaDocument): HTMLElement | null {
  const { timeline } = doc;
  if (timeline === null) return null;
  const { dp, stages, workers, verdict } = timeline;
  const layout = [dp === null ? "" : plural(dp, "data-parallel rank"), stages === null ? "" : plural(stages, "pipeline stage")]
    .filter((part) => part !== "").join(" × ");
  return section("timeline", "How uneven the work is",
    unevenness(timeline) !== "" && h("p", {}, unevenness(timeline)),
    facts([
      ["Verdict", capital(words(verdict)) || MISSING],
      ["Job", layout || (workers === null ? MISSING : plural(workers, "worker"))],
      ["Explained by the slowest 3 % of the workers (M_W)", percent(timeline.slowestWorkersExplain)],
      ["Explained by the last stage (M_S)", percent(timeline.lastStageExplains)],
    ]),
    h("p", { class: "note" }, "Parts may explain more than all of it: what one of them gains, another may take back."));
}
