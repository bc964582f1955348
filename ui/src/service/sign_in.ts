import { h } from "../dom.ts";

/** Nothing else can be sent in a header. */
export const isToken = (given: string): boolean => /^[\x21-\x7e]+$/.test(given);

/** Asks for a token; `why`: the server's words. */
export function signInForm(why: string, signIn: (token: string) => void): HTMLElement {
  const input = h("input", { type: "password", autocomplete: "off", spellcheck: "false", required: true, class: "wide" });
  const told = h("p", { role: "alert" }, why);
  const form = h("form", { class: "sign-in", onsubmit: (event) => {
    event.preventDefault();
    const given = input.value.trim();
    if (isToken(given)) signIn(given);
    else told.textContent = "A token has letters, digits and signs of ASCII alone, and no spaces.";
  } },
  h("h1", {}, "A token is needed"),
  told,
  h("label", { class: "control grow" }, h("span", {}, "Token"), input),
  h("button", { class: "button primary" }, "Sign in"),
  h("p", { class: "note" }, "“eroica token add” on the server makes one. It is kept for this tab until you sign out or close it, though a browser that brings back its tabs may bring it back too; it is sent to this server alone."));
  return form;
}
