// A table that sorts by a click on a heading, filters by words and shows its rows page by page.

import { append, h, uniqueId, type Child } from "./dom.ts";
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
}

interface Sorting { readonly column: number; readonly descending: boolean }

/** Missing values last, whichever the direction; ties keep the order given. */
export function sortRows<Row>(rows: readonly Row[], value: (row: Row) => Maybe | string, descending: boolean): Row[] {
  const sign = descending ? -1 : 1;
  return rows.map((row) => ({ row, key: value(row) })).sort((a, b) => {
    const [missingA, missingB] = [a.key === null || a.key === "", b.key === null || b.key === ""];
    if (missingA || missingB) return Number(missingA) - Number(missingB);
    if (typeof a.key === "number" && typeof b.key === "number") return sign * (a.key - b.key);
    return sign * String(a.key).localeCompare(String(b.key), "en", { numeric: true });
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

export function table<Row>({ label, columns, rows, sortBy, words, pageSize = 20 }: TableOptions<Row>): HTMLElement {
  let sorting: Sorting | null =
    sortBy === undefined ? null : { column: sortBy, descending: columns[sortBy]?.number === true };
  let query = "";
  let limit = pageSize;
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
    body.replaceChildren(...sorted.slice(0, limit).map((row) =>
      h("tr", {}, ...columns.map((each) => h("td", { class: each.number ? "number" : null }, each.cell(row))))));
    if (sorted.length === 0) {
      body.append(h("tr", {}, h("td", { colspan: columns.length, class: "quiet" }, "Nothing matches.")));
    }
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
  show();
  return h("div", { class: "data" },
    words && rows.length > 8 && h("div", { class: "controls" },
      h("label", { class: "control", for: id }, h("span", {}, "Filter"),
        h("input", {
          id, type: "search", autocomplete: "off", spellcheck: "false",
          oninput: (event) => {
            query = (event.target as HTMLInputElement).value;
            limit = pageSize;
            show();
          },
        })),
      status),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label },
      h("table", {}, h("thead", {}, h("tr", {}, ...heads)), body)),
    foot);
}
