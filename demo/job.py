#!/usr/bin/env python3
"""Trains a small model with several processes on the CPU, for as long as nobody says stop.

    torchrun --standalone --nproc-per-node 4 demo/job.py FOLDER

A usual job: DistributedDataParallel over gloo, a DataLoader that reads samples from FOLDER/data, SGD. It
knows nothing of eroica. What may go wrong in its own code is switched on while it runs by a file
FOLDER/on/NAME or, for one rank, FOLDER/on/NAME-RANK: see the functions that ask `on()`.
"""

import gc
import mmap
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

FOLDER = sys.argv[1]
SAMPLE = 16384
WIDTH = 256
BATCH = 8
PACE_S = 0.04
RANK = int(os.environ["RANK"])


switched_on = set()  # looked up once a step


def on(name):
    return name in switched_on or f"{name}-{RANK}" in switched_on


def look_what_is_on():
    switched_on.clear()
    switched_on.update(os.listdir(f"{FOLDER}/on"))


class Samples(Dataset):
    """Reads past the page cache, as from a data set that is larger than memory."""

    def __init__(self, path):
        try:
            self.file = os.open(path, os.O_RDONLY | os.O_DIRECT)
        except OSError:  # not on every file system
            self.file = os.open(path, os.O_RDONLY)
        self.buffer = mmap.mmap(-1, SAMPLE)
        self.count = os.fstat(self.file).st_size // SAMPLE

    def __len__(self):
        return 1 << 30

    def __getitem__(self, index):
        os.preadv(self.file, [self.buffer], (index * 7 + RANK) % self.count * SAMPLE)
        x = torch.frombuffer(self.buffer, dtype=torch.uint8, count=WIDTH).float() / 255
        return augment(x) if on("transform") else x


def augment(x):
    """What somebody forgot to take out: one Python number after the other."""
    total = 0.0
    for i in range(30_000):
        total += i * 0.5
    return x + total * 0


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        if on("kernel"):  # the same arithmetic through a slower kernel
            h = (x.double()[:, None, :] * self.up.weight.double()[None]).sum(-1).float() + self.up.bias
        else:
            h = self.up(x)
        return x + self.down(torch.relu(h))


def validate(x):
    """What was meant for a debugging session: each number against each limit."""
    values = x.flatten().tolist()
    valid = True
    for limit in range(-250, 0):
        for value in values:
            valid = valid and value >= limit
    return valid


def save(model, path):
    with open(path, "wb") as file:
        torch.save({"model": model.state_dict(), "optimizer": torch.zeros(12_000_000)}, file)
        file.flush()
        os.fsync(file.fileno())


def check():
    if on("raise"):
        raise ValueError("a loss that is no number")


def wait_for_somebody():
    while on("hang"):
        time.sleep(0.2)
        look_what_is_on()


def agree(flag):
    """Every rank learns the sum; what all of them must call alike."""
    if on("mismatch"):
        dist.broadcast(flag, src=0)
    else:
        dist.all_reduce(flag)


def train_step(model, optimizer, x):
    if on("sequence"):  # uneven work that moves from rank to rank
        x = x.repeat(1 + 15 * ((train_step.count * 7 + RANK * 13) % 5), 1)
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
    train_step.count += 1


def main():
    torch.set_num_threads(1)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(*[Block() for _ in range(4)], nn.Linear(WIDTH, 10)))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    train_step.count = 0
    heap = []
    stop = torch.zeros(1)
    for x in DataLoader(Samples(f"{FOLDER}/data"), batch_size=BATCH):
        if on("validate"):
            validate(x)
        train_step(model, optimizer, x)
        # As if an accelerator computed meanwhile: few machines have a CPU to spare for each rank.
        time.sleep(PACE_S)
        step = train_step.count
        look_what_is_on()
        if on("gc"):
            heap = heap or [[i] for i in range(1_500_000)]
            if step % 4 == 0:
                gc.collect()
        if on("checkpoint") and RANK == 0 and step % 10 == 0:
            save(model, f"{FOLDER}/checkpoint")
        wait_for_somebody()
        check()
        if step % 20 == 0:
            stop[0] = os.path.exists(f"{FOLDER}/stop")
            agree(stop)
            if stop[0] > 0:
                break
        if RANK == 0 and step % 10 == 0:
            with open(f"{FOLDER}/step", "w") as file:
                file.write(str(step))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
