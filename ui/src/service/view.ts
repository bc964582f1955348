// What the views share.

import { become, h, type Child } from "../dom.ts";
import type { Maybe } from "../document.ts";
import { MISSING, words } from "../format.ts";
import type { News } from "./news.ts";
import { diagnosisHref, incidentHref, jobHref } from "./route.ts";
import { ago, moment, stateInWords } from "./sentences.ts";

export interface View {
  readonly title: string;
  readonly element: HTMLElement;
  /** Asks the server and shows what it says; throws a Problem. Calls `ready` where more comes later than the answer. */
  load(signal: AbortSignal, ready: () => void): Promise<void>;
  /** Takes news of the server; true: load again. */
  hear?(news: News): boolean;
  /** Whether it may be loaded every few seconds while there is no news: reading an incident is written to the audit log. */
  readonly polls: boolean;
}

/** A place whose content comes later, and more than once: each time of elements made anew, of which those that change are taken. */
export interface Slot { readonly element: HTMLElement; fill(...children: Child[]): void }
export function slot(attributes: Record<string, string> = {}): Slot {
  const element = h("div", attributes);
  return { element, fill: (...children) => become(element, h("div", {}, ...children)) };
}

export const stateBadge = (of: { state: string; silent: boolean }): HTMLElement =>
  h("span", { class: `state state-${of.silent ? "silent" : of.state.replace(/\W/g, "")}` }, words(stateInWords(of)));

export const incidentBadge = (state: string): HTMLElement => stateBadge({ state, silent: false });

export const when = (time: Maybe): HTMLElement | string => (time === null || time > 8.64e15 ? MISSING
  : h("time", { datetime: new Date(time).toISOString(), title: moment(time) }, ago(time, Date.now())));

/** What when() wrote some time ago. */
export function refreshTimes(root: ParentNode): void {
  for (const element of root.querySelectorAll("time")) {
    const text = ago(Date.parse(element.dateTime), Date.now());
    if (element.textContent !== text) element.textContent = text;
  }
}

export const jobLink = ({ tenant, job }: { tenant: string; job: string }): HTMLElement => h("span", { class: "name" },
  h("a", { href: jobHref(tenant, job) }, job || "unnamed"),
  tenant !== "" && h("span", { class: "quiet below" }, tenant));

export const incidentLink = (id: Maybe, label = `incident ${id ?? ""}`): Child =>
  (id === null ? MISSING : h("a", { href: incidentHref(id) }, label));

export const diagnosisLink = (id: Maybe, label = `diagnosis ${id ?? ""}`): Child =>
  (id === null ? MISSING : h("a", { href: diagnosisHref(id) }, label));

export const button = (label: string, onclick: () => void, more: Record<string, string> = {}): HTMLButtonElement =>
  h("button", { type: "button", class: "button", ...more, onclick }, label);
