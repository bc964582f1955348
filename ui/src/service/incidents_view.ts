// The list of incidents, with the filters that the server has.

import { h, section, select } from "../dom.ts";
import { plural } from "../format.ts";
import { readIncidents, type IncidentSummary } from "./answers.ts";
import { get } from "./client.ts";
import { incidentTable } from "./incident_table.ts";
import { incidentsHref, queryOf, type IncidentFilter } from "./route.ts";
import { button, slot, type View } from "./view.ts";

const PAGE = 100;
const TYPING_MS = 400;

/** `reload`: asks that load() be called. */
export function incidentsView(start: IncidentFilter, reload: () => void): View {
  let filter = start;
  let limit = PAGE;
  let typing: ReturnType<typeof setTimeout> | undefined;
  const head = h("h1", {});
  const more = slot({ class: "table-foot" });
  const rows = incidentTable(true, "No incidents.");

  function ask(change: Partial<IncidentFilter>): void {
    filter = { ...filter, ...change };
    limit = PAGE;
    history.replaceState(null, "", incidentsHref(filter));
    reload();
  }
  const word = (label: string, name: "job" | "tenant"): HTMLElement => h("label", { class: "control" }, h("span", {}, label),
    h("input", { type: "search", autocomplete: "off", spellcheck: "false", value: filter[name], oninput: (event) => {
      clearTimeout(typing);
      typing = setTimeout(() => ask({ [name]: (event.target as HTMLInputElement).value.trim() }), TYPING_MS);
    } }));

  /** What is older comes with further requests. */
  async function fetchAll(signal: AbortSignal): Promise<{ list: IncidentSummary[]; isAll: boolean }> {
    const list: IncidentSummary[] = [];
    while (list.length < limit) {
      const before = list.at(-1)?.id ?? "";
      const page = readIncidents(await get(`/api/v1/incidents${queryOf({ ...filter, limit: PAGE, before })}`, signal));
      list.push(...page);
      if (page.length < PAGE) return { list, isAll: true };
    }
    return { list, isAll: false };
  }

  return {
    title: "Incidents",
    polls: true,
    element: h("div", {}, h("header", {}, head), section("incidents", "Incidents",
      h("div", { class: "controls" },
        select("State", [["", "all"], ["open", "open or recovering"], ["closed", "closed"]], filter.state, (state) => ask({ state })),
        word("Job", "job"), word("Tenant", "tenant")),
      rows.element, more.element)),
    async load(signal) {
      const { list, isAll } = await fetchAll(signal);
      const open = list.filter(({ state }) => state !== "closed").length;
      const count = isAll ? plural(list.length, "incident") : `The latest ${list.length} incidents`;
      head.textContent = `${count}${filter.state !== "" || list.length === 0 ? "" : `: ${open === 0 ? "none" : open} of them open`}.`;
      rows.update(list);
      more.fill(!isAll && button("Load older incidents", () => { limit += PAGE; reload(); }));
    },
    hear: ({ name }) => name === "incident",
  };
}
