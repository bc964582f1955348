"""`eroica run` around a real job: EROICA_TORCH_PYTHON, or build/venv-torch (tests/requirements-torch.txt)."""

import glob
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
DEADLINE_S = 150


def _has_torch():
    if not os.path.exists(PYTHON):
        return False
    return subprocess.run([PYTHON, "-c", "import torch.distributed"], capture_output=True).returncode == 0


pytestmark = pytest.mark.skipif(not _has_torch(), reason="no Python with torch")

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


class Run:
    def __init__(self, folder, body="pass", most_steps=100_000, status=0, policy=POLICY, options=(), before=""):
        self.folder = folder
        self.stop_file = folder / "stop"
        self.json = folder / "diagnoses.jsonl"
        script = folder / "train.py"
        script.write_text(
            TRAIN.replace("{body}", textwrap.indent(textwrap.dedent(body), "    ").strip())
            .replace("{before}", before)
            .replace("{most_steps}", str(most_steps))
            .replace("{status}", str(status))
        )
        (folder / "policy.toml").write_text(policy)
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("EROICA_", "PYTHON", "RANK", "WORLD_SIZE", "TORCH", "KINETO"))
        }
        environment.update(OMP_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE="1")
        environment.pop("XDG_RUNTIME_DIR", None)
        before = set(glob.glob("/tmp/eroica-run-*"))
        self.error = open(folder / "stderr", "w+")
        self.process = subprocess.Popen(
            [EROICA, "run", "--policy", str(folder / "policy.toml"), "--json", str(self.json), *options, "--",
             PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(script),
             str(self.stop_file)],
            env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.error,
            start_new_session=True,
        )
        self.before = before

    def folders(self):
        return set(glob.glob("/tmp/eroica-run-*")) - self.before

    def stderr(self):
        return (self.folder / "stderr").read_text()

    def diagnoses(self):
        if not self.json.exists():
            return []
        documents = [json.loads(line) for line in self.json.read_text().splitlines()]
        if jsonschema is not None:
            schema = json.loads((ROOT / "docs/diagnosis.schema.json").read_text())
            for document in documents:
                jsonschema.Draft202012Validator(schema).validate(document)
        return documents

    def until(self, condition, what):
        deadline = time.monotonic() + DEADLINE_S
        while not condition():
            assert time.monotonic() < deadline, "%s: waited in vain:\n%s" % (what, self.stderr())
            assert self.process.poll() is None or condition(), "%s: it ended:\n%s" % (what, self.stderr())
            time.sleep(0.1)

    def stop(self):
        self.stop_file.touch()
        return self.process.wait(timeout=DEADLINE_S)

    def children(self):
        out = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.process.pid)], capture_output=True, text=True)
        return [int(pid) for pid in out.stdout.split()]

    def close(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except OSError:
            pass
        out = subprocess.run(["pgrep", "-f", str(self.stop_file)], capture_output=True, text=True)
        for pid in out.stdout.split():
            try:
                os.kill(int(pid), signal.SIGKILL)
            except OSError:
                pass
        self.process.wait()
        self.process.stdout.close()
        self.error.close()


@pytest.fixture
def run(tmp_path):
    runs = []

    def start(*args, **kwargs):
        runs.append(Run(tmp_path, *args, **kwargs))
        return runs[-1]

    yield start
    for one in runs:
        one.close()


@quiet_machine
def test_a_slow_function_on_one_rank(run):
    job = run("if rank == 1 and step >= 150: time.sleep(0.04)")
    claims = lambda: [d for d in job.diagnoses() if not d["healthy"]]
    job.until(claims, "a diagnosis")
    document = claims()[0]
    first = document["diagnoses"][0]
    assert first["ranks"] == [1], first
    assert first["function"]["name"] == "augment", first
    assert first["function"]["file"].endswith("train.py")
    assert document["coverage"]["ranks_seen"] == 2
    timing = document["timing"]
    assert timing["onset_unix_ns"] < timing["detected_unix_ns"] < timing["diagnosed_unix_ns"]
    assert (timing["diagnosed_unix_ns"] - timing["onset_unix_ns"]) / 1e9 < 90
    assert document["budget"]["interference_ms"] is not None
    assert job.stop() == 0
    errors = job.stderr()
    assert "eroica: watching 2 ranks on 1 host" in errors
    assert "slow since step" in errors
    assert not job.folders()


def test_a_hang_in_user_code(run):
    job = run("while rank == 1 and step >= 100: time.sleep(0.1)")
    blocked = lambda: [d for d in job.diagnoses() if d.get("blocked")]
    job.until(blocked, "a diagnosis")
    (document,) = blocked()
    assert document["blocked"]["missing"] == [1]
    assert document["blocked"]["waiting"] == [0]
    assert document["blocked"]["operation"] == "all_reduce" or document["blocked"]["operation"] == "allreduce"
    assert "train.py:9 in augment" in document["blocked"]["stacks"][0], document["blocked"]
    (diagnosis,) = document["diagnoses"]
    assert diagnosis["cause"] == "blocked.rank"
    assert (diagnosis["function"]["name"], diagnosis["function"]["line"]) == ("augment", 9)
    assert document["timing"]["diagnosed_unix_ns"] - document["timing"]["detected_unix_ns"] < 30e9
    job.process.send_signal(signal.SIGTERM)  # goes on to the launcher, which ends the job
    assert job.process.wait(timeout=DEADLINE_S) != 0
    assert not job.folders()


def test_a_stopped_rank(run):
    job = run()
    job.until(lambda: "watching 2 ranks" in job.stderr(), "ranks")
    job.until(lambda: os.path.exists(str(job.stop_file) + ".100"), "steps")
    (launcher,) = job.children()
    out = subprocess.run(["ps", "-o", "pid=", "--ppid", str(launcher)], capture_output=True, text=True)
    rank_pid = None
    for pid in map(int, out.stdout.split()):
        if b"\0RANK=1\0" in b"\0" + Path("/proc/%d/environ" % pid).read_bytes():
            rank_pid = pid
    os.kill(rank_pid, signal.SIGSTOP)
    blocked = lambda: [d for d in job.diagnoses() if d.get("blocked")]
    job.until(blocked, "a diagnosis")
    (diagnosis,) = blocked()[0]["diagnoses"]
    assert (diagnosis["cause"], diagnosis["ranks"]) == ("blocked.process_stopped", [1])
    os.kill(rank_pid, signal.SIGCONT)
    job.until(lambda: "the job goes on" in job.stderr(), "going on")
    assert job.stop() == 0


@quiet_machine
def test_a_healthy_job_raises_no_alarm(run):
    job = run(most_steps=300, status=7)
    # torchrun's own status for a failed rank.
    assert job.process.wait(timeout=DEADLINE_S) == 1
    errors = job.stderr()
    assert "slow" not in errors and "blocked" not in errors.replace("blocked.py", ""), errors
    assert job.diagnoses() == []
    assert not job.folders()


# A window of the healthy job, however busy the machine is.
BASELINE = """
[slow]
level_rise_percent = 1000
shift_percent = 100
lost_time_percent = 100
periodic_from_start_percent = 10000
[blocked]
enabled = false
[window]
length_s = 3
[baseline]
count = 1
after_steps = 60
"""


def test_a_window_of_the_healthy_job(run):
    job = run(policy=BASELINE)
    job.until(lambda: "the healthy window is taken" in job.stderr() or job.diagnoses(), "a window")
    errors = job.stderr()
    assert "profiling 2 ranks for 3.0 s, to compare later windows with" in errors
    assert "from inside" not in errors and "no trace" not in errors, errors
    assert job.stop() == 0


def test_where_kineto_asks_nobody_ranks_profile_themselves(run):
    job = run(policy=BASELINE, before='os.environ.pop("KINETO_USE_DAEMON", None)')
    job.until(lambda: "the healthy window is taken" in job.stderr() or job.diagnoses(), "a window")
    errors = job.stderr()
    for rank in (0, 1):
        assert "rank %d was profiled from inside" % rank in errors, errors
    assert "no trace" not in errors, errors
    assert job.stop() == 0


def test_beside_the_jobs_own_profiler_it_is_said_that_there_is_no_trace(run):
    own = """
    if step == 20: globals().update(own=torch.profiler.profile()); own.start()
    if step > 20 and own and os.path.exists(STOP): own.stop(); globals().update(own=None)
    """
    job = run(own, policy=BASELINE)
    job.until(lambda: "no rank could be profiled" in job.stderr(), "what became of the window")
    errors = job.stderr()
    for rank in (0, 1):
        assert "rank %d has no trace: the job's own profiler is running" % rank in errors, errors
    assert job.stop() == 0


def test_the_command_is_killed(run):
    job = run()
    job.until(lambda: "watching 2 ranks" in job.stderr(), "ranks")
    (folder,) = [f for f in job.folders() if os.path.exists(f + "/probe")]
    assert os.stat(folder).st_mode & 0o777 == 0o700
    os.kill(job.children()[0], signal.SIGKILL)
    assert job.process.wait(timeout=DEADLINE_S) == 128 + signal.SIGKILL
    assert not job.folders()


def test_status_output_and_wrong_usage(tmp_path):
    def run(*command):
        return subprocess.run([EROICA, "run", *command], capture_output=True, text=True, stdin=subprocess.DEVNULL)

    done = run("--", "sh", "-c", "echo out; echo err >&2; exit 5")
    assert (done.returncode, done.stdout) == (5, "out\n")
    assert "err\n" in done.stderr
    assert run("--", "sh", "-c", "kill -TERM $$").returncode == 128 + signal.SIGTERM
    assert run("--", "/nowhere/at-all").returncode == 127
    assert run("--", "/").returncode == 126
    assert run().returncode == 64
    assert run("--window", "never", "--", "true").returncode == 64
    assert run("--probe", str(tmp_path), "--", "true").returncode == 64
    assert run("--", "printenv", "EROICA_JOB", "--json").returncode != 64
