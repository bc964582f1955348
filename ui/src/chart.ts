// What all charts share: they follow the width of their place, and a cursor that the pointer or the arrow keys
// move over their cells tells what lies there.

import { append, h, type Child } from "./dom.ts";

/** From start to end, in the units of the drawing. */
export interface Band { readonly start: number; readonly end: number }

export interface Cells {
  readonly columns: readonly Band[];
  readonly rows: readonly Band[];
  /** What stands in the tip, and is read aloud; null where there is nothing. */
  describe(row: number, column: number): { tip: Child[]; spoken: string } | null;
  activate?(row: number, column: number): void;
}
export interface Drawing { readonly svg: SVGSVGElement; readonly cells: Cells }

const tip = h("div", { class: "tip", role: "presentation", hidden: true });

function showTip(content: readonly Child[], x: number, y: number): void {
  if (!tip.isConnected) document.body.append(tip);
  tip.replaceChildren();
  append(tip, content);
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const page = document.documentElement;
  const left = x + 14 + width > page.clientWidth ? Math.max(4, x - 14 - width) : x + 14;
  const top = y + 14 + height > page.clientHeight ? Math.max(4, y - 14 - height) : y + 14;
  tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
}

const within = (bands: readonly Band[], position: number): number =>
  bands.findIndex((band) => position >= band.start && position < band.end);

function cursorBox(svg: SVGSVGElement): SVGRectElement {
  const box = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  box.setAttribute("class", "cursor");
  box.setAttribute("visibility", "hidden");
  svg.append(box);
  return box;
}

/** Makes a drawing answer to pointer and keys. `spoken` is the chart's live region. */
function attachCursor({ svg, cells }: Drawing, host: HTMLElement, spoken: HTMLElement): () => void {
  const box = cursorBox(svg);
  let row = -1;
  let column = -1;

  const scale = (): { rect: DOMRect; factor: number } => {
    const rect = svg.getBoundingClientRect();
    return { rect, factor: rect.width / (svg.viewBox.baseVal.width || rect.width || 1) };
  };
  const clear = (): void => {
    row = column = -1;
    box.setAttribute("visibility", "hidden");
    tip.hidden = true;
  };
  const mark = (): Child[] | null => {
    const [y, x] = [cells.rows[row], cells.columns[column]];
    const found = x && y ? cells.describe(row, column) : null;
    if (!x || !y || !found) return null;
    box.setAttribute("x", `${x.start}`);
    box.setAttribute("y", `${y.start}`);
    box.setAttribute("width", `${Math.max(1, x.end - x.start)}`);
    box.setAttribute("height", `${Math.max(1, y.end - y.start)}`);
    box.setAttribute("visibility", "visible");
    return found.tip;
  };

  const controller = new AbortController();
  const options = { signal: controller.signal };
  const locate = (event: PointerEvent | MouseEvent): boolean => {
    const { rect, factor } = scale();
    column = within(cells.columns, (event.clientX - rect.left) / factor);
    row = within(cells.rows, (event.clientY - rect.top) / factor);
    return row >= 0 && column >= 0;
  };
  svg.addEventListener("pointermove", (event) => {
    const content = locate(event) ? mark() : null;
    if (content) showTip(content, event.clientX, event.clientY);
    else clear();
  }, options);
  svg.addEventListener("pointerleave", clear, options);
  svg.addEventListener("click", (event) => {
    if (!cells.activate || !locate(event)) return;
    tip.hidden = true;
    cells.activate(row, column);
  }, options);
  host.addEventListener("blur", clear, options);
  host.addEventListener("keydown", (event) => {
    const [rows, columns] = [cells.rows.length, cells.columns.length];
    if (rows === 0 || columns === 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    const moves: Record<string, [number, number]> = {
      ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
      Home: [0, -columns], End: [0, columns], PageUp: [-10, 0], PageDown: [10, 0],
    };
    const move = moves[event.key];
    if (move) {
      event.preventDefault();
      const started = row >= 0 && column >= 0;
      row = started ? Math.max(0, Math.min(rows - 1, row + move[0])) : 0;
      column = started ? Math.max(0, Math.min(columns - 1, column + move[1])) : 0;
      const content = mark();
      spoken.textContent = cells.describe(row, column)?.spoken ?? "";
      if (content) {
        const { rect, factor } = scale();
        const [x, y] = [cells.columns[column]!, cells.rows[row]!];
        showTip(content, rect.left + ((x.start + x.end) / 2) * factor, rect.top + y.end * factor - 8);
      }
    } else if (event.key === "Escape") {
      clear();
    } else if ((event.key === "Enter" || event.key === " ") && row >= 0 && column >= 0 && cells.activate) {
      event.preventDefault();
      cells.activate(row, column);
    }
  }, options);
  return () => {
    controller.abort();
    clear();
  };
}

export interface Chart { readonly element: HTMLElement; redraw(): void }

/** A place for a chart: `draw` is called with the width at hand, again when that changes or on redraw(). */
export function chart(label: string, draw: (width: number) => Drawing): Chart {
  const place = h("div", { class: "plot", tabindex: 0, role: "group", "aria-roledescription": "chart", "aria-label": label });
  const spoken = h("div", { class: "visually-hidden", "aria-live": "polite" });
  const element = h("figure", {}, place, spoken);
  let width = 0;
  let detach = (): void => {};
  const redraw = (): void => {
    if (width === 0) return;
    detach();
    const drawing = draw(width);
    drawing.svg.setAttribute("aria-hidden", "true");
    place.replaceChildren(drawing.svg);
    detach = attachCursor(drawing, place, spoken);
  };
  const measure = (): void => {
    const now = Math.floor(place.clientWidth);
    if (now === 0 || now === width) return;
    width = now;
    redraw();
  };
  // First as soon as whoever made the chart has put it into the page; later in a frame of its own, since drawing
  // changes heights, which the observer must not see in its own round.
  queueMicrotask(measure);
  new ResizeObserver(() => requestAnimationFrame(measure)).observe(place);
  return { element, redraw };
}

/** Rows of a tip: swatch, name, value. */
export function tipRows(rows: readonly { color?: string; name: string; value: string }[]): HTMLElement {
  return h("div", { class: "tip-rows" }, ...rows.flatMap(({ color, name, value }) => [
    h("span", { class: "swatch", style: color ? `background:${color}` : "visibility:hidden" }),
    h("span", {}, name),
    h("span", { class: "number" }, value),
  ]));
}

/** Bands of an ordinal scale of a plot, in the order of `domain`. */
export function bandsOf(
  scale: { apply(value: unknown): number; bandwidth?: number | undefined } | undefined, domain: readonly unknown[],
): Band[] {
  const bandwidth = scale?.bandwidth ?? 0;
  return domain.map((value) => {
    const start = scale?.apply(value) ?? 0;
    return { start, end: start + bandwidth };
  });
}
