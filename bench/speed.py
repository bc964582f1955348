#!/usr/bin/env python3
"""How fast the whole of reading and patterns is, and how cost and memory grow with events and ranks.

    speed.py [--bytes N]     default 2e9: the size of the largest trace

Figures to build/bench/speed.json. Every file is read once before it is measured, so that the disk has no part in it.
"""

import argparse
import json
import statistics
import subprocess

import setting
from grow_trace import Template
from measure import measure

RUNS = 5


def compressed(path):
    out = path.with_name(path.name + ".gz")
    if not out.exists():
        with open(out, "wb") as f:
            subprocess.run(["gzip", "-6", "-c", str(path)], stdout=f, check=True)
    return out


def analyze(paths, jobs, runs=RUNS):
    """The median run, `jobs` traces at once (None: one a core). With one job its time is the larger of wall clock and
    processor, so that helper threads are no free lunch."""
    answer = setting.WORK / "answer.json"
    command = [setting.BINARY, "analyze", *paths, *(["--jobs", jobs] if jobs else []), "--format", "json", "-o", answer]
    used = [measure(command, setting.WORK / "usage.json") for _ in range(runs + 1)][1:]
    read = json.loads(answer.read_text())["import"]
    defects = {k: v for k, v in read["defects"].items() if v}
    if defects:
        raise RuntimeError(f"{paths}: {defects}")
    seconds = [max(u.wall_s, u.cpu_s) if jobs == 1 else u.wall_s for u in used]
    return {
        "bytes": read["bytes"],
        "events": read["events"],
        "core_seconds": statistics.median(seconds),
        "fastest": min(seconds),
        "slowest": max(seconds),
        "wall_seconds": statistics.median(u.wall_s for u in used),
        "cpu_seconds": statistics.median(u.cpu_s for u in used),
        "peak_bytes": max(u.peak_bytes for u in used),
        "memory_bound": setting.memory_bound(read["events"]),
    }


def grown(template, text, size):
    repeats = max(1, -(-int(size) // len(text)))
    path = setting.WORK / f"grown-{repeats}.json"
    if not path.exists():
        template.write(path, repeats)
    return path


def ranks_folder(template, count, repeats):
    """`count` traces that differ in their rank."""
    folder = setting.WORK / f"ranks-{count}"
    folder.mkdir(parents=True, exist_ok=True)
    for rank in range(count):
        path = folder / f"rank{rank}.json"
        if not path.exists():
            template.write(path, repeats, rank, count)
    return folder


def straight(points):
    """Exponent of growth between the smallest and largest: 1 is linear, below 1 a fixed cost shows."""
    import math

    (x0, y0), (x1, y1) = points[0], points[-1]
    return math.log(y1 / y0) / math.log(x1 / x0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=float, default=2e9)
    size = parser.parse_args().bytes
    setting.WORK.mkdir(parents=True, exist_ok=True)

    name, text = setting.source_trace()
    template = Template(text)
    sizes = []
    for part in (8, 4, 2, 1):
        path = grown(template, text, size / part)
        sizes.append(analyze([path], 1))
        print(f"{path.name}: {sizes[-1]['bytes'] / 1e9 / sizes[-1]['core_seconds']:.2f} GB/s", flush=True)
    plain = sizes[-1]
    gz = analyze([compressed(grown(template, text, size))], 1)
    print(f"gz: {gz['bytes'] / 1e9 / gz['core_seconds']:.2f} GB/s", flush=True)

    # Twice the source's size a rank: a second or less for eight of them.
    ranks = []
    for count in (1, 2, 4, 8):
        folder = ranks_folder(template, count, 2)
        ranks.append({"ranks": count, **analyze([folder], 1)})
    every_core = analyze([ranks_folder(template, 8, 2)], None)

    setting.save(
        "speed",
        {
            "source": name,
            "machine": setting.machine(),
            "plain": plain,
            "gz": gz,
            "sizes": sizes,
            "ranks": ranks,
            "ranks_every_core": every_core,
            "growth_events": straight([(s["events"], s["core_seconds"]) for s in sizes]),
            "growth_memory": straight([(s["events"], s["peak_bytes"]) for s in sizes]),
            "growth_ranks": straight([(r["ranks"], r["core_seconds"]) for r in ranks]),
        },
    )


if __name__ == "__main__":
    main()
