#!/usr/bin/env python3
"""What the probe costs the training thread a step, by its own accounting and from outside.

usage: bench_step_cost.py [--steps 20000] [--gap-us 200] [--torch]

Drives the hooks as torch does, one fetch and one optimizer step a training step: with a ring, which an
agent reads ten times a second, and with datagrams, as where there can be no ring. With --torch, a small
model on one CPU thread is trained as well, the probe switched on and off every 50 steps. Last line: JSON.
"""

import argparse
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
os.environ.pop("EROICA_SOCKET_DIR", None)

from eroica_probe.channel import Channel  # noqa: E402
from eroica_probe.faults import Faults  # noqa: E402
from eroica_probe.step_ring import SLOTS, WORDS  # noqa: E402
from eroica_probe.steps import StepMarks  # noqa: E402

AGENT = """
import array, os, select, socket, sys
os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
os.nice(10)
agent = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
agent.bind(sys.argv[1])
print("bound", flush=True)
ring = None
while True:
    if select.select([agent], [], [], None if ring is None else 0.1)[0]:
        attached = agent.recvmsg(65536, 64)[1]
        if attached:
            ring = array.array("i", attached[0][2])[0]
    if ring is not None:
        os.pread(ring, 65536, 0)
"""


class Optimizer:
    pass


class Agent:
    """Another process, as the real one is."""

    def __init__(self, folder, kind):
        self._path = os.path.join(folder, "probe")
        self._process = self._socket = None
        if kind == "reads":
            self._process = subprocess.Popen(
                [sys.executable, "-c", AGENT, self._path], stdout=subprocess.PIPE
            )
            self._process.stdout.readline()
        elif kind == "full":
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self._socket.bind(self._path)

    def close(self):
        if self._process:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process.stdout.close()
        if self._socket:
            self._socket.close()
        if os.path.exists(self._path):
            os.unlink(self._path)


def quantiles(nanoseconds):
    ordered = sorted(nanoseconds)
    return {
        "median_us": round(statistics.median(ordered) / 1000, 2),
        "mean_us": round(statistics.fmean(ordered) / 1000, 2),
        "p99_us": round(ordered[int(len(ordered) * 0.99)] / 1000, 2),
        "max_us": round(ordered[-1] / 1000, 2),
    }


def live_marks(folder, ring):
    marks = StepMarks(Faults(lambda: None), lambda: None, lambda: None, lambda changed: None)
    channel = Channel(folder)
    if ring:
        channel.open_ring()
        channel.send(b"", with_ring=True)
    marks.go_live(channel, 0, lambda: False)
    return marks, channel


def own_cost_ns(marks):
    """As the record of the last step tells it: of the step before."""
    return marks._words[marks.step % SLOTS * WORDS + 4] & 0xFFFFFFFF


def drive(ring, kind, steps, gap_us, busy_thread):
    with tempfile.TemporaryDirectory(prefix="eb-") as folder:
        agent = Agent(folder, kind)
        marks, channel = live_marks(folder, ring)
        optimizer, around, costs = Optimizer(), [], []
        stop = threading.Event()
        thread = threading.Thread(target=_spin, args=(stop,))
        if busy_thread:
            thread.start()
        clock = time.monotonic_ns
        for _ in range(steps):
            rest_until = clock() + gap_us * 1000
            while clock() < rest_until:
                pass
            before = clock()
            marks.fetch_ends(marks.fetch_begins(), 1)
            marks.optimizer_stepped(optimizer, (), {})
            around.append(clock() - before)
            costs.append(own_cost_ns(marks))
        stop.set()
        if busy_thread:
            thread.join()
        agent.close()
        channel.close()
        return {
            "from_outside": quantiles(around),
            "own_accounting": quantiles(costs[1:]),
            "dropped": channel.dropped,
        }


def _spin(stop):
    total = 0
    while not stop.is_set():
        total += 1


def train(steps, ring):
    """A/B inside one run: mean and median step with the probe on and off, 95 % interval of the ratio."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(128, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 128)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = torch.utils.data.TensorDataset(torch.randn(64 * 256, 128))
    loader = torch.utils.data.DataLoader(data, batch_size=256)

    def batches():
        while True:
            for (batch,) in loader:
                yield batch

    with tempfile.TemporaryDirectory(prefix="eb-") as folder:
        agent = Agent(folder, "reads")
        marks, channel = live_marks(folder, ring)
        costs = []
        from eroica_probe import torch_hooks

        class Holder:
            faults = None

        Holder.marks = marks
        torch_hooks._hook_fetches(Holder, torch.utils.data.dataloader)
        optimizers = sys.modules["torch.optim.optimizer"]  # torch.optim hides it
        hook = optimizers.register_optimizer_step_post_hook(marks.optimizer_stepped)
        blocks = {True: [], False: []}
        source = batches()
        for number in range(steps // 50):
            on = number % 2 == 0
            marks.off = not on
            began = time.monotonic_ns()
            for _ in range(50):
                optimizer.zero_grad()
                model(next(source)).square().mean().backward()
                optimizer.step()
                if on:
                    costs.append(own_cost_ns(marks))
            blocks[on].append((time.monotonic_ns() - began) / 50)
        hook.remove()
        agent.close()
        channel.close()
    pairs = [on / off - 1 for on, off in zip(blocks[True], blocks[False])][1:]
    pairs.sort()
    chance = random.Random(1)
    means = sorted(
        statistics.median(chance.choices(pairs, k=len(pairs))) for _ in range(1000)
    )
    return {
        "step_us": round(statistics.median(blocks[False]) / 1000, 1),
        "own_accounting": quantiles(costs[1:]),
        "median_change": round(statistics.median(pairs), 5),
        "change_95": [round(means[25], 5), round(means[975], 5)],
    }


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--steps", type=int, default=20000)
    arguments.add_argument("--gap-us", type=int, default=200)
    arguments.add_argument("--torch", action="store_true")
    options = arguments.parse_args()
    result = {}
    cases = [
        ("ring", True, "reads", False),
        ("ring, agent absent", True, "absent", False),
        ("ring, busy thread", True, "reads", True),
        ("datagrams", False, "reads", False),
        ("datagrams, queue full", False, "full", False),
    ]
    print("%-28s %12s %12s %12s %12s" % ("µs a step", "own median", "own p99", "outside med", "p99"))
    for title, ring, kind, busy in cases:
        steps = options.steps if not busy else options.steps // 10
        found = drive(ring, kind, steps, options.gap_us, busy)
        own, outside = found["own_accounting"], found["from_outside"]
        print(
            "%-28s %12.2f %12.2f %12.2f %12.2f"
            % (title, own["median_us"], own["p99_us"], outside["median_us"], outside["p99_us"])
        )
        result[title] = found
    for title, ring in (("ring", True), ("datagrams", False)) if options.torch else ():
        result["torch, " + title] = found = train(options.steps // 4, ring)
        own, change = found["own_accounting"], [found["median_change"], *found["change_95"]]
        print(
            "torch, %s: step %.1f µs, own median %.2f, p99 %.2f, change %+.2f %% (95 %%: %+.2f to %+.2f)"
            % (title, found["step_us"], own["median_us"], own["p99_us"], *(100 * c for c in change))
        )
    print(json.dumps(result))


if __name__ == "__main__":
    main()
