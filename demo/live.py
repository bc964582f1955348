#!/usr/bin/env python3
"""Runs a real job under `eroica run`, lets a fault come to one of its ranks, and shows what is said of it.

./run-demo calls it; the Python that runs it trains too, so it must have PyTorch.
"""

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import faults

HERE = Path(__file__).resolve().parent
RANKS = 4
PATIENCE_S = 300

FAULTS = {
    "quota": "a CPU quota of a control group; where none can be made, signals that stop and continue it",
    "neighbour": "busy processes on the CPU that it is left with",
    "disk": "a control group that limits its reads",
    "transform": "slow Python in its data set",
    "gc": "garbage collection of a large heap every few steps",
    "hang": "its own code waits for ever",
    "stop": "SIGSTOP",
    "kill": "SIGKILL",
    "none": "nothing: a healthy job, watched for a minute",
}


def say(text):
    print(f"demo: {text}", flush=True)


class Job:
    """The job under eroica, and the folder that both of them use."""

    def __init__(self, eroica):
        self.folder = tempfile.mkdtemp(prefix="eroica-demo-", dir=HERE.parent / "build")
        self.json = f"{self.folder}/diagnoses.jsonl"
        os.mkdir(f"{self.folder}/on")
        with open(f"{self.folder}/data", "wb") as file:
            for _ in range(8):
                file.write(os.urandom(1 << 20))
            os.fsync(file.fileno())
        environment = dict(os.environ, OMP_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE="1")
        command = [eroica, "run", "--job", "demo", "--json", self.json, "--", sys.executable, "-m",
                   "torch.distributed.run", "--standalone", "--nproc-per-node", str(RANKS), str(HERE / "job.py"),
                   self.folder]
        say("build/release/eroica run -- torchrun --nproc-per-node 4 demo/job.py")
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)
        self.lines = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        """What eroica says is shown; what the job's own processes say is kept for when something fails."""
        for line in self.process.stderr:
            self.lines.append(line)
            if line.startswith("eroica: "):
                print(f"  {line}", end="", flush=True)

    def until(self, condition, what, patience_s=PATIENCE_S):
        deadline = time.monotonic() + patience_s
        while not condition():
            if self.process.poll() is not None:
                if condition():
                    return
                sys.stderr.writelines(self.lines[-30:])
                raise SystemExit(f"demo: the job ended before {what}")
            if time.monotonic() > deadline:
                raise SystemExit(f"demo: waited in vain for {what}")
            time.sleep(0.1)

    def said(self, text):
        return any(text in line for line in self.lines)

    def diagnoses(self, since_ns=0, blocked=False):
        """Documents that name a cause of what was noticed since then."""
        if not os.path.exists(self.json):
            return []
        with open(self.json) as file:
            documents = [json.loads(line) for line in file.read().splitlines()]
        return [document for document in documents
                if document["diagnoses"] and document["timing"]["detected_unix_ns"] >= since_ns
                and (document["diagnoses"][0]["cause"].startswith("blocked.") or not blocked)]

    def close(self):
        # Gently first, so that eroica clears its own things away.
        with open(f"{self.folder}/stop", "w"):
            pass
        for name in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(OSError):
                if self.process.poll() is None:
                    os.killpg(self.process.pid, name)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=20)
                break
        with contextlib.suppress(OSError):  # the launcher's session outlives it where a rank hung
            os.killpg(self.process.pid, signal.SIGKILL)
        self.reader.join(timeout=5)
        shutil.rmtree(self.folder, ignore_errors=True)


def fault_of(name, job, rank):
    pid = faults.find_rank(job.process.pid, rank)
    if pid is None:
        raise SystemExit(f"demo: rank {rank} is not there")
    return {
        "quota": lambda: faults.quota(pid),
        "neighbour": lambda: faults.neighbour(pid),
        "disk": lambda: faults.slow_disk(pid, f"{job.folder}/data"),
        "stop": lambda: faults.stopped(pid),
        "kill": lambda: faults.killed(pid),
    }.get(name, lambda: faults.switched_on(job.folder, f"{name}-{rank}"))(), pid


def bring(stack, name, job, rank):
    fault, pid = fault_of(name, job, rank)
    try:
        what = stack.enter_context(fault)
    except faults.Unavailable as why:
        if name not in ("quota", "disk"):
            raise SystemExit(f"demo: {why}") from why
        say(f"{why}; instead, signals stop and continue the process")
        what = stack.enter_context(faults.stuttering(pid))
    say(f"now rank {rank} (process {pid}) gets a fault: {what}")


def sum_up(document, rank, seconds):
    first = document["diagnoses"][0]
    function = first.get("function")
    print()
    say(f"the fault was in rank {rank}; {seconds:.0f} s later eroica says:")
    say(f"  ranks     {', '.join(map(str, first['ranks']))}")
    say(f"  cause     {first['cause']}: {first['title']} (confidence {first['confidence']:.2f})")
    if function:
        where = ":".join(str(function[key]) for key in ("file", "line") if function.get(key))
        where = f" at {where}" if where else ""
        say(f"  function  {function['name']}{where}")
    if first.get("lost_ms_per_step"):
        say(f"  lost      {first['lost_ms_per_step']:.0f} ms of each step on all ranks")
    return rank in first["ranks"]


def show(options, stack):
    job = Job(options.eroica)
    stack.callback(job.close)
    job.until(lambda: job.said("watching 4 ranks"), "its ranks were there")
    say("healthy so far; eroica learns how long steps take, and takes one window to compare with")
    if options.fault == "none":
        job.until(lambda: job.said("the healthy window is taken"), "its healthy window")
        time.sleep(45)
        alarms = [line for line in job.lines if "slow since" in line or "blocked" in line]
        say("no alarm in a minute" if not alarms else "an alarm, though nothing was done to it")
        return 0 if not alarms else 1
    job.until(lambda: job.said("healthy window is taken") or job.diagnoses(), "its healthy window")
    blocked = options.fault in ("hang", "stop", "kill")
    with contextlib.ExitStack() as fault:
        bring(fault, options.fault, job, options.rank)
        began_ns = time.time_ns()
        job.until(lambda: job.diagnoses(began_ns, blocked), "a diagnosis")
        document = job.diagnoses(began_ns, blocked)[0]
        found = sum_up(document, options.rank, (time.time_ns() - began_ns) / 1e9)
    return 0 if found else 1


def main():
    parser = argparse.ArgumentParser(
        prog="run-demo", description="Runs a real 4-process PyTorch job under `eroica run`, slows one rank with a real "
        "fault, and shows the diagnosis live.", formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="faults:\n" + "\n".join(f"  {name:10} {text}" for name, text in FAULTS.items()))
    parser.add_argument("--fault", choices=list(FAULTS), default="quota", help="default: quota")
    parser.add_argument("--rank", type=int, choices=range(RANKS), default=2, help="which rank gets it; default: 2")
    parser.add_argument("--eroica", default=str(HERE.parent / "build/release/eroica"), help=argparse.SUPPRESS)
    parser.add_argument("--check", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.check:
        return 0
    for name in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, lambda *_: sys.exit(130))
    with contextlib.ExitStack() as stack:
        try:
            return show(options, stack)
        except KeyboardInterrupt:
            print()
            say("stopped; clearing away")
            return 130


if __name__ == "__main__":
    sys.exit(main())
