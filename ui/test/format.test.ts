import assert from "node:assert/strict";
import { test } from "node:test";
import {
  amount, bytes, count, digits, duration, fixed, gpuTime, location, microseconds, percent, rankList, roundStep, shorten, tick, utc,
} from "../src/format.ts";

test("durations take the unit that suits them, with three digits", () => {
  const cases: [number | null, string][] = [
    [null, "–"], [0, "0 ms"], [0.0000123, "12.3 ns"], [0.5, "500 µs"], [0.99999, "1.00 ms"], [1.234, "1.23 ms"],
    [9.999, "10.0 ms"], [42.06, "42.1 ms"], [152.4, "152 ms"], [999.9, "1.00 s"], [61234, "61.2 s"], [180_000, "3.00 min"],
    [-3.2, "−3.20 ms"],
  ];
  for (const [ms, shown] of cases) assert.equal(duration(ms), shown);
  assert.equal(microseconds(1500), "1.50 ms");
  assert.equal(tick(20), "20 ms");
});

test("numbers", () => {
  assert.equal(digits(1234567.8), "1,234,568");
  assert.equal(digits(0.0004), "0");
  assert.equal(digits(-0.0001), "0");
  assert.equal(fixed(2), "2.00");
  assert.equal(count(2.5), "2.5");
  assert.equal(bytes(0), "0 B");
  assert.equal(bytes(1536), "1.54 kB");
  assert.equal(bytes(13.4e9), "13.4 GB");
  assert.equal(percent(0.5634), "56 %");
  assert.equal(percent(0.0156), "1.6 %");
  assert.equal(percent(0.0000001), "< 0.1 %");
  assert.equal(percent(0), "0 %");
  assert.equal(percent(null), "–");
});

test("lists of ranks are put together and bounded", () => {
  assert.equal(rankList([]), "");
  assert.equal(rankList([3]), "3");
  assert.equal(rankList([4, 3, 3]), "3, 4");
  assert.equal(rankList([7, 0, 1, 2, 3]), "0–3, 7");
  assert.equal(rankList(Array.from({ length: 4096 }, (_, i) => i)), "0–4095");
  assert.equal(rankList(Array.from({ length: 100 }, (_, i) => 2 * i), 3), "0, 2, 4 and 97 more");
});

test("places and names", () => {
  assert.equal(location({ name: "f", file: "a.py", line: 3 }), "a.py:3");
  assert.equal(location({ name: "f", file: "a.py", line: null }), "a.py");
  assert.equal(location({ name: "f", file: "", line: 3 }), "");
  assert.equal(shorten("short", 10), "short");
  assert.equal(shorten("a".repeat(50), 21).length, 21);
  assert.ok(shorten("kernel<many arguments>", 15).startsWith("kernel"));
});

test("a round step cuts an axis into few enough pieces", () => {
  for (const size of [1, 2, 7, 64, 512, 4096, 100_000]) {
    for (const pieces of [0, 1, 3, 10, 26]) {
      const step = roundStep(size, pieces);
      assert.ok(size / step <= Math.max(1, pieces));
      assert.match(String(step), /^[125]0*$/);
    }
  }
});

test("times of day, and what is none", () => {
  assert.equal(utc("1700000000123456789"), "2023-11-14 22:13:20");
  for (const odd of ["", "0", "-4", "text", "1e40"]) assert.equal(utc(odd), "–");
});

test("amounts go by the units of signals", () => {
  assert.equal(amount(0.4123, "share"), "41 %");
  assert.equal(amount(1.98e9, "hz"), "1.98 GHz");
  assert.equal(amount(8.1e8, "bytes_per_s"), "810 MB/s");
  assert.equal(amount(0, "bits_per_s"), "0 bit/s");
  assert.equal(amount(88, "celsius"), "88 °C");
  assert.equal(amount(0.31, "cores"), "0.31 cores");
  assert.equal(amount(3, "constructor"), "3 constructor");
  assert.equal(amount(3, ""), "3");
  assert.equal(amount(null, "ms"), "–");
  assert.equal(gpuTime(47), "47 GPU seconds an hour");
  assert.equal(gpuTime(504_000), "140 GPU hours an hour");
});
