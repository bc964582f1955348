"""Runs a command and measures it: wall and processor time, peak resident memory of it and of all its descendants."""

import json
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

# Peak memory that the kernel reports starts from the parent's at the time of the fork, so a small process is between.
LAUNCHER = """
import json, os, sys, time
start = time.monotonic()
pid = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, used = os.wait4(pid, 0)
wall = time.monotonic() - start
with open(sys.argv[1], "w") as f:
    json.dump({"wall": wall, "cpu": used.ru_utime + used.ru_stime, "peak": used.ru_maxrss * 1024,
               "status": os.waitstatus_to_exitcode(status)}, f)
"""
SAMPLE_EVERY_S = 0.05


@dataclass
class Usage:
    wall_s: float
    cpu_s: float  # of the command and its descendants
    peak_bytes: int  # largest single process
    tree_peak_bytes: int  # all processes at one instant, shared pages counted once; 0 = not sampled
    out: str


def _children(pid):
    try:
        found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid_ for child in map(int, found) for pid_ in (child, *_children(child))]


def _proportional_bytes(pid):
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass  # it ended in between
    return 0


def measure(command, result_file, sample_tree=False):
    """Runs the command; `result_file` is scratch. Raises when it fails. Sampling the tree costs it a little time."""
    result_file = Path(result_file)
    result_file.unlink(missing_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-SE", "-c", LAUNCHER, str(result_file), *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    peak, ended = 0, threading.Event()

    def sample():
        nonlocal peak
        while not ended.wait(SAMPLE_EVERY_S):
            peak = max(peak, sum(map(_proportional_bytes, _children(process.pid))))

    sampler = threading.Thread(target=sample)
    if sample_tree:
        sampler.start()
    out, err = process.communicate()
    ended.set()
    if sample_tree:
        sampler.join()
    if not result_file.exists():
        raise RuntimeError(f"{command[0]} could not be started: {err[-3000:]}")
    result = json.loads(result_file.read_text())
    if result["status"] != 0:
        raise RuntimeError(f"{command[0]} ended with {result['status']}: {err[-3000:]}")
    return Usage(result["wall"], result["cpu"], result["peak"], peak, out)
