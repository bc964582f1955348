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
  const rows = incidentTable(true, "No incident matches.");

  const box = (value: string): HTMLInputElement => h("input", { type: "search", autocomplete: "off", spellcheck: "false", value, oninput: () => {
    clearTimeout(typing);
    typing = setTimeout(() => ask(filter.state), TYPING_MS);
  } });
  const labelled = (label: string, input: HTMLInputElement): HTMLElement => h("label", { class: "control" }, h("span", {}, label), input);
  const [job, tenant] = [box(start.job), box(start.tenant)];

  function ask(state: IncidentFilter["state"]): void {
    clearTimeout(typing);
    if (!element.isConnected) return;  // the address is another view's by now
    filter = { state, job: job.value.trim(), tenant: tenant.value.trim() };
    limit = PAGE;
    history.replaceState(null, "", incidentsHref(filter));
    reload();
  }

  /** What is older comes with further requests. */
  async function fetchAll(signal: AbortSignal): Promise<{ list: IncidentSummary[]; isAll: boolean }> {
    const list: IncidentSummary[] = [];
    const asked = filter;
    while (list.length < limit) {
      const before = list.at(-1)?.id ?? "";
      const page = readIncidents(await get(`/api/v1/incidents${queryOf({ ...asked, limit: PAGE, before })}`, signal));
      // Who sees one tenant's incidents alone is shown them whatever was asked for.
      if (asked.tenant !== "" && page.some((each) => each.tenant !== asked.tenant)) return { list: [], isAll: true };
      list.push(...page);
      if (page.length < PAGE) return { list, isAll: true };
    }
    return { list, isAll: false };
  }

  function older(): void {
    limit += PAGE;
    rows.extend(PAGE);
    reload();
  }
  const element = h("div", {}, h("header", {}, head), section("incidents", "Incidents",
    h("div", { class: "controls" },
      select("State", [["", "all"], ["open", "open or recovering"], ["closed", "closed"]], filter.state, ask),
      labelled("Job (whole name)", job), labelled("Tenant", tenant)),
    rows.element, more.element));
  return {
    title: "Incidents",
    polls: true,
    element,
    async load(signal) {
      const { list, isAll } = await fetchAll(signal);
      const open = list.filter(({ state }) => state !== "closed").length;
      const count = isAll ? plural(list.length, "incident") : `The latest ${list.length} incidents`;
      head.textContent = `${count}${filter.state !== "" || list.length === 0 ? "" : `: ${open === 0 ? "none" : open} of them open`}.`;
      rows.update(list);
      more.fill(!isAll && button("Load older incidents", older));
    },
    hear: ({ name }) => name === "incident",
  };
}
