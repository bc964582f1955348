"""Whose nice value is changed at a window, and whose is not."""

import time

import pytest
from probe_support import EDGE, HELLO

RANK = {"RANK": "1", "WORLD_SIZE": "4"}

# Threads that Python does not know of, as Kineto's is, wait in pause().
PROGRAM = """
import ctypes, os, sys, threading, torch
library = ctypes.CDLL(None)
def tasks(): return {int(task) for task in os.listdir("/proc/self/task")}
def native(name=None):
    before, thread = tasks(), ctypes.c_ulong()
    assert library.pthread_create(ctypes.byref(thread), None, library.pause, None) == 0
    while tasks() == before: pass
    if name: library.pthread_setname_np(thread, name)
    (task,) = tasks() - before
    return task
def nice(*found): return [os.getpriority(os.PRIO_PROCESS, task) - usual for task in found]
usual = os.getpriority(os.PRIO_PROCESS, 0)
old = native()
print("begun", flush=True)
sys.stdin.readline()
{after_the_command}
print("made", flush=True)
sys.stdin.readline()
print(nice(os.getpid(), old, {found}), flush=True)
"""

ONE = """
kineto, named = native(), native(b"job's")
python = threading.Thread(target=threading.Event().wait, daemon=True)
python.start()
"""
TWO = "first, second = native(), native()"


@pytest.mark.parametrize(
    "threads, found, expected",
    [(ONE, "kineto, named, python.native_id", "[0, 0, 5, 0, 0]"), (TWO, "first, second", "[0, 0, 0, 0]")],
)
def test_only_the_thread_that_came_with_the_window_gives_way(start_job, agent, folder, threads, found, expected):
    job = start_job(PROGRAM.replace("{after_the_command}", threads).replace("{found}", found), folder, RANK)
    probe = agent.expect(HELLO).sender
    assert job.line() == "begun"
    past = time.time_ns()
    agent.command(probe, do="window", window="first", start_unix_ns=2**62, end_unix_ns=2**62)
    agent.ask(probe, HELLO, do="hello")  # the command before it has been done
    job.go_on()
    assert job.line() == "made"
    for window in ("second", "third"):
        agent.command(probe, do="window", window=window, start_unix_ns=past, end_unix_ns=past)
        agent.expect(EDGE, lambda edge: (edge["window"], edge["edge"]) == (window, "end"))
    job.go_on()
    assert job.line() == expected
