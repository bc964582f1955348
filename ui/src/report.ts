// A diagnosis document as a page: the answer, links to its parts, the parts.

import { diagnosesSection } from "./diagnoses_section.ts";
import type { EroicaDocument } from "./document.ts";
import { h } from "./dom.ts";
import { headline } from "./headline.ts";
import { heatSection } from "./heat_section.ts";
import { stepsSection } from "./steps_section.ts";
import { collectivesSection, functionsSection, inputSection } from "./tables_section.ts";
import { timeSection } from "./time_section.ts";
import { timelineSection } from "./timeline_section.ts";

export function report(doc: EroicaDocument): HTMLElement[] {
  const sections = [
    diagnosesSection(doc), timelineSection(doc), timeSection(doc), stepsSection(doc), heatSection(doc), functionsSection(doc),
    collectivesSection(doc), inputSection(doc),
  ].filter((each) => each !== null);
  const links = sections.map((each) => h("a", { href: `#${each.id}` }, each.querySelector("h2")?.textContent ?? each.id));
  return [headline(doc), h("nav", { "aria-label": "On this page" }, ...links), ...sections];
}
