"""A slow and obvious reader of Kineto traces, independent of the product's.

Times are exact integers of nanoseconds. Nothing is repaired: what the json module refuses is refused.
Everything here is written from the definitions, with plain lists and sorting.
"""

import gzip
import json
import re
import subprocess
from collections import defaultdict
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

CATEGORIES = {
    "operator": {"cpu_op", "Operator"},
    "python": {"python_function", "Python"},
    "annotation": {"user_annotation"},
    "gpu_annotation": {"gpu_user_annotation"},
    "runtime": {"cuda_runtime", "Runtime", "hip_runtime", "mtia_runtime", "xpu_runtime"},
    "driver": {"cuda_driver", "privateuse1_driver"},
    "kernel": {"kernel", "Kernel", "mtia_ccp_events"},
    "memcpy": {"gpu_memcpy", "Memcpy"},
    "memset": {"gpu_memset", "Memset"},
    "sync": {"cuda_sync", "cuda_event"},
    "overhead": {"overhead"},
    "trace_span": {"Trace"},
}
CATEGORY_OF = {written: name for name, all_written in CATEGORIES.items() for written in all_written}

# NCCL's and RCCL's kernels, and the all-reduces that frameworks write themselves.
COLLECTIVE_KERNEL = re.compile(r"^nccl|multimem_\w*all_(reduce|gather)|(one|two)_shot_all_reduce|cross_device_reduce")

# MTIA writes everything on the device under one category: these move data, and these do nothing.
DEVICE_COPIES = {"dma_request"}
DEVICE_WAITS = {"event_wait", "event_record"}


@dataclass(frozen=True)
class Event:
    name: str
    category: str
    start: int
    duration: int
    track: tuple
    args: dict = field(hash=False, default_factory=dict)

    @property
    def end(self):
        return self.start + self.duration


@dataclass
class Trace:
    text_bytes: int
    metadata: dict
    events: list  # timed: X and matched B/E

    def of(self, *categories):
        return [e for e in self.events if e.category in categories]


def text_of(path):
    """The bytes of a trace file, decompressed by what its content says."""
    raw = Path(path).read_bytes()
    if raw[:2] == b"\x1f\x8b":
        return gzip.decompress(raw)
    if raw[:4] == b"\x28\xb5\x2f\xfd":
        return subprocess.run(["zstd", "-dcq"], input=raw, stdout=subprocess.PIPE, check=True).stdout
    return raw


def nanoseconds(microseconds):
    value = Decimal(microseconds) * 1000
    assert value == value.to_integral_value(), f"{microseconds} µs is no whole number of nanoseconds"
    return int(value)


def parse(text):
    document = json.loads(text, parse_float=Decimal)
    raw = document if isinstance(document, list) else document["traceEvents"]
    metadata = {} if isinstance(document, list) else {k: v for k, v in document.items() if k != "traceEvents"}
    events = []
    pairs = []
    for e in raw:
        if e.get("ph") == "X":
            start = nanoseconds(e["ts"])
            events.append(_event(e, start, nanoseconds(e["dur"])))
        elif e.get("ph") in ("B", "E"):
            pairs.append((nanoseconds(e["ts"]), e))
    open_by_track = defaultdict(list)
    for time, e in sorted(pairs, key=lambda pair: pair[0]):  # stable: file order within one instant
        stack = open_by_track[str(e["pid"]), str(e["tid"])]
        if e["ph"] == "B":
            stack.append((time, e))
        elif stack:
            start, begin = stack.pop()
            events.append(_event(begin, start, time - start))
    return Trace(len(text), metadata, events)


def read(path):
    return parse(text_of(path))


def _event(e, start, duration):
    category = CATEGORY_OF.get(e.get("cat"), "other")
    return Event(e["name"], category, start, duration, (str(e.get("pid")), str(e.get("tid"))), e.get("args") or {})


def category_sums(trace):
    """{category: (count, sum of durations)}, only the categories that occur."""
    sums = defaultdict(lambda: [0, 0])
    for e in trace.events:
        sums[e.category][0] += 1
        sums[e.category][1] += e.duration
    return {name: tuple(v) for name, v in sums.items()}


def tracks(trace):
    return {e.track for e in trace.events}


# Intervals: sorted lists of disjoint (start, end).


def union(intervals):
    joined = []
    for start, end in sorted(i for i in intervals if i[0] < i[1]):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


def intersect(a, b):
    out, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        start, end = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if start < end:
            out.append((start, end))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return out


def subtract(a, b):
    out, j = [], 0
    for start, end in a:
        while j < len(b) and b[j][1] <= start:
            j += 1
        k = j
        while k < len(b) and b[k][0] < end:
            if start < b[k][0]:
                out.append((start, b[k][0]))
            start = max(start, b[k][1])
            k += 1
        if start < end:
            out.append((start, end))
    return out


def length(intervals):
    return sum(end - start for start, end in intervals)


def cover(events):
    return union((e.start, e.end) for e in events)


def window(trace):
    """From the first event's start to the last event's start, the profiler's own span left out."""
    starts = [e.start for e in trace.events if e.category != "trace_span"]
    return min(starts), max(starts)


def device_classes(trace):
    """What the device did, each instant in one class: compute before memory before communication."""
    kernels = [e for e in trace.of("kernel") if e.name not in DEVICE_WAITS]
    collectives = cover(e for e in kernels if COLLECTIVE_KERNEL.search(e.name))
    copies = [e for e in kernels if e.name in DEVICE_COPIES]
    memory = cover(trace.of("memcpy", "memset") + copies)
    compute = cover(e for e in kernels if e.name not in DEVICE_COPIES and not COLLECTIVE_KERNEL.search(e.name))
    return {
        "compute": compute,
        "memory": subtract(memory, compute),
        "communication": subtract(subtract(collectives, compute), memory),
    }


def exposed(trace, within):
    """Nanoseconds of each device class inside the intervals `within`."""
    return {name: length(intersect(spans, union(within))) for name, spans in device_classes(trace).items()}


def profiler_steps(trace):
    """(number, start, end) of the host's ProfilerStep#N spans, in order."""
    return sorted(
        (int(e.name.split("#")[1]), e.start, e.end)
        for e in trace.of("annotation", "operator")
        if e.name.startswith("ProfilerStep#")
    )


def fetch_time(trace, start, end):
    """Time that the training loop spent in the dataloader between two instants."""
    fetches = [e for e in trace.of("annotation", "operator") if e.name.startswith("enumerate(DataLoader)#")]
    return length(intersect(cover(fetches), [(start, end)]))
