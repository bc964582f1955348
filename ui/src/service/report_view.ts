// What happened in the last 30 days.

import { h, section, tiles } from "../dom.ts";
import { capital, MISSING, percent, plural, utc, whole, words } from "../format.ts";
import { liveTable } from "../table.ts";
import { readReport, type Category, type Period, type Recurring, type Report } from "./answers.ts";
import { get, getText } from "./client.ts";
import { gpuTime, moment, span } from "./sentences.ts";
import { button, slot, when, type View } from "./view.ts";

const share = (part: number | null, of: number | null): string =>
  (part === null || of === null || of === 0 ? "" : percent(part / of));

const day = (time: number | null): string => (time === null ? MISSING : utc(`${Math.round(time)}000000`).slice(0, 10));

function answer(report: Report): string {
  if (report.incidents === null || report.incidents === 0) return `No incident in 30 days, over ${plural(report.jobs ?? 0, "job")}.`;
  return `${plural(report.incidents, "incident")} in 30 days, over ${plural(report.jobs ?? 0, "job")}: ` +
    `a cause was named for ${whole(report.diagnosed)}, ${gpuTime(report.lostGpuS)} were lost.`;
}

function figures(report: Report): HTMLElement {
  return tiles([
    { name: "Incidents", value: whole(report.incidents), more: report.unresolved === null || report.unresolved === 0 ? "" : `${whole(report.unresolved)} unresolved` },
    { name: "Diagnosed", value: whole(report.diagnosed), more: share(report.diagnosed, report.incidents) },
    { name: "Judged", value: whole(report.judged), more: share(report.judged, report.incidents) },
    { name: "Right", value: whole(report.right), more: share(report.right, report.judged) },
    { name: "Another cause", value: whole(report.otherCause) },
    { name: "False alarms", value: whole(report.falseAlarms) },
    { name: "GPU time lost", value: gpuTime(report.lostGpuS) },
    { name: "Saved after recovery", value: gpuTime(report.recoveredGpuS) },
    { name: "Cost of windows", value: gpuTime(report.interferenceGpuS) },
  ]);
}

/** A link cannot carry the token. */
async function save(): Promise<void> {
  const address = URL.createObjectURL(new Blob([await getText("/api/v1/report?format=csv")], { type: "text/csv" }));
  h("a", { href: address, download: "eroica-report.csv" }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

export function reportView(): View {
  const head = slot({ class: "headline" });
  const told = h("span", { role: "status", class: "quiet" });
  const csv = button("Save as CSV", () => {
    told.textContent = "";
    save().catch((problem: Error) => { told.textContent = `${problem.message}.`; });
  });
  const categories = liveTable<Category>({
    label: "By category of cause", rows: [], sortBy: 2, empty: "No incidents.", key: ({ name }) => name,
    columns: [
      { title: "Category", value: ({ name }) => name, cell: ({ name }) => capital(words(name)) },
      { title: "Incidents", number: true, value: ({ incidents }) => incidents, cell: ({ incidents }) => whole(incidents) },
      { title: "Lost", number: true, value: ({ lostGpuS }) => lostGpuS, cell: ({ lostGpuS }) => gpuTime(lostGpuS) },
      { title: "Saved", number: true, value: ({ recoveredGpuS }) => recoveredGpuS, cell: ({ recoveredGpuS }) => gpuTime(recoveredGpuS) },
    ],
  });
  const delays = liveTable<Report["delays"][number]>({
    label: "How long it took", rows: [], key: ([name]) => name,
    columns: [
      { title: "Time", value: ([name]) => name, cell: ([name]) => name },
      { title: "Median", number: true, value: ([, { medianS }]) => medianS, cell: ([, { medianS }]) => span(medianS) },
      { title: "9 of 10 within", number: true, value: ([, { p90S }]) => p90S, cell: ([, { p90S }]) => span(p90S) },
      { title: "Known of", number: true, value: ([, { known }]) => known, cell: ([, { known }]) => plural(known ?? 0, "incident") },
    ],
  });
  const weeks = liveTable<Period>({
    label: "Week by week", rows: [], empty: "No weeks.", key: ({ from }) => `${from}`,
    columns: [
      { title: "From", value: ({ from }) => from, cell: ({ from }) => day(from) },
      { title: "Incidents", number: true, value: ({ incidents }) => incidents, cell: ({ incidents }) => whole(incidents) },
      { title: "Diagnosed", number: true, value: ({ diagnosed }) => diagnosed, cell: ({ diagnosed }) => whole(diagnosed) },
      { title: "Judged", number: true, value: ({ judged }) => judged, cell: ({ judged }) => whole(judged) },
      { title: "Right", number: true, value: ({ right }) => right, cell: ({ right }) => whole(right) },
    ],
  });
  const recurring = liveTable<Recurring>({
    label: "What comes again", rows: [], empty: "No host and no component had more than one incident.",
    key: ({ kind, name }) => JSON.stringify([kind, name]), words: ({ name, causes }) => `${name} ${causes.join(" ")}`,
    columns: [
      { title: "What", value: ({ name }) => name, cell: ({ kind, name }) => h("span", { class: "name" }, `${words(kind)} ${name}`) },
      { title: "Incidents", number: true, value: ({ incidents }) => incidents, cell: ({ incidents }) => whole(incidents) },
      { title: "Last", value: ({ last }) => last, cell: ({ last }) => when(last) },
      { title: "Causes", value: ({ causes }) => causes.join(", "), cell: ({ causes }) => h("span", { class: "code" }, causes.join(", ") || MISSING) },
    ],
  });
  return {
    title: "Report",
    polls: false,
    element: h("div", {}, head.element,
      section("categories", "By category of cause", categories.element),
      section("delays", "How long it took", delays.element),
      section("weeks", "Week by week", weeks.element),
      section("recurring", "What comes again", recurring.element),
      h("div", { class: "controls" }, csv, told)),
    async load(signal) {
      const report = readReport(await get("/api/v1/report", signal));
      head.fill(
        h("p", { class: "job" }, `${day(report.from)} to ${moment(report.to)}`),
        h("h1", {}, answer(report)), figures(report));
      categories.update(report.categories);
      delays.update(report.delays);
      weeks.update(report.overTime);
      recurring.update(report.recurring);
    },
  };
}
