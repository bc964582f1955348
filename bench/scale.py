#!/usr/bin/env python3
"""How `analyze` grows with ranks: packs of patterns of 1,000 ranks each, made by `eroica simulate`, read and diagnosed.

    scale.py [--ranks 10000,30000,100000,300000,1000000] [--repeat 1] [--simulator PATH] [--dry-run]

Each job's packs are made in build/bench (or EROICA_BENCH_DIR), some 6 GB for a million ranks, and removed after it was
measured. Prints the table; writes it to docs/performance.md between its markers and plots docs/img/scale.svg, unless
--dry-run. Runs in build/venv-bench (matplotlib).
"""

import argparse
import json
import math
import os
import re
import shutil
import subprocess
import time

import setting

PAGE = setting.ROOT / "docs" / "performance.md"
PLOT = setting.ROOT / "docs" / "img" / "scale.svg"
FAULT = "gpu.thermal_throttle"
GOALS = {100_000: (10, 4), 1_000_000: (120, 8)}  # seconds, GiB
GOAL_RATE = 400e6


def make(simulator, folder, ranks):
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([simulator, "simulate", "--seed", "5", "--fault", FAULT, "--format", "patterns", "--ranks", str(ranks),
                    "--out", str(folder)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


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


def measure(simulator, ranks, repeat):
    folder = setting.WORK / f"packs-{ranks}"
    output = setting.WORK / "scale-out.json"
    try:
        make(simulator, folder, ranks)
        size = read_through(folder)
        result = min((run(folder, output) for _ in range(repeat)), key=lambda r: r["seconds"])
        document = json.loads(output.read_text())
        truth = json.loads((folder / "truth.json").read_text())
        claims = [(claim["cause"], claim["ranks"]) for claim in document["diagnoses"]]
        return {"ranks": ranks, "bytes": size, **result, "found": claims == [(truth["cause"], truth["ranks"])],
                "claims": [(cause, len(of)) for cause, of in claims]}
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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", default="10000,30000,100000,300000,1000000")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--simulator", default=str(setting.BINARY))
    parser.add_argument("--dry-run", action="store_true")
    options = parser.parse_args()
    setting.WORK.mkdir(parents=True, exist_ok=True)
    load = os.getloadavg()[0]
    rows = []
    for ranks in sorted(map(int, options.ranks.split(","))):
        rows.append(measure(options.simulator, ranks, options.repeat))
        print(json.dumps(rows[-1]), flush=True)
    result = {"machine": setting.machine(), "load": load, "rows": rows}
    setting.save("scale", result)
    text = page_text(result)
    print(text)
    if options.dry_run:
        return
    page, found = re.subn(r"(<!-- scale: .*?-->\n).*?(<!-- end -->)", lambda m: f"{m[1]}\n{text}\n\n{m[2]}",
                          PAGE.read_text(), flags=re.S)
    assert found == 1, f"{PAGE} has no place for scale"
    PAGE.write_text(page)
    plot(rows)


if __name__ == "__main__":
    main()
