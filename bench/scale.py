#!/usr/bin/env python3
"""How `analyze` grows with ranks: packs of patterns of 1,000 ranks each, made by `eroica simulate`, read and diagnosed.

    scale.py [--ranks 10000,30000,100000,300000,1000000] [--repeat 1] [--simulator PATH] [--dry-run]
    scale.py --real TRACES... [--ranks 12000,24000,100000] [--repeat 1] [--dry-run]

Each job's packs are made in build/bench (or EROICA_BENCH_DIR), some 6 GB for a million ranks, and removed after it was
measured. With --real the packs are of the patterns of recorded jobs (folders of traces), repeated as other ranks; they
are as large as real ones. That needs `ninja repeat_patterns`. Prints the table; writes it to docs/performance.md between
its markers and plots docs/img/scale.svg (not with --real), unless --dry-run. Runs in build/venv-bench (matplotlib).
"""

import argparse
import json
import math
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import setting

PAGE = setting.ROOT / "docs" / "performance.md"
PLOT = setting.ROOT / "docs" / "img" / "scale.svg"
FAULT = "gpu.thermal_throttle"
GOALS = {100_000: (10, 4), 1_000_000: (120, 8)}  # seconds, GiB
GOAL_RATE = 400e6
REPEAT_PATTERNS = setting.BINARY.parent / "bench" / "repeat_patterns"


def make(simulator, folder, ranks):
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([simulator, "simulate", "--seed", "5", "--fault", FAULT, "--format", "patterns", "--ranks", str(ranks),
                    "--out", str(folder)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def make_real(traces, folder, ranks):
    shutil.rmtree(folder, ignore_errors=True)
    summary = setting.WORK / "scale-patterns"
    shutil.rmtree(summary, ignore_errors=True)
    try:
        subprocess.run([setting.BINARY, "summarize", str(traces), "--quiet", "-o", str(summary)], check=True)
        subprocess.run([REPEAT_PATTERNS, str(ranks), str(folder), *sorted(map(str, summary.glob("*.eroica")))], check=True)
    finally:
        shutil.rmtree(summary, ignore_errors=True)


def read_through(folder):
    """Warms the page cache as far as memory goes; returns the bytes."""
    total = 0
    for path in sorted(folder.glob("*.eroica")):
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                total += len(block)
    return total


def run(folder, output):
    start = time.monotonic()
    process = subprocess.Popen([setting.BINARY, "analyze", str(folder), "--quiet", "--format", "json", "-o", str(output)],
                               stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - start
    assert os.waitstatus_to_exitcode(status) in (0, 1), status
    return {"seconds": seconds, "cpu_seconds": usage.ru_utime + usage.ru_stime, "peak_bytes": usage.ru_maxrss << 10}


def measure(make_packs, ranks, repeat):
    folder = setting.WORK / f"packs-{ranks}"
    output = setting.WORK / "scale-out.json"
    try:
        make_packs(folder, ranks)
        size = read_through(folder)
        result = min((run(folder, output) for _ in range(repeat)), key=lambda r: r["seconds"])
        document = json.loads(output.read_text())
        claims = [(claim["cause"], claim["ranks"]) for claim in document["diagnoses"]]
        row = {"ranks": ranks, "bytes": size, **result, "claims": [(cause, len(of)) for cause, of in claims]}
        if (folder / "truth.json").exists():
            truth = json.loads((folder / "truth.json").read_text())
            row["found"] = claims == [(truth["cause"], truth["ranks"])]
        return row
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        output.unlink(missing_ok=True)


def power(rows, key):
    """Slope in log-log over the largest rows, where the start of the process does not count."""
    first, last = rows[max(0, len(rows) - 3)], rows[-1]
    return math.log(last[key] / first[key]) / math.log(last["ranks"] / first["ranks"]) if first is not last else 1


def page_text(result):
    rows = result["rows"]
    lines = ["| ranks | packs | wall clock | processor time | rate | per rank | peak memory | per rank | wanted | reached | cause and ranks found |",
             "| ---: | " + "---: | " * 7 + "--- | --- | --- |"]
    for r in rows:
        goal = GOALS.get(r["ranks"])
        reached = goal and r["seconds"] <= goal[0] and r["peak_bytes"] <= goal[1] << 30
        lines.append(f"| {r['ranks']:,} | {r['bytes'] / 1e9:.2f} GB | {r['seconds']:.1f} s | {r['cpu_seconds']:.1f} s | "
                     f"{r['bytes'] / 1e6 / r['seconds']:.0f} MB/s | {1e6 * r['seconds'] / r['ranks']:.0f} µs | "
                     f"{r['peak_bytes'] / (1 << 30):.2f} GiB | {r['peak_bytes'] / 1024 / r['ranks']:.1f} KiB | "
                     f"{f'{goal[0]} s, {goal[1]} GiB' if goal else '—'} | {('yes' if reached else '**no**') if goal else '—'} | "
                     f"{'yes' if r['found'] else '**no**'} |")
    return (f"Machine: {result['machine']}, load {result['load']:.1f} when the measurement began.\n\n" + "\n".join(lines) +
            f"\n\nTime grows with the {power(rows, 'seconds'):.2f}th power of the ranks, memory with the "
            f"{power(rows, 'peak_bytes'):.2f}th. One in 50,000 ranks, at least one, has `{FAULT}`.\n\n"
            "![Time and memory against ranks](img/scale.svg)")


def real_text(result):
    lines = ["| recorded job | ranks | packs | a rank | wall clock | processor time | rate | peak memory | ≥ 400 MB/s |",
             "| --- | " + "---: | " * 7 + "--- |"]
    for r in result["rows"]:
        rate = r["bytes"] / r["seconds"]
        lines.append(f"| {r['job']} | {r['ranks']:,} | {r['bytes'] / 1e9:.2f} GB | {r['bytes'] / 1e3 / r['ranks']:.1f} KB | "
                     f"{r['seconds']:.2f} s | {r['cpu_seconds']:.1f} s | {rate / 1e6:.0f} MB/s | "
                     f"{r['peak_bytes'] / (1 << 30):.2f} GiB | {'yes' if rate >= GOAL_RATE else '**no**'} |")
    return f"Machine: {result['machine']}, load {result['load']:.1f} when the measurement began.\n\n" + "\n".join(lines)


def plot(rows):
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update(
        {"svg.hashsalt": "eroica", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    )
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(8, 3), constrained_layout=True)
    ranks = [r["ranks"] for r in rows]
    for axis, values, label, goal in (
        (axes[0], [r["seconds"] for r in rows], "seconds on two cores", 0),
        (axes[1], [r["peak_bytes"] / (1 << 30) for r in rows], "GiB", 1),
    ):
        axis.loglog(ranks, values, "o-", color="#1f5fa8", label="measured")
        axis.loglog(ranks, [values[-1] * n / ranks[-1] for n in ranks], ":", color="#888888", label="proportional")
        goals = [n for n in GOALS if n <= ranks[-1]]
        axis.loglog(goals, [GOALS[n][goal] for n in goals], "v", color="#b03030", label="bound")
        axis.set(xlabel="ranks", ylabel=label)
    axes[0].legend(frameon=False)
    PLOT.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(PLOT, metadata={"Date": None})


def write_table(name, text):
    page, found = re.subn(rf"(<!-- {name}: .*?-->\n).*?(<!-- end -->)", lambda m: f"{m[1]}\n{text}\n\n{m[2]}",
                          PAGE.read_text(), flags=re.S)
    assert found == 1, f"{PAGE} has no place for {name}"
    PAGE.write_text(page)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--simulator", default=str(setting.BINARY))
    parser.add_argument("--real", type=Path, nargs="+", metavar="TRACES", default=[])
    parser.add_argument("--dry-run", action="store_true")
    options = parser.parse_args()
    setting.WORK.mkdir(parents=True, exist_ok=True)
    load = os.getloadavg()[0]
    counts = options.ranks or ("12000,24000,100000" if options.real else "10000,30000,100000,300000,1000000")
    jobs = {path.name: lambda folder, ranks, path=path: make_real(path, folder, ranks) for path in options.real}
    jobs = jobs or {"simulated": lambda folder, ranks: make(options.simulator, folder, ranks)}
    rows = []
    for job, make_packs in jobs.items():
        for ranks in sorted(map(int, counts.split(","))):
            rows.append({"job": job, **measure(make_packs, ranks, options.repeat)})
            print(json.dumps(rows[-1]), flush=True)
    name = "scale-real" if options.real else "scale"
    result = {"machine": setting.machine(), "load": load, "rows": rows}
    setting.save(name, result)
    text = real_text(result) if options.real else page_text(result)
    print(text)
    if options.dry_run:
        return
    write_table(name, text)
    if not options.real:
        plot(rows)


if __name__ == "__main__":
    main()
