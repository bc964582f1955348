// One job: how it stands, its hosts, windows on demand, its incidents and diagnoses.

import { h, section, tiles } from "../dom.ts";
import { capital, digits, duration, MISSING, whole, words } from "../format.ts";
import { fields, text } from "../json.ts";
import { liveTable } from "../table.ts";
import { readDiagnoses, readIncidents, readJobWithHosts, type Host, type JobWithHosts, type ListedDiagnosis, type Order } from "./answers.ts";
import { get, post, Problem } from "./client.ts";
import { incidentTable } from "./incident_table.ts";
import { jobsHref, queryOf } from "./route.ts";
import { jobAnswer, slowdown, span } from "./sentences.ts";
import { diagnosisLink, incidentLink, slot, stateBadge, when, type View } from "./view.ts";

function figures(job: JobWithHosts): HTMLElement {
  const slow = slowdown(job.stepMs, job.usualMs);
  return tiles([
    { name: "Step time", value: duration(job.stepMs), more: slow === null ? "" : `${digits(slow, true)} × the usual`, warn: slow !== null && slow >= 1.1 },
    { name: "Usual", value: duration(job.usualMs) },
    { name: "Step", value: whole(job.step) },
    { name: "Ranks observed", value: whole(job.ranks), more: job.worldSize === null || job.worldSize === job.ranks ? "" : `of ${whole(job.worldSize)}` },
    { name: "Hosts", value: whole(job.hosts) },
    { name: "Windows", value: whole(job.windows), more: job.profiledS === null || job.profiledS === 0 ? "" : `${span(job.profiledS)} in all` },
    { name: "Cost of windows", value: duration(job.interferenceMs) },
    { name: "Cost of watching", value: job.probePercent === null ? MISSING : `${digits(job.probePercent)} %`,
      more: job.watcherPercent === null ? "" : `and ${digits(job.watcherPercent)} % of a core` },
  ]);
}

/** What came of it, in words. */
type Trigger = (windowS: number | null, reason: string) => Promise<string>;

function triggerForm(trigger: Trigger): HTMLElement {
  const length = h("input", { type: "number", min: 0.1, max: 600, step: "any", placeholder: "as usual", name: "window_s" });
  const reason = h("input", { type: "text", autocomplete: "off", maxlength: 200, name: "reason" });
  const told = h("span", { role: "status" });
  const submit = h("button", { class: "button primary" }, "Take a window now");
  return h("form", { class: "controls", onsubmit: (event) => {
    event.preventDefault();
    submit.disabled = true;
    told.textContent = "Asking…";
    trigger(length.value === "" ? null : Number(length.value), reason.value.trim())
      .then((answer) => { told.textContent = answer; }, (problem: Error) => { told.textContent = `${problem.message}.`; })
      .finally(() => { submit.disabled = false; });
  } },
  h("label", { class: "control" }, h("span", {}, "Length, s"), length),
  h("label", { class: "control" }, h("span", {}, "Reason"), reason),
  submit, told);
}

/** As long as news may be missed or say nothing of it: of a healthy diagnosis, for instance. */
const REST_MS = 30_000;

const ORDER_STATES: Record<string, string> = {
  waiting: "waits for the host to ask", sent: "the host knows of it", taken: "taken", refused: "refused",
};

export function jobView(tenant: string, name: string, reload: () => void): View {
  const path = `/api/v1/jobs/${encodeURIComponent(name)}`;
  const query = `?tenant=${encodeURIComponent(tenant)}`;
  const head = slot({ class: "headline" });
  const hosts = liveTable<Host>({
    label: "Hosts", rows: [], empty: "No host tells of it now.", key: ({ host }) => host, words: ({ host, state }) => `${host} ${state}`,
    columns: [
      { title: "Host", value: ({ host }) => host, cell: ({ host }) => h("span", { class: "name" }, host || MISSING) },
      { title: "State", value: ({ state }) => state, cell: ({ state, left }) => h("span", {}, stateBadge({ state, silent: false }),
        left && h("span", { class: "quiet below" }, "its watcher has left")) },
      { title: "Step time", number: true, value: ({ stepMs }) => stepMs, cell: ({ stepMs }) => duration(stepMs) },
      { title: "Usual", number: true, value: ({ usualMs }) => usualMs, cell: ({ usualMs }) => duration(usualMs) },
      { title: "Step", number: true, value: ({ step }) => step, cell: ({ step }) => whole(step) },
      { title: "Ranks", number: true, value: ({ ranks }) => ranks, cell: ({ ranks }) => whole(ranks) },
      { title: "Heard", value: ({ last }) => (last === null ? null : -last), cell: ({ last }) => when(last) },
    ],
  });
  const orders = liveTable<Order>({
    label: "Windows that were asked for", rows: [], key: ({ id, host }) => `${id} ${host}`,
    columns: [
      { title: "Host", value: ({ host }) => host, cell: ({ host }) => h("span", { class: "name" }, host || MISSING) },
      { title: "Asked for", value: ({ at }) => at, cell: ({ at }) => when(at) },
      { title: "What came of it", value: ({ state }) => state, cell: ({ state, refused, window }) => h("span", { class: "name" },
        capital(Object.hasOwn(ORDER_STATES, state) ? ORDER_STATES[state]! : words(state)),
        refused !== "" ? `: ${refused}` : window !== "" && h("span", { class: "code quiet" }, ` ${window}`)) },
    ],
  });
  const incidents = incidentTable(false, "This job had no incident.");
  const diagnoses = liveTable<ListedDiagnosis>({
    label: "Diagnoses", rows: [], empty: "No window of this job was diagnosed yet.", pageSize: 10, key: ({ id }) => `${id}`,
    columns: [
      { title: "Diagnosis", value: ({ id }) => id, cell: ({ id }) => diagnosisLink(id) },
      { title: "Made", value: ({ at }) => (at === null ? null : -at), cell: ({ at }) => when(at) },
      { title: "Host", value: ({ host }) => host, cell: ({ host }) => h("span", { class: "name" }, host || MISSING) },
      { title: "Found", value: ({ healthy }) => (healthy ? "nothing" : "something"), cell: ({ healthy }) => (healthy ? "nothing wrong" : "something wrong") },
      { title: "Incident", value: ({ incident }) => incident, cell: ({ incident }) => incidentLink(incident) },
    ],
  });

  /** null: nothing was heard of it for a day, and only its incidents and diagnoses are known. */
  async function loadJob(signal: AbortSignal): Promise<JobWithHosts | null> {
    try {
      return readJobWithHosts(await get(`${path}${query}`, signal));
    } catch (problem) {
      if (problem instanceof Problem && problem.status === 404) return null;
      throw problem;
    }
  }

  /** Who sees one tenant's things alone is shown them whatever was asked for. */
  function seen<Of extends { readonly tenant: string }>(of: Of): Of {
    if (of.tenant !== tenant) throw new Problem(404, `there is no job ${name} ${tenant === "" ? "without a tenant" : `of tenant ${tenant}`}`);
    return of;
  }

  /** Incidents and diagnoses change with these and with news of incidents: what changes every two seconds is asked for alone. */
  let known = "";
  let knownAt = 0;
  async function loadRest(job: JobWithHosts | null, signal: AbortSignal): Promise<void> {
    const state = JSON.stringify(job && [job.incident, job.windows, job.state, job.orders.map((order) => order.state)]);
    if (state === known && performance.now() - knownAt < REST_MS) return;
    [known, knownAt] = [state, performance.now()];
    try {
      const [listed, made] = await Promise.all([
        get(`/api/v1/incidents${query}${queryOf({ job: name }).replace("?", "&")}`, signal), get(`${path}/diagnoses${query}`, signal)]);
      incidents.update(readIncidents(listed).map(seen));
      diagnoses.update(readDiagnoses(made));
    } catch (problem) {
      known = "";
      throw problem;
    }
  }

  const trigger: Trigger = async (windowS, reason) => {
    const answer = fields(await post(`${path}/trigger${query}`, { ...(windowS === null ? {} : { window_s: windowS }), reason }));
    reload();
    const count = Array.isArray(answer.orders) ? answer.orders.length : 0;
    return `Asked ${count === 1 ? "one host" : `${count} hosts`}.`;
  };

  const asked = h("div", {}, orders.element);
  const ofLiving = [section("hosts", "Hosts", hosts.element), section("windows", "Windows on demand", triggerForm(trigger), asked)];
  return {
    title: name,
    polls: true,
    element: h("div", {}, head.element,
      ...ofLiving,
      section("incidents", "Incidents", incidents.element),
      section("diagnoses", "Diagnoses", diagnoses.element)),
    async load(signal) {
      const job = await loadJob(signal);
      if (job !== null) seen(job);
      head.fill(
        h("p", { class: "job" }, h("a", { href: jobsHref }, "Jobs"), tenant === "" ? "" : ` · tenant ${tenant}`, job && " · heard ", job && when(job.last)),
        h("h1", {}, job === null ? `Nothing was heard of ${name} for a day.` : jobAnswer(job)),
        job && h("p", { class: "state-line" }, stateBadge(job), job.incident !== null && h("span", {}, " see ", incidentLink(job.incident))),
        job && figures(job));
      ofLiving.forEach((part) => { part.hidden = job === null; });
      hosts.update(job?.byHost ?? []);
      orders.update(job?.orders ?? []);
      asked.hidden = job === null || job.orders.length === 0;
      await loadRest(job, signal);
    },
    hear({ name: kind, data }) {
      const source = fields(data);
      const job = kind === "incident" ? fields(source.incident) : source;
      const isThis = text(job.job) === name && text(job.tenant) === tenant;
      if (isThis && kind === "incident") known = "";
      return isThis;
    },
  };
}
