#!/usr/bin/env python3
"""Makes a large trace of a small one by repeating its events, with times and ids shifted each time round.

    grow_trace.py SOURCE OUT (--bytes N | --repeats N) [--rank R --world-size W]

SOURCE may be compressed. OUT is plain and is written as a stream. What identifies events (correlation, External id,
flow ids, Python ids, …) and the steps' numbers move on with every repetition, so that nothing is linked across.
"""

import argparse
import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "golden"))

GAP_US = 1_000  # between two repetitions
IDS = (
    "correlation",
    "External id",
    "external id",
    "Ev Idx",
    "id",
    "Python id",
    "Python parent id",
    "Record function id",
    "Sequence number",
)
NUMBER = re.compile(r'"ts"\s*:\s*(?P<ts>\d+)|"(?:' + "|".join(IDS) + r')"\s*:\s*(?P<id>\d+)|ProfilerStep#(?P<step>\d+)')


class Template:
    """The text of a trace, cut at every number that a repetition shifts."""

    def __init__(self, text):
        text = text.decode()
        document = json.loads(text)
        spans = [e for e in document["traceEvents"] if e.get("ph") == "X"]
        begin = text.index("[", text.index('"traceEvents"')) + 1
        _, end = json.JSONDecoder().raw_decode(text, begin - 1)
        self.head, body, self.tail = text[:begin], text[begin : end - 1].strip(), text[end - 1 :]
        self.events = len(spans)

        last = max(float(e["ts"]) + float(e["dur"]) for e in spans)
        self.period_us = int(last - min(float(e["ts"]) for e in spans)) + GAP_US
        self.literals, self.numbers, self.kinds = [], [], []
        at = 0
        for match in NUMBER.finditer(body):
            kind = match.lastgroup
            self.literals.append(body[at : match.start(kind)])
            self.numbers.append(int(match[kind]))
            self.kinds.append(kind)
            at = match.end(kind)
        self.literals.append(body[at:])
        of_kind = {k: [n for n, kind in zip(self.numbers, self.kinds) if kind == k] for k in ("ts", "id", "step")}
        self.shift = {
            "ts": self.period_us,
            # 0 and the like mean "none"; far outliers (−1 as unsigned) are left alone.
            "id": max((n for n in of_kind["id"] if n < 1 << 28), default=0) + 1,
            "step": len(set(of_kind["step"])),
        }

    def repetition(self, k):
        if k == 0:
            shifted = self.numbers
        else:
            by = {kind: k * shift for kind, shift in self.shift.items()}
            shifted = [
                n if kind == "id" and not 0 < n < 1 << 28 else n + by[kind] for n, kind in zip(self.numbers, self.kinds)
            ]
        pieces = [None] * (2 * len(shifted) + 1)
        pieces[0::2] = self.literals
        pieces[1::2] = map(str, shifted)
        return "".join(pieces)

    def write(self, path, repeats, rank=None, world_size=None):
        head = self.head
        if rank is not None:
            head = re.sub(r'("distributedInfo"\s*:\s*\{[^{}]*"rank"\s*:\s*)\d+', rf"\g<1>{rank}", head)
            head = re.sub(r'("distributedInfo"\s*:\s*\{[^{}]*"world_size"\s*:\s*)\d+', rf"\g<1>{world_size}", head)
        with open(path, "w") as f:
            f.write(head)
            for k in range(repeats):
                f.write(",\n" if k else "\n")
                f.write(self.repetition(k))
            f.write(self.tail)


def main():
    import oracle

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("out")
    size = parser.add_mutually_exclusive_group(required=True)
    size.add_argument("--bytes", type=float)
    size.add_argument("--repeats", type=int)
    parser.add_argument("--rank", type=int)
    parser.add_argument("--world-size", type=int, default=1)
    a = parser.parse_args()
    text = oracle.text_of(a.source)
    template = Template(text)
    repeats = a.repeats or -(-int(a.bytes) // len(text))
    template.write(a.out, repeats, a.rank, a.world_size)
    print(f"{a.out}: {repeats} repetitions, {repeats * template.events} timed events")


if __name__ == "__main__":
    main()
