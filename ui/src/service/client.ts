// Requests to the server that this page came from, with the token that the user gave for this tab.

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
  /** It may be otherwise soon: nobody answered, or something between that has nobody behind it, or a server that cannot now. */
  get passes(): boolean {
    return this.status === 0 || this.status >= 502;
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

/** What is answered, piece by piece, first an empty one: it begins. Ends with `signal`, or when nothing came for `patienceMs`. */
async function* answered(path: string, init: RequestInit, patienceMs: number, signal?: AbortSignal): AsyncGenerator<string, void> {
  const impatient = new AbortController();
  const giveUp = (): void => impatient.abort();
  let timer = setTimeout(giveUp, patienceMs);
  try {
    const ends = AbortSignal.any(signal === undefined ? [impatient.signal] : [impatient.signal, signal]);
    const response = await fetch(path, { ...init, cache: "no-store", signal: ends });
    if (!response.ok) throw problemOf(response.status, await response.text());
    yield "";
    const [reader, decoder] = [response.body!.getReader(), new TextDecoder()];
    for (;;) {
      clearTimeout(timer);
      timer = setTimeout(giveUp, patienceMs);
      const { done, value } = await reader.read();
      if (done) return;
      yield decoder.decode(value, { stream: true });
    }
  } catch (error) {
    if (error instanceof Problem || signal?.aborted === true) throw error;
    throw new Problem(0, impatient.signal.aborted ? "The server does not answer" : "The server cannot be reached");
  } finally {
    clearTimeout(timer);
    giveUp();  // where nobody wants the rest
  }
}

async function whole(path: string, init: RequestInit, signal?: AbortSignal): Promise<string> {
  let body = "";
  for await (const piece of answered(path, init, PATIENCE_MS, signal)) body += piece;
  return body;
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw new Problem(0, "The server's answer is no JSON");
  }
}

export const getText = (path: string, signal?: AbortSignal): Promise<string> => whole(path, { headers: headers() }, signal);

export const get = async (path: string, signal?: AbortSignal): Promise<unknown> => parsed(await getText(path, signal));

export async function post(path: string, body: unknown): Promise<unknown> {
  return parsed(await whole(path, {
    method: "POST", headers: headers({ "Content-Type": "application/json" }), body: JSON.stringify(body),
  }));
}

/** An answer that goes on until `signal` or the server ends it, or nothing came for `patienceMs`; its first piece is empty. */
export const stream = (path: string, patienceMs: number, signal: AbortSignal): AsyncGenerator<string, void> =>
  answered(path, { headers: headers() }, patienceMs, signal);
