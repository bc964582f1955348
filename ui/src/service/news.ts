// What the server tells unasked: its event stream, opened anew whenever it ends.

import { stream } from "./client.ts";

export interface News { readonly name: string; readonly data: unknown }

/** Takes text/event-stream apart, in whatever pieces it comes. */
export class NewsReader {
  #rest = "";

  take(piece: string): News[] {
    const blocks = (this.#rest + piece).split("\n\n");
    this.#rest = blocks.pop() ?? "";
    return blocks.flatMap((block) => {
      const lines = block.split("\n");
      const of = (field: string): string => lines.filter((line) => line.startsWith(`${field}: `)).map((line) => line.slice(field.length + 2)).join("\n");
      try {
        return of("data") === "" ? [] : [{ name: of("event"), data: JSON.parse(of("data")) as unknown }];
      } catch {
        return [];
      }
    });
  }
}

/** The server sends something every 15 s, if only a heartbeat. */
const SILENCE_MS = 40_000;
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 30_000;

const pause = (ms: number, signal: AbortSignal): Promise<void> => new Promise((done) => {
  const timer = setTimeout(done, ms);
  signal.addEventListener("abort", () => { clearTimeout(timer); done(); }, { once: true });
});

async function listen(hear: (news: News) => void, opened: () => void, signal: AbortSignal): Promise<void> {
  const ended = new AbortController();
  const end = (): void => ended.abort();
  signal.addEventListener("abort", end);
  let timer = setTimeout(end, SILENCE_MS);
  try {
    const reader = await stream("/api/v1/events", ended.signal);
    opened();
    const [news, decoder] = [new NewsReader(), new TextDecoder()];
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(end, SILENCE_MS);
      news.take(decoder.decode(value, { stream: true })).forEach(hear);
    }
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
  }
}

/** Until `signal`: hears news; `connected` is told whenever the stream begins (true) and ends (false). */
export async function follow(hear: (news: News) => void, connected: (is: boolean) => void, signal: AbortSignal): Promise<void> {
  let wait = FIRST_PAUSE_MS;
  while (!signal.aborted) {
    try {
      await listen(hear, () => { wait = FIRST_PAUSE_MS; connected(true); }, signal);
    } catch { /* what is wrong is told by the requests that the page makes meanwhile */ }
    if (signal.aborted) return;
    connected(false);
    await pause(wait, signal);
    wait = Math.min(2 * wait, LONGEST_PAUSE_MS);
  }
}
