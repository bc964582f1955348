"""A job to measure what watching it costs: overhead_job.py FOLDER STEPS CALLS TOGGLE_EVERY WIDTH

Trains a model of six layers of WIDTH × WIDTH on batches of WIDTH / 8; each step calls CALLS Python functions besides. With
TOGGLE_EVERY > 0 all ranks switch their probe off and on again every so many steps. Rank 0 leaves FOLDER/steps.bin: for
each step its end (unix ns), and what the probe says that it spent since the one before (ns; -1: it was off).
"""

import array
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.utils.data.dataloader as dataloader
from torch.utils.data import DataLoader, TensorDataset


def mix(number):
    return number & 3


def preprocess(calls):
    return sum(mix(number) for number in range(calls))


def main():
    folder, steps, calls, toggle_every, width = sys.argv[1], *map(int, sys.argv[2:])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    layers = [torch.nn.Linear(width, width) if n % 2 == 0 else torch.nn.ReLU() for n in range(12)]
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(TensorDataset(torch.randn(8 * width, width)), batch_size=width // 8)
    # The probe leaves its marks where it hooked torch.
    marks = dataloader._BaseDataLoaderIter.__next__.eroica_fetches
    times = array.array("q")
    done = 0
    if rank == 0:
        with open(os.path.join(folder, "traces"), "w") as file:
            file.write(os.environ["EROICA_TRACE_DIR"])
    while done < steps:
        for (batch,) in loader:
            if calls:
                preprocess(calls)
            optimizer.zero_grad()
            model(batch).square().mean().backward()
            optimizer.step()
            times.append(time.time_ns())
            record = marks.step % 1024 * 8
            times.append(-1 if marks.off else marks._words[record + 4] & 0xFFFFFFFF)
            done += 1
            if toggle_every and done % toggle_every == 0:
                marks.off = not marks.off
            if done == 100 and rank == 0:
                open(os.path.join(folder, "warm"), "w").close()
    if rank == 0:
        with open(os.path.join(folder, "steps.bin"), "wb") as file:
            file.write(times.tobytes())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
