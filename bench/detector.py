#!/usr/bin/env python3
"""How soon the detector tells of slow steps, and how often it is wrong: recorded series, and simulated ones with many seeds.

    detector.py [--seeds 40] [--fault-seeds 25] [--dry-run]

Each series is replayed by `eroica policy replay` with the default policy and with method "eroica". Prints the tables;
writes them to docs/detector.md between their markers, unless --dry-run. Needs the release build; recorded series where
EROICA_SHARED (else ../shared) has them. Takes some three minutes.
"""

import argparse
import json
import math
import os
import random
import re
import statistics
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import setting

PAGE = setting.ROOT / "docs" / "detector.md"
HEALTHY_STEPS = 2500
ONSET = 500
AFTER = 2500
POLICIES = ("default", "eroica")


@dataclass
class Family:
    """Healthy jobs that are alike: how long steps take and how they vary."""

    about: str
    seconds: float
    sigma: float
    correlation: float = 0.2  # of neighbouring steps
    tails: float = 0.002  # share of steps with a long tail, and its mean length in steps
    tail: float = 0.5
    checkpoint: tuple = (0, 0)  # every so many steps, so many steps long
    collection: tuple = (0, 0)
    hiccups: float = 0.0  # a step that begins one of up to 1.5 s
    evaluation: tuple = (0, 0, 0)  # every so many steps, so many steps of so many times the usual fetches


FAMILIES = {
    "quiet": Family("GPU job, 1 s steps, 0.3 % noise", 1.0, 0.003),
    "checkpoints": Family("1 s steps, 1 % noise, a checkpoint of 20 s every 500 steps", 1.0, 0.01, checkpoint=(500, 20)),
    "short": Family("75 ms steps, 2 % noise, 2.5 % of them long, hiccups", 0.075, 0.02, tails=0.025, tail=0.4, hiccups=0.0003),
    "collections": Family("75 ms steps, garbage collected every 50 steps", 0.075, 0.02, tails=0.02, tail=0.4, collection=(50, 1)),
    "noisy": Family("100 ms steps, 10 % noise, long tails", 0.1, 0.10, 0.1, 0.02, 1.0, checkpoint=(100, 5)),
    "very noisy": Family("100 ms steps, 30 % noise, long tails", 0.1, 0.30, 0.0, 0.02, 2.0),
    "correlated": Family("300 ms steps, 4 % noise that lasts", 0.3, 0.04, 0.7, 0.01, 0.5),
    "heavy tails": Family("200 ms steps, one in 20 is 1.5 steps longer", 0.2, 0.03, 0.0, 0.05, 1.5, checkpoint=(200, 8)),
    "rare long": Family("100 ms steps, one in 250 is 5 steps longer", 0.1, 0.02, 0.0, 0.004, 5.0),
    "long": Family("30 s steps, 2 % noise, every 20th twice as long", 30.0, 0.02, checkpoint=(20, 1)),
    "evaluations": Family("2 s steps, evaluated for 30 steps every 300, collections", 2.0, 0.015, 0.3, collection=(20, 0.5),
                          evaluation=(300, 30, 20)),
}  # fmt: skip

FAULTS = {
    "+3 %": lambda k, step, usual, draw: step * 1.03,
    "+5 %": lambda k, step, usual, draw: step * 1.05,
    "+10 %": lambda k, step, usual, draw: step * 1.10,
    "+30 %": lambda k, step, usual, draw: step * 1.30,
    "+100 %": lambda k, step, usual, draw: step * 2.0,
    "10 % lost to random stalls": lambda k, step, usual, draw: step + (usual * draw.lognormvariate(0.65, 0.3) if draw.random() < 0.05 else 0),
    "50 % lost to random stalls": lambda k, step, usual, draw: step + (usual * draw.lognormvariate(0.65, 0.3) if draw.random() < 0.25 else 0),
    "15 % lost to every 10th step": lambda k, step, usual, draw: step + (1.5 * usual if k % 10 == 5 else 0),
    "drift to +10 % in 2,000 steps": lambda k, step, usual, draw: step * (1 + 0.1 * min(1.0, k / 2000)),
}


def series(family, seed, count, fault=None, onset=None):
    """(step times, fetches) of one job."""
    draw = random.Random(f"{family.about}/{seed}")
    seconds, fetches = [], []
    noise = hiccup = slower = 0.0
    for k in range(count):
        noise = family.correlation * noise + math.sqrt(1 - family.correlation**2) * draw.gauss(0, 1)
        step = family.seconds * math.exp(family.sigma * noise) * (1 + 3 * math.exp(-k / 2))
        if draw.random() < family.tails:
            step *= 1 + draw.expovariate(1 / family.tail)
        for every, length in (family.checkpoint, family.collection):
            if every and k % every == every - 1:
                step += family.seconds * length * draw.lognormvariate(0, 0.1)
        if hiccup > 0:
            step *= 1 + slower
            hiccup -= step
        elif draw.random() < family.hiccups:
            hiccup, slower = draw.uniform(0.1, 1.5), draw.uniform(0.04, 0.14)
        fetched = 1
        every, length, times = family.evaluation
        if every and k % every >= every - length:
            step, fetched = step * 0.3 * times, times
        if fault and k >= onset:
            step = fault(k - onset, step, family.seconds, draw)
        seconds.append(round(step, 6))
        fetches.append(fetched)
    return seconds, fetches


def write(folder, name, seconds, fetches, onset):
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"job": name, "onset_step": onset, "step_seconds": [seconds], "fetches": [fetches]}))
    return path


def replay(paths, policy):
    jobs = []
    for i in range(0, len(paths), 200):
        done = subprocess.run([setting.BINARY, "policy", "replay", "--policy", policy, "--format", "json", *paths[i:i + 200]],
                              check=True, capture_output=True)
        jobs += json.loads(done.stdout)["policies"][0]["jobs"]
    return jobs


def alarms(job, event):
    """The steps at which it was called slow (or blocked)."""
    return [one["step"] for one in job["events"] if one["event"] == event]


def rate(jobs, event="slow"):
    """Alarms of healthy jobs in 100,000 steps."""
    return 1e5 * sum(len(alarms(job, event)) for job in jobs) / sum(job["steps"] for job in jobs)


def delay(job):
    """Steps from the onset to the alarm; None: it was not told, −1: it was called slow before."""
    slow = alarms(job, "slow")
    return None if not slow else max(-1, slow[0] - job["onset_step"])


def delays_text(jobs):
    """Median and 9th decile of the delays in steps, and how many were told."""
    # A job that was called slow before its fault began does not tell of the detector's delay.
    judged = [steps for steps in map(delay, jobs) if steps != -1]
    if not judged:
        return "—"
    delays = sorted(steps for steps in judged if steps is not None)
    if len(delays) * 2 <= len(judged):
        return f"{len(delays)} of {len(judged)} told"
    text = f"{statistics.median(delays):.0f} ({delays[int(0.9 * (len(delays) - 1))]})"
    return text if len(delays) == len(judged) else f"{text}, {len(delays)} of {len(judged)} told"


def recorded_text():
    found = sorted((setting.SHARED / "data" / "steps").glob("*.json"))
    if not found:
        return None
    both = {policy: replay(found, policy) for policy in POLICIES}

    def cell(job):
        wrong = job["false_alarms"]
        told = f"{job['delay_steps']} ({job['delay_s']:.1f} s)" if "delay_steps" in job else ("—" if job["onset_step"] is None else "not told")
        return told + (f", {wrong} false" if wrong else "")

    lines = ["| series | fault from step | default: delay in steps | method eroica: delay in steps |", "| --- | ---: | --- | --- |"]
    for ours, theirs in zip(both["default"], both["eroica"], strict=True):
        onset = "healthy" if ours["onset_step"] is None else ours["onset_step"]
        lines.append(f"| {Path(ours['file']).stem} | {onset} | {cell(ours)} | {cell(theirs)} |")
    healthy = [job["onset_step"] or job["steps"] for job in both["default"]]
    wrong = {policy: sum(job["false_alarms"] for job in both[policy]) for policy in POLICIES}
    return "\n".join(lines) + (f"\n\nFalse alarms in {sum(healthy):,} healthy steps: {wrong['default']} by the default policy, "
                               f"{wrong['eroica']} by method `eroica`.")


def simulated(folder, seeds, fault_seeds):
    result = {}
    for name, family in FAMILIES.items():
        slug = name.replace(" ", "-")
        healthy = [write(folder, f"{slug}-{seed}", *series(family, seed, HEALTHY_STEPS), None) for seed in range(seeds)]
        row = {"healthy": {policy: replay(healthy, policy) for policy in POLICIES}, "faults": {}}
        for fault, change in FAULTS.items():
            paths = [write(folder, f"{slug}-fault-{seed}", *series(family, 1000 + seed, ONSET + AFTER, change, ONSET), ONSET)
                     for seed in range(fault_seeds)]
            row["faults"][fault] = {policy: replay(paths, policy) for policy in POLICIES}
        result[name] = row
        print(name, {policy: round(rate(row["healthy"][policy]), 2) for policy in POLICIES}, flush=True)
    return result


def simulated_text(result, seeds, fault_seeds):
    lines = ["| healthy jobs | default: called slow | method eroica | default: called blocked |", "| --- | ---: | ---: | ---: |"]
    all_jobs = {policy: [] for policy in POLICIES}
    for name, row in result.items():
        ours, theirs = (row["healthy"][policy] for policy in POLICIES)
        lines.append(f"| {name}: {FAMILIES[name].about} | {rate(ours):.2f} | {rate(theirs):.1f} | {rate(ours, 'blocked'):.1f} |")
        for policy in POLICIES:
            all_jobs[policy] += row["healthy"][policy]
    ours, theirs = (all_jobs[policy] for policy in POLICIES)
    lines.append(f"| **all** | **{rate(ours):.2f}** | **{rate(theirs):.1f}** | **{rate(ours, 'blocked'):.1f}** |")
    parts = [f"False alarms in 100,000 healthy steps, from {seeds} jobs of {HEALTHY_STEPS:,} steps of each sort ({len(ours) * HEALTHY_STEPS:,} "
             "steps). The first pause of more than 10 s and five mean steps is called blocked, and learned by it.\n\n" + "\n".join(lines)]
    for policy, title in (("default", "Default policy"), ("eroica", "Method `eroica`")):
        lines = [f"| fault | {' | '.join(result)} |", "| --- |" + " --- |" * len(result)]
        for fault in FAULTS:
            cells = [delays_text(row["faults"][fault][policy]) for row in result.values()]
            lines.append(f"| {fault} | {' | '.join(cells)} |")
        parts.append(f"{title}: steps from the fault's onset to the alarm, median (9th decile), of {fault_seeds} jobs each, those left "
                     "out that were called slow before.\n\n" + "\n".join(lines))
    return "\n\n".join(parts)


def refresh(page, marker, text):
    new, found = re.subn(rf"(<!-- {marker}: .*?-->\n).*?(<!-- end -->)", lambda m: f"{m[1]}\n{text}\n\n{m[2]}", page, flags=re.S)
    assert found == 1, marker
    return new


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--fault-seeds", type=int, default=25)
    parser.add_argument("--dry-run", action="store_true")
    options = parser.parse_args()
    recorded = recorded_text()
    print(recorded or "no recorded series at hand")
    with tempfile.TemporaryDirectory(prefix="eroica-detector-") as folder:
        result = simulated(Path(folder), options.seeds, options.fault_seeds)
    text = simulated_text(result, options.seeds, options.fault_seeds)
    print(text)
    if options.dry_run:
        return
    page = PAGE.read_text()
    if recorded:
        page = refresh(page, "recorded", recorded)
    page = refresh(page, "simulated", text)
    shown = subprocess.run([setting.BINARY, "policy", "show"], check=True, capture_output=True, text=True).stdout
    page = refresh(page, "policy", f"```toml\n{shown}```")
    PAGE.write_text(page)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    main()
