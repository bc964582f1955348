import { readDocument } from "./document.ts";
import { h } from "./dom.ts";
import { report } from "./report.ts";

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
  main.append(...report(doc));
}

show();
