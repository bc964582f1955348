import { h } from "../dom.ts";
import { capital, whole, words } from "../format.ts";
import { liveTable, type Column, type LiveTable } from "../table.ts";
import type { IncidentSummary } from "./answers.ts";
import { gpuTime, incidentAnswer, span } from "./sentences.ts";
import { incidentBadge, incidentLink, jobLink, when } from "./view.ts";

const begin = ({ onset, detected }: IncidentSummary): number | null => onset ?? detected;

function length(incident: IncidentSummary): number | null {
  const began = begin(incident);
  return began === null ? null : ((incident.closed ?? Date.now()) - began) / 1000;
}

/** Incidents, the newest first as the server lists them; `withJob`: of several jobs. */
export function incidentTable(withJob: boolean, empty: string): LiveTable<IncidentSummary> {
  const job: Column<IncidentSummary> = { title: "Job", value: (row) => row.job, cell: jobLink };
  return liveTable<IncidentSummary>({
    label: "Incidents",
    rows: [],
    pageSize: 50,
    empty,
    key: ({ id }) => `${id}`,
    words: (row) => [row.headline, row.job, row.tenant, row.cause, row.state, row.resolution].join(" "),
    columns: [
      { title: "Incident", value: ({ id }) => id, cell: (row) => h("div", { class: "name" },
        incidentLink(row.id, incidentAnswer(row)),
        h("span", { class: "quiet below" }, `number ${row.id ?? ""}${row.cause === "" ? "" : ` · ${row.cause}`}`)) },
      { title: "State", value: (row) => row.state, cell: (row) => h("span", {}, incidentBadge(row.state),
        row.resolution !== "" && h("span", { class: "quiet below" }, words(row.resolution))) },
      ...(withJob ? [job] : []),
      { title: "Kind", value: (row) => row.kind, cell: (row) => capital(words(row.kind)) },
      { title: "Began", value: (row) => { const time = begin(row); return time === null ? null : -time; }, cell: (row) => when(begin(row)) },
      { title: "Lasted", number: true, value: length, cell: (row) => span(length(row)) },
      { title: "Lost", number: true, help: "GPU time lost so far", value: (row) => row.lostGpuS, cell: (row) => gpuTime(row.lostGpuS) },
      { title: "Ranks", number: true, value: (row) => row.ranks, cell: (row) => whole(row.ranks) },
    ],
  });
}
