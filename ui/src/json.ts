// Values of any JSON as the types that are wanted: what is missing or of a wrong type becomes null, "" or an empty list.

import type { Maybe } from "./document.ts";

export type Fields = Record<string, unknown>;

export const fields = (value: unknown): Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
export const number = (value: unknown): Maybe => (typeof value === "number" && Number.isFinite(value) ? value : null);
export const text = (value: unknown): string =>
  typeof value === "string" ? value : typeof value === "number" || typeof value === "boolean" ? String(value) : "";
const items = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
export const texts = (value: unknown): string[] => items(value).map(text).filter((item) => item !== "");
export const numbers = (value: unknown): number[] => items(value).map(number).filter((item) => item !== null);
export const records = (value: unknown): Fields[] => items(value).map(fields);
