// Numbers, times and names as people read them. A missing value is an en dash.

import type { Maybe, Place } from "./document.ts";

export const MISSING = "–";
const MINUS = "−";

/** Three significant digits, whole from 100 on, thousands separated; trailing zeros only where they are asked for. */
export function digits(value: Maybe, keepZeros = false): string {
  if (value === null) return MISSING;
  const size = Math.abs(value);
  const places = size >= 99.95 || size === 0 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
  const shown = value.toLocaleString("en-US", {
    minimumFractionDigits: keepZeros ? places : 0, maximumFractionDigits: places,
  });
  return (shown === "-0" ? "0" : shown).replace("-", MINUS);
}

/** Like digits(), with trailing zeros kept so that a column lines up: two decimals. */
export function fixed(value: Maybe, places = 2): string {
  if (value === null) return MISSING;
  return value
    .toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places })
    .replace("-", MINUS);
}

function scaled(value: Maybe, units: readonly (readonly [number, string])[], keepZeros: boolean): string {
  if (value === null) return MISSING;
  const [factor, unit] = units.find(([limit]) => Math.abs(value) >= limit * 0.9995) ?? units[units.length - 1]!;
  return `${digits(value / factor, keepZeros)} ${unit}`;
}

const TIMES = [[1000, "s"], [1, "ms"], [0.001, "µs"], [0.000001, "ns"]] as const;

export function duration(ms: Maybe, keepZeros = true): string {
  if (ms === 0) return "0 ms";
  if (ms !== null && Math.abs(ms) >= 120_000) return `${digits(ms / 60_000, keepZeros)} min`;
  return scaled(ms, TIMES, keepZeros);
}

/** On an axis: 20 ms, not 20.0 ms. */
export const tick = (ms: number): string => duration(ms, false);

export const microseconds = (us: Maybe, keepZeros = true): string => duration(us === null ? null : us / 1000, keepZeros);

export const bytes = (count: Maybe): string =>
  count === 0 ? "0 B" : scaled(count, [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]], false);

export const count = (value: Maybe): string => (value === null ? MISSING : digits(value));

export const whole = (value: Maybe): string => (value === null ? MISSING : Math.round(value).toLocaleString("en-US"));

export function percent(share: Maybe): string {
  if (share === null) return MISSING;
  const value = share * 100;
  if (value > 0 && value < 0.1) return "< 0.1 %";
  return `${value.toLocaleString("en-US", { maximumFractionDigits: value < 9.95 ? 1 : 0 })} %`;
}

export const plural = (value: number, one: string, many = `${one}s`): string =>
  `${whole(value)} ${value === 1 ? one : many}`;

/** A value of evidence by its unit: those of docs/signals.md as people write them, others as they are named. */
export function amount(value: Maybe, unit: string): string {
  if (value === null) return MISSING;
  const scales: Record<string, string> = { hz: "Hz", bytes_per_s: "B/s", bits_per_s: "bit/s", bytes: "B" };
  const scale = Object.hasOwn(scales, unit) ? scales[unit] : undefined;
  if (scale !== undefined) {
    const prefixes = (["T", "G", "M", "k", ""] as const).map((prefix, i) => [10 ** (12 - 3 * i), `${prefix}${scale}`] as const);
    return value === 0 ? `0 ${scale}` : scaled(value, prefixes, false);
  }
  if (unit === "share" || unit === "fraction") return percent(value);
  const words: Record<string, string> = {
    "": "", 1: "", count: "", ratio: "×", watts: "W", celsius: "°C", per_s: "a second", ms_per_step: "ms a step",
  };
  return `${digits(value)} ${Object.hasOwn(words, unit) ? words[unit]! : unit}`.trim();
}

/** GPU time lost in an hour, in the unit that suits. */
export function gpuTime(seconds: number): string {
  const [value, unit] = seconds < 600 ? [seconds, "seconds"] : seconds < 7200 ? [seconds / 60, "minutes"] : [seconds / 3600, "hours"];
  return `${digits(value)} GPU ${unit} an hour`;
}

/** "0–3, 7": runs of ranks put together; what exceeds `runs` is counted. */
export function rankList(ranks: readonly number[], runs = 8): string {
  const sorted = [...new Set(ranks)].sort((a, b) => a - b);
  const parts: { text: string; size: number }[] = [];
  for (let i = 0; i < sorted.length;) {
    let end = i;
    while (sorted[end + 1] === sorted[end]! + 1) end += 1;
    const [first, last] = [sorted[i]!, sorted[end]!];
    if (end === i) parts.push({ text: `${first}`, size: 1 });
    else if (end === i + 1) parts.push({ text: `${first}, ${last}`, size: 2 });
    else parts.push({ text: `${first}–${last}`, size: end - i + 1 });
    i = end + 1;
  }
  const left = parts.slice(runs).reduce((sum, part) => sum + part.size, 0);
  const shown = parts.slice(0, runs).map((part) => part.text).join(", ");
  return left > 0 ? `${shown} and ${whole(left)} more` : shown;
}

export const ranksInWords = (ranks: readonly number[]): string =>
  ranks.length === 0 ? "" : `${ranks.length === 1 ? "rank" : "ranks"} ${rankList(ranks)}`;

/** file:line, or what there is of it. */
export const location = (place: Place): string =>
  place.file === "" ? "" : place.line !== null && place.line > 0 ? `${place.file}:${place.line}` : place.file;

/** Identifiers of the document as words: "bad_event" → "bad event". */
export const words = (name: string): string => name.replace(/[_]+/g, " ").trim();

export const capital = (sentence: string): string => sentence.charAt(0).toUpperCase() + sentence.slice(1);

/** The smallest of 1, 2, 5, 10, 20 … that cuts `count` into at most `pieces`. */
export function roundStep(count: number, pieces: number): number {
  for (let power = 1; ; power *= 10) {
    for (const factor of [1, 2, 5]) {
      if (count / (factor * power) <= Math.max(1, pieces)) return factor * power;
    }
  }
}

/** Cut in the middle: the ends of a long name tell most. */
export function shorten(name: string, length: number): string {
  if (name.length <= length) return name;
  const tail = Math.floor((length - 1) / 3);
  return `${name.slice(0, length - 1 - tail)}…${name.slice(name.length - tail)}`;
}

/** Nanoseconds since 1970 as UTC, "2026-03-01 12:00:05". */
export function utc(unixNs: string): string {
  const ms = Number(unixNs) / 1e6;
  if (!(ms > 0) || ms > 8.64e15) return MISSING;
  return new Date(ms).toISOString().slice(0, 19).replace("T", " ");
}
