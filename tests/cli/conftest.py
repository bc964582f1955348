"""Helpers for the tests of the command line: the binary, and small traces that the tests make themselves."""

import gzip
import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BASE_NS = 1_790_000_000_000_000_000
STEPS = 12


def make_trace(rank, world_size=4, slow=False, steps=STEPS, step_us=20_000.0):
    """A CPU training loop: a fetch, a forward with a product, an all-reduce, an optimizer step."""
    events = []

    def add(cat, name, ts, dur, tid=100, **args):
        events.append({"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid,
                       "ts": round(ts, 3), "dur": round(dur, 3), "args": args})

    fetch = 8_000.0 if slow else 2_000.0
    for k in range(steps):
        at = 1000.0 + k * step_us
        add("python_function", "/job/train.py(10): train_step", at, step_us - 10,
            **{"Python id": 2 * k + 1, "Python parent id": None})
        add("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at + 50, fetch)
        add("python_function", "/job/train.py(40): augment", at + 60, fetch - 20,
            **{"Python id": 2 * k + 2, "Python parent id": 2 * k + 1})
        add("cpu_op", "aten::mm", at + fetch + 100, 5_000.0, **{"External id": k + 1})
        add("user_annotation", "gloo:all_reduce", at + fetch + 5_200, 13_000.0 - fetch, tid=200,
            **{"Input Dims": [[250_000]], "Input type": ["float"]})
        add("user_annotation", "Optimizer.step#SGD.step", at + step_us - 1_500, 1_000.0)
    return {"schemaVersion": 1, "baseTimeNanoseconds": BASE_NS, "displayTimeUnit": "ms",
            "distributedInfo": {"backend": "gloo", "rank": rank, "world_size": world_size},
            "traceEvents": events}


def write_trace(path, trace):
    text = json.dumps(trace).encode()
    path.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)
    return path


@pytest.fixture(scope="session")
def eroica():
    """Calls the binary; the result is subprocess's, with text decoded."""
    binary = os.environ.get("EROICA", str(ROOT / "build/release/eroica"))
    if not Path(binary).exists():
        pytest.skip(f"{binary} is not built")
    environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "LC_ALL", "LANG", "LC_CTYPE")}
    environment["LC_ALL"] = "C.UTF-8"

    def call(*arguments, env=None, **options):
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        result = subprocess.run([binary, *map(str, arguments)], env={**environment, **(env or {})},
                                timeout=120, check=False, **options)
        for stream in ("stdout", "stderr"):
            data = getattr(result, stream)
            setattr(result, stream, None if data is None else data.decode())
        return result

    call.binary = binary
    return call


@pytest.fixture
def job(tmp_path):
    """A folder with the traces of four ranks; rank 2 is slow in its dataloader."""
    folder = tmp_path / "job"
    folder.mkdir()
    for rank in range(4):
        suffix = ".json.gz" if rank % 2 else ".json"
        write_trace(folder / f"rank{rank}{suffix}", make_trace(rank, slow=rank == 2))
    return folder


@pytest.fixture(scope="session")
def shared():
    """The folder with recorded incidents; tests that need it are skipped where it is absent."""
    folder = Path(os.environ.get("EROICA_SHARED") or ROOT.parent / "shared")
    if not (folder / "data").is_dir():
        pytest.skip("no recorded data beside the checkout (EROICA_SHARED)")
    return folder / "data"
