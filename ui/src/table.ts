// A table that sorts by a click on a heading, filters by words and shows its rows page by page.

import { append, become, h, uniqueId, type Child } from "./dom.ts";
import type { Maybe } from "./document.ts";
import { whole } from "./format.ts";

export interface Column<Row> {
  readonly title: string;
  readonly help?: string;
  /** Numbers are set flush right. */
  readonly number?: boolean;
  readonly value: (row: Row) => Maybe | string;
  readonly cell: (row: Row) => Child;
}
export interface TableOptions<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** Column, 0 = first; without it the rows stay in the order given. */
  readonly sortBy?: number;
  /** What the filter looks through; no filter box without it. */
  readonly words?: (row: Row) => string;
  readonly pageSize?: number;
  /** What is said where there are no rows. */
  readonly empty?: string;
  /** Names a row for as long as it lives: its cells are then changed in place, and keep the focus and their first listeners. */
  readonly key?: (row: Row) => string;
}
export interface LiveTable<Row> {
  readonly element: HTMLElement;
  /** Other rows; sorting, filter and focus stay. */
  update(rows: readonly Row[]): void;
  /** So many more rows may be shown, from the next update on. */
  extend(by: number): void;
}

interface Sorting { readonly column: number; readonly descending: boolean }

const order = new Intl.Collator("en", { numeric: true });

/** Missing values last, whichever the direction; ties keep the order given. */
export function sortRows<Row>(rows: readonly Row[], value: (row: Row) => Maybe | string, descending: boolean): Row[] {
  const sign = descending ? -1 : 1;
  return rows.map((row) => ({ row, key: value(row) })).sort((a, b) => {
    const [missingA, missingB] = [a.key === null || a.key === "", b.key === null || b.key === ""];
    if (missingA || missingB) return Number(missingA) - Number(missingB);
    if (typeof a.key === "number" && typeof b.key === "number") return sign * (a.key - b.key);
    return sign * order.compare(String(a.key), String(b.key));
  }).map(({ row }) => row);
}

/** Rows that contain every word of the query, whatever the case. */
export function filterRows<Row>(rows: readonly Row[], words: (row: Row) => string, query: string): Row[] {
  const wanted = query.toLowerCase().split(/\s+/).filter((word) => word !== "");
  if (wanted.length === 0) return [...rows];
  return rows.filter((row) => {
    const text = words(row).toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}

export const table = <Row>(options: TableOptions<Row>): HTMLElement => liveTable(options).element;

export function liveTable<Row>(options: TableOptions<Row>): LiveTable<Row> {
  const { label, columns, sortBy, words, pageSize = 20, empty = "Nothing matches.", key } = options;
  let rows = options.rows;
  let sorting: Sorting | null =
    sortBy === undefined ? null : { column: sortBy, descending: columns[sortBy]?.number === true };
  let query = "";
  let limit = pageSize;
  let shown = new Map<string, HTMLTableRowElement>();
  const body = h("tbody");
  const foot = h("div", { class: "table-foot" });
  const status = h("span", { class: "quiet", role: "status" });
  const id = uniqueId("filter");

  const buttons = columns.map((column, i) => h("button", {
    type: "button",
    title: column.help,
    onclick: () => {
      const same = sorting?.column === i ? sorting : null;
      sorting = { column: i, descending: same ? !same.descending : column.number === true };
      show();
    },
  }, column.title));
  const heads = columns.map((column, i) =>
    h("th", { scope: "col", class: column.number ? "number" : null }, buttons[i]));

  function show(): void {
    const found = words ? filterRows(rows, words, query) : [...rows];
    const column = sorting ? columns[sorting.column] : undefined;
    const sorted = column ? sortRows(found, column.value, sorting!.descending) : found;
    heads.forEach((head, i) => {
      const active = sorting?.column === i;
      if (active) head.setAttribute("aria-sort", sorting!.descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    const old = shown;
    shown = new Map();
    const next = sorted.slice(0, limit).map((row, i) => {
      const fresh = h("tr", {}, ...columns.map((each) => h("td", { class: each.number ? "number" : null }, each.cell(row))));
      const name = key ? key(row) : `${i}`;
      const kept = key && old.get(name);
      if (kept) become(kept, fresh);
      const line = kept || fresh;
      shown.set(name, line);
      return line;
    });
    if (next.length === 0) {
      next.push(h("tr", {}, h("td", { colspan: columns.length, class: "quiet" }, rows.length === 0 ? empty : "Nothing matches.")));
    }
    if (next.length !== body.rows.length || next.some((line, i) => line !== body.rows[i])) {
      const focused = body.contains(document.activeElement) ? (document.activeElement as HTMLElement) : null;
      body.replaceChildren(...next);
      if (focused?.isConnected) focused.focus({ preventScroll: true });
    }
    if (controls) controls.hidden = rows.length <= 8 && query === "";
    status.textContent = query.trim() === "" ? "" : `${whole(found.length)} of ${whole(rows.length)}`;
    foot.replaceChildren();
    const left = sorted.length - limit;
    if (left > 0) {
      const more = (text: string, by: number): HTMLElement =>
        h("button", { type: "button", class: "button", onclick: () => { limit += by; show(); } }, text);
      append(foot, [
        more(`Show ${whole(Math.min(left, pageSize))} more`, pageSize),
        left > pageSize && left <= 500 && more(`Show all ${whole(sorted.length)}`, left),
        h("span", { class: "quiet" }, `${whole(limit)} of ${whole(sorted.length)} shown`),
      ]);
    }
  }
  const controls = words !== undefined && (key !== undefined || rows.length > 8) && h("div", { class: "controls" },
    h("label", { class: "control", for: id }, h("span", {}, "Filter"),
      h("input", {
        id, type: "search", autocomplete: "off", spellcheck: "false",
        oninput: (event) => {
          query = (event.target as HTMLInputElement).value;
          limit = pageSize;
          show();
        },
      })),
    status);
  show();
  const element = h("div", { class: "data" },
    controls,
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label },
      h("table", {}, h("thead", {}, h("tr", {}, ...heads)), body)),
    foot);
  return { element, update: (changed) => { rows = changed; show(); }, extend: (by) => { limit += by; } };
}
