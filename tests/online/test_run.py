"""`eroica run` around a real job."""

import glob
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from live_job import (EROICA, POLICY, documents, job_environment, kill_all, needs_torch, quiet_machine, torchrun,
                      training_script, until)

DEADLINE_S = 150

pytestmark = needs_torch


class Run:
    def __init__(self, folder, body="pass", most_steps=100_000, status=0, policy=POLICY, options=(), before=""):
        self.folder = folder
        self.stop_file = folder / "stop"
        self.json = folder / "diagnoses.jsonl"
        script = training_script(folder / "train.py", body, before, most_steps, status)
        (folder / "policy.toml").write_text(policy)
        before = set(glob.glob("/tmp/eroica-run-*"))
        self.error = open(folder / "stderr", "w+")
        self.process = subprocess.Popen(
            [EROICA, "run", "--policy", str(folder / "policy.toml"), "--json", str(self.json), *options, "--",
             *torchrun(2, script, self.stop_file)],
            env=job_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.error,
            start_new_session=True,
        )
        self.before = before

    def folders(self):
        return set(glob.glob("/tmp/eroica-run-*")) - self.before

    def stderr(self):
        return (self.folder / "stderr").read_text()

    def diagnoses(self):
        return documents(self.json)

    def until(self, condition, what):
        return until(condition, what, self.stderr, DEADLINE_S, self.process)

    def stop(self):
        self.stop_file.touch()
        return self.process.wait(timeout=DEADLINE_S)

    def children(self):
        out = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.process.pid)], capture_output=True, text=True)
        return [int(pid) for pid in out.stdout.split()]

    def close(self):
        kill_all(self.process, self.stop_file)
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


def test_a_window_of_the_healthy_job(run, tmp_path):
    job = run(policy=BASELINE, options=["--keep", str(tmp_path / "kept")])
    job.until(lambda: "the healthy window is taken" in job.stderr() or job.diagnoses(), "a window")
    errors = job.stderr()
    assert "profiling 2 ranks for 3.0 s, to compare later windows with" in errors
    assert "from inside" not in errors and "no trace" not in errors, errors
    assert job.stop() == 0
    (bundle,) = (tmp_path / "kept").glob("*-window-1")
    ranks = json.loads((bundle / "bundle.json").read_text())["ranks"]
    done = subprocess.run([EROICA, "analyze", str(bundle), "--format", "json"], capture_output=True, text=True)
    for rank in json.loads(done.stdout)["profile"]["steps"]["ranks"]:
        edges = ranks[rank["rank"]]["edges"]
        numbers = [step["number"] for step in rank["steps"]]
        assert numbers[0] == edges["start"]["step"] + 1, "steps are numbered as the job does"
        assert edges["end"]["step"] in numbers[-2:]


@pytest.mark.skipif(shutil.which("py-spy") is None, reason="no py-spy")
def test_python_is_sampled_from_outside(run, tmp_path):
    job = run("time.sleep(0.03)", policy=BASELINE.replace("[window]", '[window]\nstacks = "sample"'),
              options=["--keep", str(tmp_path / "kept")])
    job.until(lambda: "the healthy window is taken" in job.stderr() or job.diagnoses(), "a window")
    assert "without Python stacks" not in job.stderr(), job.stderr()
    assert job.stop() == 0
    (bundle,) = (tmp_path / "kept").glob("*-window-1")
    assert all(rank["stacks"] for rank in json.loads((bundle / "bundle.json").read_text())["ranks"])
    assert not any(b'"python_function"' in trace.read_bytes() for trace in bundle.glob("rank*.json"))
    done = subprocess.run([EROICA, "analyze", str(bundle), "--format", "json"], capture_output=True, text=True)
    found = [row for row in json.loads(done.stdout)["profile"]["functions"] if "augment" in row["name"]]
    assert found and found[0]["file"].endswith("train.py") and found[0]["line"] == 8, found
    for rank in found[0]["ranks"]:
        assert 25 < rank["exposed_ms_per_step"] < 40, found


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
