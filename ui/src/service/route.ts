// Places of the page, as they stand after the # of its address.

export interface IncidentFilter { readonly tenant: string; readonly job: string; readonly state: string }

export type Route =
  | { readonly page: "jobs" | "report" | "unknown" }
  | { readonly page: "job"; readonly tenant: string; readonly job: string }
  | { readonly page: "incidents"; readonly filter: IncidentFilter }
  | { readonly page: "incident" | "diagnosis"; readonly id: number };

const UNKNOWN: Route = { page: "unknown" };

function numbered(page: "incident" | "diagnosis", id: string): Route {
  return /^\d{1,15}$/.test(id) ? { page, id: Number(id) } : UNKNOWN;
}

/** "#/jobs/TENANT/NAME": names are percent-encoded, the tenant may be empty. */
export function routeOf(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  let parts: string[];
  try {
    parts = path.split("/").map(decodeURIComponent);
  } catch {
    return UNKNOWN;
  }
  const [page, ...rest] = parts;
  const [first = "", second = ""] = rest;
  if (rest.length === 0 && (page === "" || page === "jobs")) return { page: "jobs" };
  if (rest.length === 0 && page === "report") return { page: "report" };
  if (rest.length === 2 && page === "jobs" && second !== "") return { page: "job", tenant: first, job: second };
  if (rest.length === 0 && page === "incidents") {
    const asked = new URLSearchParams(query);
    const state = asked.get("state") ?? "";
    return { page: "incidents", filter: {
      tenant: asked.get("tenant") ?? "", job: asked.get("job") ?? "", state: state === "open" || state === "closed" ? state : "",
    } };
  }
  if (rest.length === 1 && page === "incidents") return numbered("incident", first);
  if (rest.length === 1 && page === "diagnoses") return numbered("diagnosis", first);
  return UNKNOWN;
}

/** ?key=value… of those that are not empty. */
export function queryOf(values: Readonly<Record<string, string | number>>): string {
  const given = Object.entries(values).filter(([, value]) => value !== "");
  return given.length === 0 ? "" : `?${given.map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join("&")}`;
}

export const jobsHref = "#/jobs";
export const reportHref = "#/report";
export const jobHref = (tenant: string, job: string): string => `#/jobs/${encodeURIComponent(tenant)}/${encodeURIComponent(job)}`;
export const incidentsHref = (filter: Partial<IncidentFilter> = {}): string => `#/incidents${queryOf(filter)}`;
export const incidentHref = (id: number): string => `#/incidents/${id}`;
export const diagnosisHref = (id: number): string => `#/diagnoses/${id}`;
