import { diagnosesSection } from "./diagnoses_section.ts";
import { readDocument } from "./document.ts";
import { h } from "./dom.ts";
import { headline } from "./headline.ts";
import { heatSection } from "./heat_section.ts";
import { stepsSection } from "./steps_section.ts";
import { collectivesSection, functionsSection, inputSection } from "./tables_section.ts";
import { timeSection } from "./time_section.ts";
import { timelineSection } from "./timeline_section.ts";

function parse(): unknown {
  const source = document.getElementById("document")?.textContent ?? "";
  try {
    return JSON.parse(source);
  } catch {
    return null;
  }
}

function show(): void {
  const content = parse();
  const main = h("main");
  document.body.append(main);
  if (content === null) {
    main.append(h("p", { class: "failure", role: "alert" },
      "This page holds no readable document. It is made by “eroica analyze --format html”."));
    return;
  }
  const doc = readDocument(content);
  document.title = `${doc.jobId === "" ? "Job" : doc.jobId} · eroica`;
  const sections = [
    diagnosesSection(doc), timelineSection(doc), timeSection(doc), stepsSection(doc), heatSection(doc), functionsSection(doc),
    collectivesSection(doc), inputSection(doc),
  ].filter((each) => each !== null);
  const links = sections.map((each) => h("a", { href: `#${each.id}` }, each.querySelector("h2")?.textContent ?? each.id));
  main.append(headline(doc), h("nav", { "aria-label": "On this page" }, ...links), ...sections);
}

show();
