import { h, uniqueId } from "../dom.ts";
import { post } from "./client.ts";
import { verdictInWords } from "./sentences.ts";
import { button } from "./view.ts";

export interface FeedbackForm {
  readonly element: HTMLElement;
  /** Causes that come to mind when it is another one. */
  suggest(causes: readonly string[]): void;
}

/** `sent` is called when the server has noted a verdict. */
export function feedbackForm(incident: number, sent: () => void): FeedbackForm {
  const suggestions = h("datalist", { id: uniqueId("causes") });
  const remark = h("input", { type: "text", autocomplete: "off", maxlength: 1000, class: "wide" });
  const cause = h("input", { type: "text", autocomplete: "off", spellcheck: "false", maxlength: 200, list: suggestions.id, class: "wide" });
  const told = h("p", { role: "status", class: "quiet" });
  const verdicts: HTMLButtonElement[] = [];

  async function send(verdict: string): Promise<void> {
    const before = document.activeElement as HTMLElement | null;
    verdicts.forEach((each) => { each.disabled = true; });
    told.textContent = "Telling the server…";
    try {
      await post(`/api/v1/incidents/${incident}/feedback`, {
        verdict, text: remark.value.trim(), ...(verdict === "other_cause" ? { cause: cause.value.trim() } : {}),
      });
      told.textContent = `Noted: ${verdictInWords({ verdict, cause: verdict === "other_cause" ? cause.value.trim() : "" })}.`;
      remark.value = "";
      unfold(false);
      sent();
    } catch (problem) {
      told.textContent = `Not noted: ${(problem as Error).message}.`;
    } finally {
      verdicts.forEach((each) => { each.disabled = false; });
      // What is disabled or hidden loses the focus.
      const isLost = document.activeElement === before || document.activeElement === document.body;
      if (isLost) (other.hidden && other.contains(before) ? another : before)?.focus();
    }
  }
  const submit = h("button", { class: "button" }, "Tell this cause");
  const other = h("form", { class: "controls", hidden: true, onsubmit: (event) => { event.preventDefault(); void send("other_cause"); } },
    h("label", { class: "control grow" }, h("span", {}, "It was"), cause), suggestions, submit);
  function unfold(is: boolean): void {
    other.hidden = !is;
    another.setAttribute("aria-expanded", String(is));
    if (is) cause.focus();
  }
  const another = button("Another cause…", () => unfold(other.hidden), { "aria-expanded": "false" });
  verdicts.push(button("Right", () => void send("right")), button("Wrong: nothing was wrong", () => void send("wrong")), another, submit);
  return {
    element: h("div", {},
      h("div", { class: "controls" }, ...verdicts.slice(0, 3),
        h("label", { class: "control grow" }, h("span", {}, "Remark"), remark)),
      other, told),
    suggest: (causes) => suggestions.replaceChildren(...causes.map((value) => h("option", { value }))),
  };
}
