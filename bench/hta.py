#!/usr/bin/env python3
"""The product against HolisticTraceAnalysis on the same eight ranks: time, memory, and whether the numbers agree.

Figures to build/bench/hta.json. Both tools use every core. Times are those of whole processes; HTA's without its
start and imports is kept beside. Memory is that of all processes together, shared pages counted once.
"""

import json
import statistics

import setting
from grow_trace import Template
from measure import measure
from speed import compressed

RANKS = 8
RUNS = 5
HTA_RUNS = 2
PYTHON = setting.ROOT / "build" / "venv-hta" / "bin" / "python3"


def copies(template):
    folder = setting.WORK / "hta-plain"
    folder.mkdir(parents=True, exist_ok=True)
    plain = []
    for rank in range(RANKS):
        path = folder / f"rank{rank}.json"
        if not path.exists():
            template.write(path, 1, rank, RANKS)
        plain.append(path)
    packed = setting.WORK / "hta-gz"
    packed.mkdir(exist_ok=True)
    for path in plain:
        target = packed / (path.name + ".gz")
        if not target.exists():
            compressed(path).rename(target)
    return plain, sorted(packed.iterdir())


def run_hta(paths):
    answer = setting.WORK / "hta-answer.json"
    command = [PYTHON, "-I", setting.ROOT / "bench" / "hta_breakdown.py", answer, *paths]
    runs = []
    for _ in range(HTA_RUNS):
        used = measure(command, setting.WORK / "usage.json")
        runs.append((json.loads(answer.read_text())["seconds"], used))
    watched = measure(command, setting.WORK / "usage.json", sample_tree=True)
    return {
        "seconds": statistics.median(s for s, _ in runs),
        "process_seconds": statistics.median(u.wall_s for _, u in runs),
        "cpu_seconds": statistics.median(u.cpu_s for _, u in runs),
        "largest_process_bytes": max(u.peak_bytes for _, u in runs),
        "peak_bytes": watched.tree_peak_bytes,
    }, json.loads(answer.read_text())


def run_product(paths):
    answer = setting.WORK / "answer.json"
    command = [setting.BINARY, "analyze", paths[0].parent, "--format", "json", "-o", answer]
    runs = [measure(command, setting.WORK / "usage.json") for _ in range(RUNS + 1)][1:]
    return {
        "seconds": statistics.median(u.wall_s for u in runs),
        "cpu_seconds": statistics.median(u.cpu_s for u in runs),
        "peak_bytes": max(u.peak_bytes for u in runs),
    }, json.loads(answer.read_text())


def agreement(theirs, ours):
    """Rows (what, theirs in ms, ours in ms) of rank 0, and why they may differ."""
    temporal = next(r for r in theirs["temporal"] if r["rank"] == 0)
    by_type = {}
    for k in theirs["kernels"]:
        if k["rank"] == 0:
            by_type[k["kernel_type"]] = by_type.get(k["kernel_type"], 0) + k["sum (us)"] / 1e3
    steps = next(r for r in ours["profile"]["steps"]["ranks"] if r["rank"] == 0)["steps"]
    mean = next(r for r in ours["profile"]["time"]["ranks"] if r["rank"] == 0)["ms_per_step"]
    counted = sum(1 for s in steps if s["complete"] and not s["irregular"])
    ours_total = {c: v / RANKS / 1e6 for c, v in ((c, s["total_ns"]) for c, s in ours["import"]["categories"].items())}
    return {
        "sums": [
            [
                "kernels, sum of durations",
                by_type.get("COMPUTATION", 0) + by_type.get("COMMUNICATION", 0),
                ours_total["kernel"],
            ],
            [
                "copies and sets, sum of durations",
                by_type.get("MEMORY", 0),
                ours_total["memcpy"] + ours_total["memset"],
            ],
        ],
        "unions": [
            ["device computes", temporal["compute_time(us)"] / 1e3, mean["compute"] * counted],
            [
                "device works, but does not compute",
                temporal["non_compute_time(us)"] / 1e3,
                (mean["memory"] + mean["communication"]) * counted,
            ],
        ],
        "steps": counted,
    }


def main():
    name, text = setting.source_trace()
    plain, packed = copies(Template(text))
    results = {"source": name, "machine": setting.machine(), "ranks": RANKS}
    for form, paths in (("gz", packed), ("plain", plain)):
        product, ours = run_product(paths)
        hta, theirs = run_hta(paths)
        results[form] = {
            "product": product,
            "hta": hta,
            "faster": hta["process_seconds"] / product["seconds"],
            "faster_without_start": hta["seconds"] / product["seconds"],
            "less_cpu": hta["cpu_seconds"] / product["cpu_seconds"],
            "memory": product["peak_bytes"] / hta["peak_bytes"],
        }
        print(
            f"{form}: {results[form]['faster']:.0f} times faster, {results[form]['memory']:.3f} of the memory",
            flush=True,
        )
        results["agreement"] = agreement(theirs, ours)
    for what, a, b in results["agreement"]["sums"]:
        if abs(a - b) > 1e-6 * max(a, b):
            raise RuntimeError(f"{what}: {a} ms against {b} ms")
    setting.save("hta", results)


if __name__ == "__main__":
    main()
