// One diagnosis document, as the report page shows it.

import { readDocument } from "../document.ts";
import { h } from "../dom.ts";
import { report } from "../report.ts";
import { get } from "./client.ts";
import { slot, type View } from "./view.ts";

/** Links to parts of the page, which are no places of the service's. */
function jump(event: Event): void {
  const { ctrlKey, metaKey, shiftKey, altKey } = event as MouseEvent;
  const link = (event.target as Element).closest("a[href^='#']:not([href^='#/'])");
  if (link === null || ctrlKey || metaKey || shiftKey || altKey) return;
  event.preventDefault();
  const part = document.getElementById(link.getAttribute("href")!.slice(1));
  if (part === null) return;
  part.tabIndex = -1;
  part.focus({ preventScroll: true });
  part.scrollIntoView();
}

export function diagnosisView(id: number): View {
  const shown = slot();
  let isShown = false;
  return {
    title: `Diagnosis ${id}`,
    polls: false,
    element: h("div", { onclick: jump }, shown.element),
    async load(signal) {
      if (isShown) return;  // a document never changes
      const doc = readDocument(await get(`/api/v1/diagnoses/${id}`, signal));
      shown.fill(...report(doc));
      isShown = true;
    },
  };
}
