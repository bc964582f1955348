import { h } from "../dom.ts";

/** Asks for a token; `why`: the server's words. */
export function signInForm(why: string, signIn: (token: string) => void): HTMLElement {
  const input = h("input", { type: "password", autocomplete: "off", spellcheck: "false", required: true, class: "wide" });
  const form = h("form", { class: "sign-in", onsubmit: (event) => {
    event.preventDefault();
    if (input.value.trim() !== "") signIn(input.value.trim());
  } },
  h("h1", {}, "A token is needed"),
  h("p", { role: "alert" }, why),
  h("label", { class: "control grow" }, h("span", {}, "Token"), input),
  h("button", { class: "button primary" }, "Sign in"),
  h("p", { class: "note" }, "“eroica token add” on the server makes one. It is kept until this tab is closed, and sent to this server alone."));
  return form;
}
