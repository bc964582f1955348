"""Real training, real faults: what `eroica run` says of each. Faults come while the job runs, and mostly from outside.

Faults that need a quiet machine, or are of a mechanism that another case shows already, run with EROICA_LIVE=all.
"""

import contextlib
import glob
import json
import os
import shutil
import signal
import subprocess
import sys

import pytest

from live_job import (EROICA, MEGATRON, PYTHON, ROOT, documents, job_environment, kill_all, needs_megatron, needs_root,
                      needs_torch, quiet_machine, torchrun, until)

sys.path.insert(0, str(ROOT / "demo"))
import faults  # noqa: E402
import namespaces  # noqa: E402

DEADLINE_S = 240
STEADY_STEPS = 90


pytestmark = needs_torch

# As by default but for less patience, and for alarms that others on this machine do not raise.
POLICY = """
[slow]
warm_up_steps = 10
learn_steps = 30
shift_percent = %d
level_rise_percent = %d
lost_time_percent = %d
periodic_from_start_percent = 200
[window]
length_s = %d
tail_s = 2
cooldown_s = 20
budget_s_per_hour = 3600
[baseline]
count = %d
after_steps = 50
"""


class Job:
    def __init__(self, folder, ranks, baseline, sensitivity=10, window_s=4, launcher=None,
                 script="demo/job.py", environment=None):
        self.folder = folder
        self.json = folder / "diagnoses.jsonl"
        self.stderr_file = folder / "stderr"
        (folder / "on").mkdir()
        with open(folder / "data", "wb") as file:
            file.write(os.urandom(8 << 20))
            os.fsync(file.fileno())
        (folder / "policy.toml").write_text(POLICY % (sensitivity, sensitivity, sensitivity, window_s, baseline))
        keep = os.environ.get("EROICA_KEEP")  # to see why a diagnosis is what it is
        options = ["--keep", os.path.join(keep, folder.name)] if keep else []
        script = [str(ROOT / script), str(folder)]
        command = launcher + script if launcher else torchrun(ranks, *script)
        self.before = set(glob.glob("/tmp/eroica-run-*"))
        self.stderr_handle = open(self.stderr_file, "w")
        self.process = subprocess.Popen(
            [EROICA, "run", "--policy", str(folder / "policy.toml"), "--json", str(self.json), *options, "--", *command],
            env=job_environment(**(environment or {})), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.stderr_handle,
            start_new_session=True)

    def get_healthy(self, ranks, baseline):
        self.until(lambda: f"watching {ranks} ranks" in self.stderr(), "ranks")
        self.until(lambda: self.step() >= STEADY_STEPS, "steps")
        if baseline:
            self.until(lambda: "healthy window is taken" in self.stderr(), "a healthy window")

    def stderr(self):
        return self.stderr_file.read_text(errors="replace")

    def step(self):
        with contextlib.suppress(OSError, ValueError):
            return int((self.folder / "step").read_text())
        return 0

    def pid(self, rank):
        pid = faults.find_rank(self.process.pid, rank)
        assert pid is not None, "rank %d" % rank
        return pid

    def until(self, condition, what):
        return until(condition, what, self.stderr, DEADLINE_S, self.process)

    def documents(self):
        return documents(self.json)

    def diagnosed(self):
        """The first document that came after the fault."""
        self.until(self.documents, "a diagnosis")
        return self.documents()[0]

    def stop(self):
        (self.folder / "stop").touch()
        return self.process.wait(timeout=DEADLINE_S)

    def close(self):
        (self.folder / "stop").touch()
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(OSError):
                os.killpg(self.process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=20)
                break
        kill_all(self.process, self.folder)
        self.stderr_handle.close()
        for folder in set(glob.glob("/tmp/eroica-run-*")) - self.before:
            shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def start(tmp_path):
    with contextlib.ExitStack() as stack:
        def begin(ranks=3, baseline=0, **options):
            job = Job(tmp_path, ranks=ranks, baseline=baseline, **options)
            stack.callback(job.close)  # also of one that never gets healthy
            job.get_healthy(ranks, baseline)
            return job

        yield begin


@contextlib.contextmanager
def available(fault):
    """Skips where this machine does not let the fault be made."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(fault)
        except faults.Unavailable as why:
            pytest.skip(str(why))
        yield


def first(document):
    assert document["diagnoses"], json.dumps(document["hints"], indent=1)
    return document["diagnoses"][0]


def evidence(diagnosis):
    return " ".join(entry["what"] for entry in diagnosis["evidence"])


@needs_root
def test_cpu_quota(start):
    job = start(sensitivity=30)
    with available(faults.quota(job.pid(1), 0.25)):
        document = job.diagnosed()
    diagnosis = first(document)
    assert (diagnosis["cause"], diagnosis["ranks"]) == ("cpu.cgroup_throttle", [1])
    assert "quota" in evidence(diagnosis)
    assert diagnosis["lost_ms_per_step"] > 0
    assert job.stop() == 0


@quiet_machine
def test_busy_neighbours(start):
    job = start()
    with available(faults.neighbour(job.pid(0))):
        document = job.diagnosed()
    diagnosis = first(document)
    assert (diagnosis["cause"], diagnosis["ranks"]) == ("cpu.contention", [0])
    assert job.stop() == 0


@needs_root
def test_throttled_reads(start):
    job = start()
    with available(faults.slow_disk(job.pid(2), job.folder / "data")):
        document = job.diagnosed()
    diagnosis = first(document)
    assert diagnosis["ranks"] == [2]
    assert diagnosis["cause"] == "data.slow_local_disk"
    assert job.stop() == 0


@pytest.mark.parametrize(
    "name, rank, cause, function",
    [("transform", 1, "code.slow_function", "augment"), ("checkpoint", 0, "storage.checkpoint_stall", "save|fsync"),
     pytest.param("gc", 1, "python.gc_pause", None, marks=quiet_machine),
     # Peers run the same operator, on less: not another kernel for the same work.
     pytest.param("kernel", 2, "code.slow_function", "aten::mul", marks=quiet_machine)])
def test_a_fault_in_one_ranks_code(start, name, rank, cause, function):
    job = start()
    with faults.switched_on(job.folder, f"{name}-{rank}"):
        document = job.diagnosed()
    diagnosis = first(document)
    assert (diagnosis["cause"], diagnosis["ranks"]) == (cause, [rank])
    if function:
        named = diagnosis["function"]["name"] + " " + " ".join(map(str, diagnosis["function"].get("path") or []))
        assert any(word in named for word in function.split("|")), diagnosis["function"]
    assert job.stop() == 0


@quiet_machine
def test_validation_on_all_ranks(start):
    job = start(baseline=1)
    with faults.switched_on(job.folder, "validate"):
        document = job.diagnosed()
    diagnosis = first(document)
    assert diagnosis["cause"] == "code.slow_function"
    assert (diagnosis["scope"], diagnosis["ranks"]) == ("all", [])
    assert "validate" in json.dumps(diagnosis["function"])
    assert job.stop() == 0


@quiet_machine
def test_uneven_sequences_are_nobodys_fault(start):
    job = start()
    with faults.switched_on(job.folder, "sequence"):
        document = job.diagnosed()
    causes = [diagnosis["cause"] for diagnosis in document["diagnoses"]]
    assert all(cause.startswith("work.") for cause in causes), causes
    assert job.stop() == 0


@needs_root
def test_a_slow_link(start):
    name = "er%d" % (os.getpid() % 1000)
    network = namespaces.Network(name, 4)
    try:
        launcher = [PYTHON, str(ROOT / "tests/online/namespaces.py"), name, "4", PYTHON]
        job = start(ranks=4, launcher=launcher)
        network.limit(2, "40mbit")
        document = job.diagnosed()
        diagnosis = first(document)
        assert (diagnosis["cause"], diagnosis["hosts"]) == ("nic.slow_link", ["h2"])
        assert job.stop() == 0
    finally:
        network.remove()


def test_a_rank_that_waits_for_ever(start):
    job = start(sensitivity=30)
    with faults.switched_on(job.folder, "hang-1"):
        job.until(lambda: any(d.get("blocked") for d in job.documents()), "a diagnosis")
        document = next(d for d in job.documents() if d.get("blocked"))
    diagnosis = first(document)
    assert (diagnosis["cause"], diagnosis["ranks"]) == ("blocked.rank", [1])
    assert diagnosis["function"]["name"] == "wait_for_somebody"
    job.until(lambda: "the job goes on" in job.stderr(), "going on")
    assert job.stop() == 0


def test_a_rank_that_enters_another_collective(start):
    job = start(sensitivity=30)
    with faults.switched_on(job.folder, "mismatch-2"):
        job.until(lambda: any(d.get("blocked") for d in job.documents()), "a diagnosis")
    document = next(d for d in job.documents() if d.get("blocked"))
    diagnosis = first(document)
    assert (diagnosis["cause"], diagnosis["ranks"]) == ("blocked.mismatch", [2])
    assert document["blocked"]["waiting"] == [0, 1]
    assert "broadcast" in diagnosis["summary"]
    assert diagnosis["function"]["name"] == "agree"


def test_a_killed_rank(start):
    job = start(sensitivity=30)
    with faults.killed(job.pid(1)):
        assert job.process.wait(timeout=DEADLINE_S) != 0
    diagnosis = first(job.documents()[-1])
    assert (diagnosis["cause"], diagnosis["ranks"]) == ("blocked.process_dead", [1])
    assert "killed by signal 9 (SIGKILL)" in diagnosis["summary"]


def test_a_rank_that_raises(start):
    job = start(sensitivity=30)
    with faults.switched_on(job.folder, "raise-2"):
        assert job.process.wait(timeout=DEADLINE_S) != 0
    diagnosis = first(job.documents()[-1])
    assert (diagnosis["cause"], diagnosis["ranks"]) == ("blocked.process_dead", [2])
    assert diagnosis["function"]["name"] == "ValueError"
    assert "job.py" in diagnosis["function"]["file"]


@quiet_machine
@needs_megatron
def test_a_slow_rank_of_a_megatron_job(start):
    """TP2 × PP2 × DP2: rank 5 is compared with its stage, and not with those who wait for it."""
    job = start(ranks=8, sensitivity=15, window_s=8, script="tests/online/megatron_job.py",
                environment={"PYTHONPATH": str(MEGATRON)})
    with faults.switched_on(job.folder, "burn-5"):
        document = job.diagnosed()
    diagnosis = first(document)
    assert (diagnosis["cause"], diagnosis["ranks"]) == ("code.slow_function", [5])
    assert diagnosis["function"]["name"] == "burn_python"
    assert [group["ranks"] for group in document["peer_groups"]] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert job.stop() == 0


@quiet_machine
def test_a_healthy_job(start):
    job = start(baseline=1)
    step = job.step()
    job.until(lambda: job.step() > step + 500, "500 steps")
    assert job.documents() == []
    assert job.stop() == 0
