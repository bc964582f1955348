// What the server tells unasked: its event stream, opened anew whenever it ends.

import { Problem, stream } from "./client.ts";

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
/** A stream that ends sooner is no better than none. */
const LASTING_MS = 10_000;

const pause = (ms: number, signal: AbortSignal): Promise<void> => new Promise((done) => {
  const timer = setTimeout(done, ms);
  signal.addEventListener("abort", () => { clearTimeout(timer); done(); }, { once: true });
});

/** How the stream stands: it has begun, it has ended, or there was none, and why. */
export type StreamState = "live" | "ended" | Problem;

/** Hears news until `signal`, and tells of each change of the stream. */
export async function follow(hear: (news: News) => void, told: (state: StreamState) => void, signal: AbortSignal): Promise<void> {
  let wait = FIRST_PAUSE_MS;
  while (!signal.aborted) {
    let [began, state]: [number | null, StreamState] = [null, "ended"];
    try {
      const reader = new NewsReader();
      for await (const piece of stream("/api/v1/events", SILENCE_MS, signal)) {
        if (began === null) told("live");
        began ??= performance.now();
        reader.take(piece).forEach(hear);
      }
    } catch (problem) {
      if (began === null && problem instanceof Problem) state = problem;
    }
    if (signal.aborted) return;
    if (began !== null && performance.now() - began > LASTING_MS) wait = FIRST_PAUSE_MS;
    told(state);
    await pause(wait, signal);
    wait = Math.min(2 * wait, LONGEST_PAUSE_MS);
  }
}
