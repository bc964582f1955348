#!/usr/bin/env python3
"""What watching and profiling cost a job, measured inside real jobs, and what the watcher itself uses.

    overhead.py [--python PYTHON] [--steps N] [--windows N] [--dry-run]

PYTHON has torch (build/venv-torch). Rewrites its part of docs/performance.md. Takes some ten minutes, and means
something only where nothing else runs.
"""

import argparse
import array
import glob
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import setting

PAGE = setting.ROOT / "docs" / "performance.md"
JOB = setting.ROOT / "bench" / "overhead_job.py"
STAND_IN = setting.ROOT / "tests" / "probe" / "stand_in"
TOGGLE_EVERY = 50
IDLE_RANKS, IDLE_S = 8, 30
START_UP_S = 1.5  # before a window: the profilers' warm-up

NARROW, WIDE = 256, 1024  # layers of the model: steps of many small operators, and of few large ones

# Stacks, Python calls more in a step, shapes, width.
CASES = (
    ("trace", 0, "on", NARROW), ("trace", 500, "on", NARROW), ("trace", 0, "off", NARROW), ("sample", 0, "off", NARROW),
    ("off", 0, "on", NARROW), ("off", 0, "off", NARROW),
    ("trace", 0, "on", WIDE), ("trace", 0, "off", WIDE), ("sample", 0, "off", WIDE), ("off", 0, "off", WIDE),
)
STEPS = {NARROW: (1000, 2000), WIDE: (400, 300)}  # of a job, and more for each window

NO_WINDOWS = "[slow]\nenabled = false\n[blocked]\nenabled = false\n[baseline]\ncount = 0\n"

# Eight processes that step ten times a second, and are nothing else.
IDLE_JOB = """
import os, subprocess, sys, time
if len(sys.argv) == 3:
    code = "import time, torch; o = torch.optim.SGD()\\nfor _ in range(%s * 10): o.step(); time.sleep(0.1)"
    ranks = [subprocess.Popen([sys.executable, "-c", code % sys.argv[2]],
                              env=dict(os.environ, RANK=str(rank), WORLD_SIZE=sys.argv[1])) for rank in range(int(sys.argv[1]))]
    sys.exit(max(rank.wait() for rank in ranks))
"""


def cpu_s(pid):
    """Processor time of the process's threads that still run."""
    total = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        total += int(Path(path).read_text().split()[0])
    return total / 1e9


def resident_bytes(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]) * 1024


class Job:
    """`eroica run` around a command."""

    def __init__(self, folder, policy, command, environment=()):
        (folder / "policy.toml").write_text(policy)
        variables = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("EROICA_", "PYTHON", "RANK", "WORLD_SIZE", "TORCH", "KINETO"))
        }
        variables.update(OMP_NUM_THREADS="1", KINETO_LOG_LEVEL="5", **dict(environment))
        self.process = subprocess.Popen(
            [setting.BINARY, "run", "--policy", folder / "policy.toml", "--", *map(str, command)],
            env=variables, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )
        self.pid = self.process.pid

    def finish(self):
        _, errors = self.process.communicate()
        if self.process.returncode != 0:
            sys.exit(f"the job ended with {self.process.returncode}:\n{errors}")
        return errors


def torch_job(python, folder, ranks, steps, calls, toggle_every, width):
    return [python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", ranks, JOB, folder, steps, calls,
            toggle_every, width]


def wait_for(path, job):
    while not path.exists():
        if job.process.poll() is not None:
            job.finish()
            sys.exit("the job ended early")
        time.sleep(0.05)


def read_steps(folder):
    """[(end, seconds, what the probe spent or None)]"""
    values = array.array("q")
    values.frombytes((folder / "steps.bin").read_bytes())
    ends, costs = values[0::2], values[1::2]
    return [(b / 1e9, (b - a) / 1e9, None if cost < 0 else cost / 1e9) for a, b, cost in zip(ends, ends[1:], costs[1:])]


def interval(values):
    """Bootstrap, 95 %, of the mean."""
    chance = random.Random(1)
    means = sorted(statistics.fmean(chance.choices(values, k=len(values))) for _ in range(2000))
    return means[50], means[1950]


def always_on(python, ranks, steps):
    with tempfile.TemporaryDirectory(prefix="eroica-bench-") as name:
        folder = Path(name)
        job = Job(folder, NO_WINDOWS, torch_job(python, folder, ranks, steps, 0, TOGGLE_EVERY, NARROW))
        wait_for(folder / "warm", job)
        began, used = time.monotonic(), cpu_s(job.pid)
        while job.process.poll() is None and not (folder / "steps.bin").exists():
            last = time.monotonic(), cpu_s(job.pid)
            time.sleep(0.5)
        job.finish()
        measured = read_steps(folder)
    blocks = [measured[start : start + TOGGLE_EVERY] for start in range(2 * TOGGLE_EVERY - 1, len(measured) - TOGGLE_EVERY, TOGGLE_EVERY)]
    # The step that ends a block switches the probe, after its own end.
    is_on = [block[0][2] is not None for block in blocks]
    seconds = [statistics.median(step[1] for step in block) for block in blocks]
    # Each block against the mean of its neighbours, so that drift does not count.
    changes = []
    for before, here, after, on in zip(seconds, seconds[1:], seconds[2:], is_on[1:]):
        ratio = here / ((before + after) / 2) - 1
        changes.append(ratio if on else -ratio)
    costs = [step[2] for block, on in zip(blocks, is_on) if on for step in block if step[2] is not None]
    step_s = statistics.median(seconds)
    return {
        "ranks": ranks,
        "steps": len(measured),
        "step_ms": step_s * 1e3,
        "change": statistics.fmean(changes),
        "interval": interval(changes),
        "probe_us": statistics.median(costs) * 1e6,
        "probe_mean_us": statistics.fmean(costs) * 1e6,
        "probe_share": statistics.fmean(costs) / statistics.fmean(step[1] for step in measured),
        "agent_core": (last[1] - used) / (last[0] - began),
    }


def idle_agent():
    with tempfile.TemporaryDirectory(prefix="eroica-bench-") as name:
        folder = Path(name)
        script = folder / "idle.py"
        script.write_text(IDLE_JOB)
        job = Job(folder, NO_WINDOWS, [sys.executable, script, IDLE_RANKS, IDLE_S + 20], {"PYTHONPATH": STAND_IN})
        time.sleep(10)  # they have all begun
        began, used = time.monotonic(), cpu_s(job.pid)
        time.sleep(IDLE_S)
        core = (cpu_s(job.pid) - used) / (time.monotonic() - began)
        resident = resident_bytes(job.pid)
        errors = job.finish()
        if f"{IDLE_RANKS} rank" not in errors:
            sys.exit(f"not all ranks were seen:\n{errors}")
    return {"ranks": IDLE_RANKS, "core": core, "resident_mib": resident / 2**20}


def windows(python, stacks, calls, shapes, width, count):
    """What each of so many windows of a healthy job cost it."""
    policy = textwrap.dedent(f"""
        [slow]  # windows are taken of a job that is watched and healthy
        level_rise_percent = 1000
        shift_percent = 100
        lost_time_percent = 100
        periodic_from_start_percent = 10000
        [blocked]
        enabled = false
        [window]
        stacks = "{stacks}"
        shapes = "{shapes}"
        length_s = 3
        cooldown_s = 0
        budget_s_per_hour = 3600
        [baseline]
        count = {count}
        after_steps = 300
        spacing_s = 20
        """)
    found = {}
    with tempfile.TemporaryDirectory(prefix="eroica-bench-") as name:
        folder = Path(name)
        job = Job(folder, policy, torch_job(python, folder, 2, STEPS[width][0] + STEPS[width][1] * count, calls, 0, width))
        wait_for(folder / "traces", job)
        traces = (folder / "traces").read_text()
        while job.process.poll() is None:
            for bundle in glob.glob(f"{traces}/window-*/bundle.json"):
                place = os.path.dirname(bundle)
                if place in found:
                    continue
                try:
                    window = json.loads(Path(bundle).read_text())["window"]
                    files = [os.stat(path) for path in glob.glob(f"{place}/rank*.json")]
                except (OSError, ValueError):
                    continue  # it was just being written, or is analysed and gone
                found[place] = (window["start_unix_ns"] / 1e9, window["duration_ms"] / 1e3,
                                max(file.st_mtime for file in files), max(file.st_size for file in files))
            time.sleep(0.02)
        job.finish()
        steps = read_steps(folder)
    rows = []
    for start, length, written, size in found.values():
        usual = [s for end, s, _ in steps if start - START_UP_S - 10 < end <= start - START_UP_S]
        inside = [s for end, s, _ in steps if start < end <= start + length]
        disturbed = [s for end, s, _ in steps if start - START_UP_S < end <= written]
        if len(usual) < 20 or not inside:
            continue
        mean = statistics.fmean(usual)
        rows.append({
            "inside": statistics.fmean(inside) / mean - 1,
            "cost_s": sum(disturbed) - mean * len(disturbed),
            "length_s": length,
            "longest": max(disturbed) / mean,
            "after_s": written - start - length,
            "size": size,
            "step_ms": mean * 1e3,
        })
    return {"stacks": stacks, "calls": calls, "shapes": shapes, "width": width, "windows": rows}


def text_of(result):
    lines = [
        f"Machine: {setting.machine()}.", "",
        "| always on | step | steps | longer with the probe (95 %) | probe's own account of a step: median, mean | share of the step | watcher |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in result["always_on"]:
        lines.append(
            f"| {row['ranks']} ranks | {row['step_ms']:.1f} ms | {row['steps']:,} | {100 * row['change']:+.2f} % ({100 * row['interval'][0]:+.2f} to "
            f"{100 * row['interval'][1]:+.2f}) | {row['probe_us']:.1f} µs, {row['probe_mean_us']:.1f} µs | {100 * row['probe_share']:.3f} % | "
            f"{100 * row['agent_core']:.2f} % of a core |")
    idle = result["idle"]
    lines += ["", f"Idle with {idle['ranks']} ranks of ten steps a second: {100 * idle['core']:.2f} % of a core, {idle['resident_mib']:.0f} MiB resident.", "",
              "| windows of 3 s, 2 ranks | steps inside | cost, of the window's length | longest step | last file after the end | largest trace |",
              "| --- | ---: | ---: | ---: | ---: | ---: |"]
    for case in result["windows"]:
        rows = case["windows"]
        middle = lambda key: statistics.median(row[key] for row in rows)
        shares = sorted(row["cost_s"] / row["length_s"] for row in rows)
        title = f"stacks = \"{case['stacks']}\", shapes {case['shapes']}" + (f", {case['calls']} more Python calls a step" if case["calls"] else "")
        lines.append(
            f"| {title}, {len(rows)} windows, {middle('step_ms'):.0f} ms a step | {100 * middle('inside'):+.1f} % | {100 * statistics.median(shares):.0f} % "
            f"({100 * shares[0]:.0f} to {100 * shares[-1]:.0f}) | {middle('longest'):.1f}× | {middle('after_s'):.1f} s | {middle('size') / 1e6:.0f} MB |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=setting.ROOT / "build" / "venv-torch" / "bin" / "python3")
    parser.add_argument("--steps", type=int, default=12_000)
    parser.add_argument("--windows", type=int, default=6)
    parser.add_argument("--dry-run", action="store_true")
    options = parser.parse_args()
    result = {"always_on": [always_on(options.python, ranks, options.steps) for ranks in (2, 4)], "idle": idle_agent()}
    result["windows"] = [windows(options.python, *case, options.windows) for case in CASES]
    setting.save("overhead", result)
    text = text_of(result)
    print(text)
    if options.dry_run:
        return
    page, found = re.subn(r"(<!-- overhead: .*?-->\n).*?(<!-- end -->)", lambda m: f"{m[1]}\n{text}\n\n{m[2]}", PAGE.read_text(), flags=re.S)
    assert found == 1
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
