"""What all tests around live jobs share. Jobs run with EROICA_TORCH_PYTHON, or with build/venv-torch."""

import contextlib
import json
import os
import signal
import subprocess
import textwrap
import time
from pathlib import Path

import pytest

try:
    import jsonschema
except ImportError:
    jsonschema = None

ROOT = Path(__file__).resolve().parent.parent.parent
EROICA = os.environ.get("EROICA") or str(ROOT / "build/release/eroica")
PYTHON = os.environ.get("EROICA_TORCH_PYTHON") or str(ROOT / "build/venv-torch/bin/python3")


if jsonschema is not None:
    SCHEMA = jsonschema.Draft202012Validator(json.loads((ROOT / "docs/diagnosis.schema.json").read_text()))


def _has_torch():
    return os.path.exists(PYTHON) and subprocess.run([PYTHON, "-c", "import torch.distributed"],
                                                     capture_output=True).returncode == 0


needs_torch = pytest.mark.skipif(not _has_torch(), reason="no Python with torch")
MEGATRON = ROOT / "build/megatron"  # megatron-core without what it depends on
needs_megatron = pytest.mark.skipif(not MEGATRON.is_dir(), reason="no megatron-core")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
# Steps are real time: on a machine that others use they may become slow by themselves.
quiet_machine = pytest.mark.skipif(os.environ.get("EROICA_LIVE") != "all", reason="needs a quiet machine: EROICA_LIVE=all")

TRAIN = """
import os, sys, time; {before}
import torch, torch.distributed as dist
from torch.utils.data import DataLoader, TensorDataset

STOP = sys.argv[1]

def augment(batch, rank, step):
    {body}
    return batch

def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    model = torch.nn.parallel.DistributedDataParallel(
        torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(TensorDataset(torch.randn(512, 256)), batch_size=16)
    step = 0
    over = torch.zeros(1)
    while True:
        for batch, in loader:
            batch = augment(batch, rank, step)
            optimizer.zero_grad()
            model(batch).sum().backward()
            optimizer.step()
            time.sleep(0.02)
            step += 1
            if step == 100 and rank == 0:
                open(STOP + ".100", "w").close()
        over[0] = os.path.exists(STOP) or step > {most_steps}
        dist.all_reduce(over)
        if over[0] > 0:
            break
    dist.destroy_process_group()
    sys.exit({status})

if __name__ == "__main__":
    main()
"""

POLICY = """
[slow]
warm_up_steps = 5
learn_steps = 40
# The machine that runs the tests may be busy with others.
shift_percent = 40
level_rise_percent = 40
lost_time_percent = 60
periodic_from_start_percent = 200
[window]
length_s = 3
[baseline]
count = 0
"""


def training_script(path, body="pass", before="", most_steps=100_000, status=0):
    """Two layers, 50 steps a second at most; ends at a step that is the same for all ranks once the file STOP is there."""
    path.write_text(
        TRAIN.replace("{body}", textwrap.indent(textwrap.dedent(body), "    ").strip())
        .replace("{before}", before)
        .replace("{most_steps}", str(most_steps))
        .replace("{status}", str(status))
    )
    return path


def torchrun(ranks, *script):
    return [PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks), *map(str, script)]


def job_environment(**more):
    """This process's, without what would reach into the job or name folders and jobs."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("EROICA_", "PYTHON", "RANK", "WORLD_SIZE", "TORCH", "KINETO", "XDG_RUNTIME", "SLURM"))}
    return {**kept, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", **more}


def until(condition, what, log, deadline_s, process=None):
    """What the condition gives once that is true. `log()`: what is shown where it never is; `process` must live on."""
    deadline = time.monotonic() + deadline_s
    while True:
        if found := condition():
            return found
        assert time.monotonic() < deadline, "%s: waited in vain:\n%s" % (what, log())
        if process is not None and process.poll() is not None:
            if found := condition():
                return found
            raise AssertionError("%s: it ended:\n%s" % (what, log()))
        time.sleep(0.1)


def documents(path):
    """The diagnoses in a file of `--json`, held against their schema."""
    text = path.read_text() if path.exists() else ""
    found = [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]  # the last may be half written
    if jsonschema is not None:
        for document in found:
            SCHEMA.validate(document)
    return found


def kill_all(process, mark):
    """A process with its group, and whatever has `mark` in its command line."""
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    found = subprocess.run(["pgrep", "-f", str(mark)], capture_output=True, text=True)
    for pid in map(int, found.stdout.split()):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    process.wait()
