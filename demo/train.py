#!/usr/bin/env python3
"""Trains a small transformer on several CPU processes and records one trace a rank.

    demo/train.py --out FOLDER [--ranks 4] [--slow-rank 2] [--steps 8]

The job is a usual one: DistributedDataParallel over gloo, a DataLoader, AdamW, torch.profiler.
One rank augments its samples in Python, as happens when a debugging option is left on for it;
through the gradients' all-reduce every other rank waits for it in every step.
FOLDER receives rankN.json.gz and bundle.json, which names the ranks, hosts and traces.
"""

import argparse
import itertools
import json
import os
import socket
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, schedule
from torch.utils.data import DataLoader, Dataset

VOCABULARY = 512
LENGTH = 48
BATCH = 8
WIDTH = 96


def augment(tokens):
    """Mixes neighbouring tokens, one Python object at a time."""
    words = tokens.tolist()
    for turn in range(500):
        for i in range(1, len(words)):
            words[i] = (words[i] * 31 + words[i - 1] + turn) % VOCABULARY
    return torch.tensor(words)


class Sentences(Dataset):
    """Random token sequences, the same on every run."""

    def __init__(self, rank, augmented):
        generator = torch.Generator().manual_seed(rank)
        self.tokens = torch.randint(VOCABULARY, (4096, LENGTH), generator=generator)
        self.augmented = augmented

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        tokens = self.tokens[index]
        return augment(tokens) if self.augmented else tokens


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, nhead=4, dim_feedforward=256, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, num_layers=2)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        return self.head(self.layers(self.embed(tokens)))


def train(rank, options, rendezvous):
    # One machine: its loopback is all that the processes need of a network.
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    dist.init_process_group(
        "gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=options.ranks
    )
    torch.set_num_threads(1)
    torch.manual_seed(0)
    trace = f"rank{rank}.json.gz"

    model = DistributedDataParallel(Model())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loader = DataLoader(Sentences(rank, rank == options.slow_rank), BATCH, shuffle=True)
    phases = schedule(wait=3, warmup=2, active=options.steps)

    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=phases,
        on_trace_ready=lambda p: p.export_chrome_trace(str(options.out / trace)),
        record_shapes=True,
        with_stack=True,
    ) as profiler:
        for tokens in itertools.islice(loader, 5 + options.steps):
            optimizer.zero_grad()
            logits = model(tokens[:, :-1])
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
            loss.backward()
            optimizer.step()
            profiler.step()

    entry = {"rank": rank, "host": socket.gethostname(), "pid": os.getpid(), "trace": trace}
    ranks = [None] * options.ranks
    dist.all_gather_object(ranks, entry)
    if rank == 0:
        write_bundle(options.out / "bundle.json", ranks)
    dist.destroy_process_group()


def write_bundle(path, ranks):
    bundle = {
        "schema": "eroica.bundle/1",
        "job": {"id": "demo", "world_size": len(ranks)},
        "hosts": [{"name": name} for name in sorted({entry["host"] for entry in ranks})],
        "ranks": ranks,
        "groups": [{"name": "0", "desc": "default_pg", "ranks": [r["rank"] for r in ranks]}],
    }
    path.write_text(json.dumps(bundle, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=lambda p: Path(p).resolve(), required=True)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--slow-rank", type=int, default=2, help="-1: none")
    parser.add_argument("--steps", type=int, default=8)
    options = parser.parse_args()

    options.out.mkdir(parents=True, exist_ok=True)
    rendezvous = options.out / "rendezvous"
    rendezvous.unlink(missing_ok=True)
    mp.spawn(train, (options, rendezvous), nprocs=options.ranks)
    rendezvous.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
