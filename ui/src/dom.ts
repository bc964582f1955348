// Elements from values. Text of the document reaches the page through text nodes and attributes alone.

import { MISSING } from "./format.ts";

export type Child = Node | string | null | undefined | false;
type Attribute = string | number | boolean | null | undefined | ((event: Event) => void);
export type Attributes = Record<string, Attribute>;

export function append(parent: Node, children: readonly Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    parent.appendChild(typeof child === "string" ? document.createTextNode(child) : child);
  }
}

/** h("p", { class: "note" }, "text"): functions become event listeners, null and false leave an attribute out. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K, attributes: Attributes = {}, ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.replace(/^on/, ""), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

let ids = 0;
export const uniqueId = (prefix: string): string => `${prefix}-${++ids}`;

export function select(
  label: string, options: readonly (readonly [string, string])[], chosen: string, onChange: (value: string) => void,
): HTMLElement {
  const menu = h("select", { onchange: () => onChange(menu.value) },
    ...options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)));
  return h("label", { class: "control" }, h("span", {}, label), menu);
}

/** A section with its heading, reached by the links at the top. */
export function section(id: string, title: string, ...children: Child[]): HTMLElement {
  const heading = `${id}-title`;
  return h("section", { id, "aria-labelledby": heading }, h("h2", { id: heading }, title), ...children);
}

/** Values by name, as a definition list. */
export function facts(entries: readonly (readonly [string, Child])[]): HTMLElement {
  return h("dl", { class: "facts" },
    ...entries.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

export interface Tile { readonly name: string; readonly value: string; readonly more?: string; readonly warn?: boolean }

/** The few figures that matter most. */
export function tiles(entries: readonly Tile[]): HTMLElement {
  return h("dl", { class: "tiles" }, ...entries.map(({ name, value, more, warn }) => h("div", { class: warn ? "warn" : null },
    h("dt", {}, name),
    h("dd", {}, value || MISSING, more !== undefined && more !== "" && h("span", { class: "quiet" }, more)))));
}

/** Makes what an element holds like `fresh`. What is the same stays, and with it focus, selection, listeners, what was folded open. */
export function become(element: Element, fresh: Element): void {
  const [old, given] = [[...element.childNodes], [...fresh.childNodes]];
  given.forEach((next, i) => {
    const kept = old[i];
    if (kept === undefined) return element.append(next);
    if (kept instanceof HTMLDetailsElement && next instanceof HTMLDetailsElement) next.open = kept.open;
    if (kept.isEqualNode(next)) return;
    if (kept instanceof Text && next instanceof Text) kept.data = next.data;
    else if (kept instanceof Element && next instanceof Element && kept.cloneNode().isEqualNode(next.cloneNode())) become(kept, next);
    else kept.replaceWith(next);
  });
  old.slice(given.length).forEach((gone) => gone.remove());
}
