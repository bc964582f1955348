#!/usr/bin/env python3
"""What `eroica agent` costs a host whose jobs are healthy.

    agent_idle.py [--ranks 8] [--step-ms 100] [--seconds 60] [--eroica build/release/eroica]

The ranks are processes with a torch that only steps, under the real probe. Prints CPU time of all the agent's processes
as a share of one core, and their memory (PSS, so that what they share counts once).
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEADLINE_S = 120

RANK = """
import sys, time
import torch
optimizer = torch.optim.SGD()
step_s = float(sys.argv[1])
at = time.monotonic()
while True:
    optimizer.step()
    at += step_s
    time.sleep(max(0, at - time.monotonic()))
"""


def family(pid):
    """The process and its descendants."""
    found = [pid]
    for parent in found:
        out = subprocess.run(["ps", "-o", "pid=", "--ppid", str(parent)], capture_output=True, text=True)
        found += [int(word) for word in out.stdout.split()]
    return found


def cpu_s(pids):
    ticks = 0
    for pid in pids:
        fields = Path("/proc/%d/stat" % pid).read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def pss_mib(pids):
    total = 0
    for pid in pids:
        for line in Path("/proc/%d/smaps_rollup" % pid).read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1])
    return total / 1024


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--ranks", type=int, default=8)
    options.add_argument("--step-ms", type=float, default=100)
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--eroica", default=str(ROOT / "build/release/eroica"))
    options = options.parse_args()
    jobs = tempfile.mkdtemp(prefix="er-", dir="/tmp")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("EROICA_", "PYTHON"))}
    environment["EROICA_JOBS_DIR"] = jobs

    def eroica(*arguments):
        return subprocess.run([options.eroica, *arguments], env=environment, capture_output=True, text=True, check=True)

    running = []
    try:
        agent = subprocess.Popen([options.eroica, "agent", "--watch-only"], env=environment, stderr=subprocess.DEVNULL)
        running.append(agent)
        variables = json.loads(eroica("env", "--job", "idle", "--format", "json").stdout)
        stand_in = str(ROOT / "tests/probe/stand_in")
        for rank in range(options.ranks):
            own = dict(environment, **variables, RANK=str(rank), WORLD_SIZE=str(options.ranks), LOCAL_RANK=str(rank))
            own["PYTHONPATH"] = variables["PYTHONPATH"] + os.pathsep + stand_in
            running.append(subprocess.Popen([sys.executable, "-c", RANK, str(options.step_ms / 1e3)], env=own))

        def now():
            (job,) = json.loads(eroica("status", "--format", "json").stdout)["jobs"]
            return job

        deadline = time.monotonic() + DEADLINE_S
        while now().get("ranks") != options.ranks or now()["step"] < 20:
            assert time.monotonic() < deadline, "the ranks are not seen"
            time.sleep(0.5)
        pids = family(agent.pid)
        before, began, first = cpu_s(pids), time.monotonic(), now()
        time.sleep(options.seconds)
        took, cpu, last = time.monotonic() - began, cpu_s(pids) - before, now()
        print("%d ranks, %.0f ms a step: %.2f %% of a core, %.1f MiB; %.1f steps/s seen, %d records lost"
              % (options.ranks, options.step_ms, 100 * cpu / took, pss_mib(pids),
                 (last["step"] - first["step"]) / took, last["dropped"]))
    finally:
        for process in reversed(running):
            process.send_signal(signal.SIGTERM if process is running[0] else signal.SIGKILL)
        for process in running:
            process.wait()
        shutil.rmtree(jobs, ignore_errors=True)


if __name__ == "__main__":
    main()
