// Requests to the server that this page came from, with the token that the user gave for as long as the tab is open.

import { fields, text } from "../json.ts";

const KEY = "eroica-token";
const PATIENCE_MS = 20_000;

export const token = {
  get: (): string => sessionStorage.getItem(KEY) ?? "",
  set: (value: string): void => sessionStorage.setItem(KEY, value),
  clear: (): void => sessionStorage.removeItem(KEY),
};

/** Why there is no answer, in words. Status 0: nobody answered. */
export class Problem extends Error {
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

/** The server's own words where it has some: {"error": …}. */
export function problemOf(status: number, body: string): Problem {
  let said = "";
  try {
    said = text(fields(JSON.parse(body)).error);
  } catch { /* not from our server, but from something between */ }
  return new Problem(status, said || `The server answered with status ${status}`);
}

const headers = (more: Record<string, string> = {}): Record<string, string> =>
  token.get() === "" ? more : { ...more, Authorization: `Bearer ${token.get()}` };

/** Ends with `signal`, or when nothing came for a while. */
async function fetched(path: string, init: RequestInit, signal?: AbortSignal): Promise<string> {
  const impatient = new AbortController();
  const giveUp = (): void => impatient.abort();
  const timer = setTimeout(giveUp, PATIENCE_MS);
  signal?.addEventListener("abort", giveUp);
  try {
    const response = await fetch(path, { ...init, cache: "no-store", signal: impatient.signal });
    const body = await response.text();
    if (!response.ok) throw problemOf(response.status, body);
    return body;
  } catch (error) {
    if (error instanceof Problem || signal?.aborted === true) throw error;
    throw new Problem(0, impatient.signal.aborted ? "The server does not answer" : "The server cannot be reached");
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", giveUp);
  }
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw new Problem(0, "The server's answer is no JSON");
  }
}

export const getText = (path: string, signal?: AbortSignal): Promise<string> => fetched(path, { headers: headers() }, signal);

export const get = async (path: string, signal?: AbortSignal): Promise<unknown> => parsed(await getText(path, signal));

export async function post(path: string, body: unknown): Promise<unknown> {
  return parsed(await fetched(path, {
    method: "POST", headers: headers({ "Content-Type": "application/json" }), body: JSON.stringify(body),
  }));
}

/** An answer that goes on until `signal` or the server ends it. */
export async function stream(path: string, signal: AbortSignal): Promise<ReadableStreamDefaultReader<Uint8Array>> {
  const response = await fetch(path, { headers: headers(), cache: "no-store", signal });
  if (!response.ok || response.body === null) throw problemOf(response.status, await response.text());
  return response.body.getReader();
}
