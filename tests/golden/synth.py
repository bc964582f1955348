"""Makes traces whose truth is known by construction.

    python3 synth.py KIND FILE [--steps N] [--rank R]

Each maker lays out every step the same way, in whole microseconds, and says what must come out: the counts and
sums per category, the steps, and how long each class of time lies exposed in one step.
"""

import argparse
import json
import random
from collections import Counter
from dataclasses import dataclass, field

import oracle

US = 1_000
MS = 1_000_000
WORLD = 4


@dataclass
class Row:
    """One event as it will be written; times in ns since the base."""

    phase: str
    category: str | None
    name: str
    pid: int | str
    tid: int | str
    start: int
    duration: int | None
    args: dict
    extra: dict = field(default_factory=dict)  # further top-level keys: "id", "bp", "s"


@dataclass
class Step:
    number: int
    start: int
    duration: int
    fetch: int


@dataclass
class Synthetic:
    rank: int
    base: int = 1_700_000_000_000_000_000
    distributed: dict | None = None
    rows: list = field(default_factory=list)
    steps: list = field(default_factory=list)  # the complete ones
    exposed_per_step: dict = field(default_factory=dict)  # ns by class, where the layout says it
    collectives_per_step: int = 0

    def timed(self, category, name, pid, tid, start, duration, **args):
        self.rows.append(Row("X", category, name, pid, tid, start, duration, args))

    def mark(self, phase, category, name, pid, tid, start, args=None, **extra):
        self.rows.append(Row(phase, category, name, pid, tid, start, None, args or {}, extra))

    def counts(self):
        return Counter(oracle.CATEGORY_OF.get(r.category, "other") for r in self.rows if r.phase == "X")

    def sums(self):
        total = Counter()
        for r in self.rows:
            if r.phase == "X":
                total[oracle.CATEGORY_OF.get(r.category, "other")] += r.duration
        return total

    def text(
        self,
        *,
        array=False,
        absolute=False,
        times="decimal",
        pairs=False,
        rank_at="before",
        shuffle=None,
        separator=",\n  ",
    ):
        """The document. `times`: "decimal", "whole" (only for whole µs) or "string"; `pairs`: B and E in place of X;
        `rank_at`: where distributedInfo stands, "before" or "after" the events or None; `shuffle`: a seed."""

        def time(ns):
            if times == "whole":
                assert ns % US == 0
                return str(ns // US)
            text = f"{ns // US}.{ns % US:03d}"
            return f'"{text}"' if times == "string" else text

        def event(phase, row, start, duration):
            parts = [f'"ph": "{phase}"']
            if row.category is not None:
                parts.append(f'"cat": {json.dumps(row.category)}')
            parts += [
                f'"name": {json.dumps(row.name)}',
                f'"pid": {json.dumps(row.pid)}',
                f'"tid": {json.dumps(row.tid)}',
            ]
            parts += [f'"ts": {time(start + (self.base if absolute else 0))}']
            if duration is not None:
                parts.append(f'"dur": {time(duration)}')
            parts += [f'"{key}": {json.dumps(value)}' for key, value in row.extra.items()]
            if row.args:
                parts.append(f'"args": {json.dumps(row.args)}')
            return "{" + ", ".join(parts) + "}"

        written = []
        for row in self.rows:
            if pairs and row.phase == "X":
                # Of what begins at one instant the longest begins first; of what ends at one, the last begun ends first.
                written.append(((row.start, 1, -row.duration), event("B", row, row.start, None)))
                written.append(
                    ((row.start + row.duration, 0, -row.start), event("E", row, row.start + row.duration, None))
                )
            else:
                written.append(((0, 0, 0), event(row.phase, row, row.start, row.duration)))
        if pairs:
            written.sort(key=lambda w: w[0])
        events = [text for _, text in written]
        if shuffle is not None:
            random.Random(shuffle).shuffle(events)

        body = "[" + separator.join(events) + "]"
        if array:
            return body.encode()
        head = ['"schemaVersion": 1']
        if self.distributed is not None and rank_at == "before":
            head.append(f'"distributedInfo": {json.dumps(self.distributed)}')
        head.append('"displayTimeUnit": "ms"')
        if not absolute:
            head.append(f'"baseTimeNanoseconds": {self.base}')
        head.append(f'"traceEvents": {body}')
        if self.distributed is not None and rank_at == "after":
            head.append(f'"distributedInfo": {json.dumps(self.distributed)}')
        head.append('"traceName": "synthetic.json"')
        return ("{" + ",\n".join(head) + "}").encode()


def _distributed(rank, backend):
    return {
        "backend": backend,
        "rank": rank,
        "world_size": WORLD,
        "pg_count": 1,
        "pg_config": [
            {
                "pg_name": "0",
                "pg_desc": "default_pg",
                "backend_config": backend,
                "pg_size": WORLD,
                "ranks": list(range(WORLD)),
            }
        ],
    }


def gpu(rank=0, steps=6, amd=False, kernels=5):
    """A data-parallel GPU job. Of each 100 ms step: 20 ms compute, 5 ms exposed copy, 13 ms exposed all-reduce."""
    t = Synthetic(rank, distributed=_distributed(rank, "nccl"))
    runtime = {
        "launch": "hipLaunchKernel" if amd else "cudaLaunchKernel",
        "copy": "hipMemcpyAsync" if amd else "cudaMemcpyAsync",
        "wait": "hipDeviceSynchronize" if amd else "cudaDeviceSynchronize",
    }
    device, main, period = rank, 1000 + rank, 100 * MS
    correlation = external = 0
    each = 20 * MS // kernels
    t.mark("M", None, "process_name", device, 0, 0, {"name": "python"})
    t.mark("M", None, "thread_name", main, main, 0, {"name": "thread main (python)"})

    def launch(call, start, cat, name, stream, device_start, duration, **args):
        nonlocal correlation
        correlation += 1
        t.timed(
            "cuda_runtime", call, main, main, start, 100 * US, **{"External id": external, "correlation": correlation}
        )
        t.timed(
            cat,
            name,
            device,
            stream,
            device_start,
            duration,
            **{"External id": external, "correlation": correlation, "device": device, "stream": stream},
            **args,
        )
        t.mark("s", "ac2g", "ac2g", main, main, start, id=correlation)
        t.mark("f", "ac2g", "ac2g", device, stream, device_start, id=correlation, bp="e")

    for n in range(steps):
        s = n * period
        t.timed("user_annotation", f"ProfilerStep#{n + 10}", main, main, s, period, **{"External id": 900_000 + n})
        t.timed(
            "python_function",
            "train.py(40): train_step",
            main,
            main,
            s + 1 * MS,
            98 * MS,
            **{"Python id": 2 * n + 1, "Python parent id": None},
        )
        t.timed(
            "user_annotation",
            "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
            main,
            main,
            s + 2 * MS,
            3 * MS,
            **{"External id": 910_000 + n},
        )
        for k in range(kernels):
            external += 1
            start = s + 6 * MS + k * (10 * MS // kernels)
            t.timed(
                "cpu_op",
                "aten::mm",
                main,
                main,
                start,
                400 * US,
                **{"External id": external, "Sequence number": external, "Input Dims": [[64, 64], [64, 64]]},
            )
            launch(
                runtime["launch"],
                start + 100 * US,
                "kernel",
                f"sgemm_{32 + 32 * (k % 3)}x32_tn",
                7,
                s + 25 * MS + k * each,
                each,
                grid=[8, 1, 1],
                block=[128, 1, 1],
            )
        external += 1
        said = (
            {}
            if amd
            else {
                "Collective name": "allreduce",
                "In msg nelems": 1000,
                "Out msg nelems": 1000,
                "Group size": WORLD,
                "dtype": "Float",
                "Process Group Name": "0",
                "Process Group Description": "default_pg",
                "Process Group Ranks": str(list(range(WORLD))),
            }
        )
        t.timed("cpu_op", "record_param_comms", main, main, s + 18 * MS, 400 * US, **{"External id": external}, **said)
        name = (
            "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)"
            if amd
            else "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
        )
        launch(runtime["launch"], s + 18 * MS + 100 * US, "kernel", name, 20, s + 40 * MS, 20 * MS, **said)
        external += 1
        t.timed("cpu_op", "aten::copy_", main, main, s + 20 * MS, 400 * US, **{"External id": external})
        launch(
            runtime["copy"],
            s + 20 * MS + 100 * US,
            "gpu_memcpy",
            "Memcpy HtoD (Host -> Device)" if amd else "Memcpy HtoD (Pinned -> Device)",
            7,
            s + 58 * MS,
            5 * MS,
            bytes=1 << 20,
        )
        t.timed("cuda_runtime", runtime["wait"], main, main, s + 64 * MS, 11 * MS, **{"correlation": 0})
        t.timed(
            "user_annotation",
            "Optimizer.step#SGD.step",
            main,
            main,
            s + 80 * MS,
            10 * MS,
            **{"External id": 920_000 + n},
        )
        t.steps.append(Step(n + 10, s, period, 3 * MS))
    # The window ends where the last event starts: let that be the end of the last step.
    t.timed("cpu_op", "aten::zeros", main, main, steps * period, 10 * US, **{"External id": 990_000})
    t.exposed_per_step = {"compute": 20 * MS, "memory": 5 * MS, "communication": 13 * MS}
    t.collectives_per_step = 1
    return t


def gloo(rank=0, steps=6, slow_ns=0):
    """A data-parallel CPU job without ProfilerStep: each 100 ms (plus `slow_ns` in the dataset) one fetch, 25 ms of
    operators, two all-reduces that overlap each other (30 ms together, 25 of them after the operators)."""
    t = Synthetic(rank)
    main, loop, period = 2000 + rank, 2100 + rank, 100 * MS + slow_ns
    frame = 0
    for n in range(steps):
        s = n * period
        frame += 2
        fetch = 10 * MS + slow_ns
        t.timed(
            "user_annotation",
            "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
            main,
            main,
            s,
            fetch,
            **{"External id": 5 * n},
        )
        t.timed(
            "python_function",
            "/home/user/job/train.py(12): __getitem__",
            main,
            main,
            s + 1 * MS,
            fetch - 2 * MS,
            **{"Python id": frame, "Python parent id": None, "Ev Idx": 10 * n},
        )
        b = s + fetch
        t.timed(
            "python_function",
            "/home/user/job/train.py(30): train_step",
            main,
            main,
            b + 1 * MS,
            85 * MS,
            **{"Python id": frame + 1, "Python parent id": None, "Ev Idx": 10 * n + 1},
        )
        t.timed(
            "cpu_op",
            "aten::addmm",
            main,
            main,
            b + 10 * MS,
            25 * MS,
            **{"External id": 5 * n + 1, "Ev Idx": 10 * n + 2},
        )
        for k, (start, duration) in enumerate([(30 * MS, 20 * MS), (40 * MS, 20 * MS)]):
            t.timed(
                "user_annotation",
                "gloo:all_reduce",
                main,
                loop,
                b + start,
                duration,
                **{"External id": 5 * n + 2 + k, "Input Dims": [[1000]]},
            )
        t.timed(
            "user_annotation", "Optimizer.step#SGD.step", main, main, b + 70 * MS, 10 * MS, **{"External id": 5 * n + 4}
        )
        t.steps.append(Step(n, s, period, fetch))
    t.timed("cpu_op", "aten::zeros", main, main, steps * period, 10 * US, **{"External id": 990_000})
    t.exposed_per_step = {"communication": 25 * MS}
    t.collectives_per_step = 2
    return t


def megatron(rank=0, steps=4, micro_batches=4):
    """A pipeline-parallel CPU job: several fetches a step, sends and receives between stages."""
    t = Synthetic(rank)
    main, loop, period, slot = 3000 + rank, 3100 + rank, 200 * MS, 40 * MS
    for n in range(steps):
        s = n * period
        for m in range(micro_batches):
            b = s + m * slot
            t.timed(
                "user_annotation",
                "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                main,
                main,
                b,
                2 * MS,
                **{"External id": 100 * n + 4 * m},
            )
            t.timed("cpu_op", "aten::mm", main, main, b + 4 * MS, 20 * MS, **{"External id": 100 * n + 4 * m + 1})
            t.timed(
                "user_annotation",
                "gloo:send" if rank < WORLD // 2 else "gloo:recv",
                main,
                loop,
                b + 26 * MS,
                6 * MS,
                **{"External id": 100 * n + 4 * m + 2, "Input Dims": [[4096]]},
            )
        t.timed(
            "user_annotation",
            "Optimizer.step#AdamW.step",
            main,
            main,
            s + 170 * MS,
            25 * MS,
            **{"External id": 100 * n + 99},
        )
        t.steps.append(Step(n, s, period, micro_batches * 2 * MS))
    t.timed("cpu_op", "aten::zeros", main, main, steps * period, 10 * US, **{"External id": 990_000})
    t.collectives_per_step = micro_batches
    return t


def old_schema(rank=0, steps=4):
    """The categories, string tids and whole microseconds of 2021: 50 ms in the dataloader of each 100 ms step."""
    t = Synthetic(rank)
    main, period, correlation = 4000, 100 * MS, 0
    for n in range(steps):
        s = n * period
        t.timed("Operator", f"ProfilerStep#{n}", main, str(main), s, period, **{"External id": 10 * n})
        t.timed(
            "Operator",
            "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
            main,
            str(main),
            s + 1 * MS,
            50 * MS,
            **{"External id": 10 * n + 1},
        )
        t.timed(
            "Operator",
            "aten::conv2d",
            main,
            str(main),
            s + 60 * MS,
            10 * MS,
            **{"External id": 10 * n + 2, "Call stack": "train.py(10): <module>;model.py(4): forward"},
        )
        correlation += 1
        t.timed(
            "Runtime",
            "cudaLaunchKernel",
            main,
            str(main),
            s + 61 * MS,
            1 * MS,
            **{"correlation": correlation, "external id": 10 * n + 2},
        )
        t.timed(
            "Kernel",
            "volta_sgemm_32x128_nn",
            0,
            "stream 7",
            s + 62 * MS,
            20 * MS,
            **{"correlation": correlation, "external id": 10 * n + 2, "device": 0, "stream": 7},
        )
        correlation += 1
        t.timed("Runtime", "cudaMemcpyAsync", main, str(main), s + 71 * MS, 1 * MS, **{"correlation": correlation})
        t.timed(
            "Memcpy",
            "Memcpy HtoD (Pageable -> Device)",
            0,
            "stream 7",
            s + 85 * MS,
            4 * MS,
            **{"correlation": correlation, "device": 0, "stream": 7, "bytes": 4096},
        )
        t.steps.append(Step(n, s, period, 50 * MS))
    t.timed("Operator", "aten::zeros", main, str(main), steps * period, 10 * US, **{"External id": 990_000})
    t.exposed_per_step = {"compute": 20 * MS, "memory": 4 * MS, "communication": 0}
    return t


def amd(rank=0, steps=6):
    return gpu(rank, steps, amd=True)


KINDS = {"gpu": gpu, "amd": amd, "gloo": gloo, "megatron": megatron, "old_schema": old_schema}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("file")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--rank", type=int, default=0)
    a = parser.parse_args()
    with open(a.file, "wb") as f:
        f.write(KINDS[a.kind](a.rank, steps=a.steps).text())


if __name__ == "__main__":
    main()
