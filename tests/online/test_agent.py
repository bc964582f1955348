"""`eroica status`, `trigger`, `env` and `agent` around real jobs that are healthy, so that a busy machine does no harm."""

import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest
from live_job import (EROICA, POLICY, documents, job_environment, kill_all, needs_root, needs_torch, torchrun,
                      training_script, until)

DEADLINE_S = 300  # a busy machine imports torch for minutes

pytestmark = needs_torch


class Place:
    """A folder of job folders that no other job on this machine has, and what runs in it."""

    def __init__(self, folder):
        self.folder = folder
        self.jobs = tempfile.mkdtemp(prefix="er-", dir="/tmp")
        self.stop_file = folder / "stop"
        self.processes = []
        script = training_script(folder / "train.py", most_steps=1_000_000)
        # No window but those that are asked for.
        (folder / "policy.toml").write_text(POLICY + '[eligible]\njobs = ["nobody"]\n[keep]\nleave_free_gb = 0\n')
        self.train = torchrun(2, script, self.stop_file)
        self.environment = job_environment(EROICA_JOBS_DIR=self.jobs)
        self.logs = 0

    def start(self, *command):
        self.logs += 1
        path = self.folder / ("log-%d" % self.logs)
        process = subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=open(path, "w"),
                                   stderr=subprocess.STDOUT, start_new_session=True)
        process.log = path
        self.processes.append(process)
        return process

    def run(self, *options):
        return self.start(EROICA, "run", "--policy", str(self.folder / "policy.toml"), "--job", "job7",
                          "--json", str(self.folder / "diagnoses.jsonl"), *options, "--", *self.train)

    def agent(self, *options):
        return self.start(EROICA, "agent", "--policy", str(self.folder / "policy.toml"),
                          "--json", str(self.folder / "diagnoses.jsonl"), *options)

    def attached(self, job="job7"):
        """A job as users start it: by a shell, which ends with it."""
        return self.start("sh", "-c", 'eval "$("$0" env --job %s)" && "$@"; exit $?' % job, EROICA, *self.train)

    def eroica(self, *arguments, timeout=DEADLINE_S):
        return subprocess.run([EROICA, *arguments], env=self.environment, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=timeout)

    def status(self, job="job7"):
        """What is told of the job; empty where it is not watched."""
        done = self.eroica("status", "--format", "json")
        assert done.returncode == 0, done.stderr
        for one in json.loads(done.stdout)["jobs"]:
            if one["job"] == job and one["watched"]:
                return one
        return {}

    def log(self):
        return "\n".join(process.log.read_text() for process in self.processes)

    def until(self, condition, what, job_fails=False):
        def met():
            assert job_fails or " FAILED\n" not in self.log(), self.log()
            return condition()

        return until(met, what, self.log, DEADLINE_S)

    def has_steps(self, steps=5, job="job7", ranks=2):
        def condition():
            now = self.status(job)
            return now.get("ranks") == ranks and now["step"] >= steps and now

        return self.until(condition, "steps")

    def documents(self):
        return documents(self.folder / "diagnoses.jsonl")

    def trigger(self, *options):
        done = self.eroica("trigger", "job7", "--window", "2s", "--wait", "--format", "json", *options)
        assert done.returncode in (0, 1), done.stderr + "\n" + self.log()
        document = json.loads(done.stdout)
        assert document["coverage"]["ranks_seen"] == 2, document["coverage"]
        assert document["window"]["start_unix_ns"] in [d["window"]["start_unix_ns"] for d in self.documents()]
        assert done.returncode == (0 if document["healthy"] else 1)
        return document

    def end(self, process):
        self.stop_file.touch()
        return process.wait(timeout=DEADLINE_S)

    def folders(self):
        return glob.glob(self.jobs + "/eroica-*")

    def close(self):
        for process in self.processes:
            kill_all(process, self.stop_file)
        shutil.rmtree(self.jobs, ignore_errors=True)


@pytest.fixture
def place(tmp_path):
    place = Place(tmp_path)
    yield place
    place.close()


def test_a_window_that_somebody_asks_for(place):
    job = place.run("--keep", str(place.folder / "kept"))
    status = place.has_steps(30)
    assert (status["watcher"], status["world_size"], status["state"] in ("learning", "healthy", "slow")) == ("run", 2, True)
    assert status["step_ms"] > 0
    text = place.eroica("status", "job7").stdout
    assert text.startswith("job7: ") and "ranks       2" in text and "eroica run" in text
    assert 0 < status["probe_us_per_step"] < 5000 and 0 < status["probe_percent"] < 10 and 0 < status["watcher_percent"] < 50
    assert "µs a step" in text and "of a core here" in text

    document = place.trigger("--reason", "the loss is odd")
    assert document["job"]["world_size"] == 2
    assert 1500 < document["window"]["duration_ms"] < 2500
    assert document["budget"]["probe_us_per_step"] > 0 and document["budget"]["watcher_percent"] > 0
    assert "as asked: the loss is odd" in job.log.read_text()
    status = place.status()
    assert status["windows"] == 1 and status["last_window"]["id"] == "window-1"
    (kept,) = (place.folder / "kept").iterdir()
    assert kept.name.endswith("Z-window-1") and (kept / "bundle.json").exists()

    unknown = place.eroica("trigger", "job8")
    assert unknown.returncode == 2 and "job7" in unknown.stderr
    begun = place.eroica("trigger", "job7")
    assert begun.returncode == 0 and begun.stdout.startswith("window-2 of 2 ranks begins in ")
    busy = place.eroica("trigger", "job7")
    assert busy.returncode == 2 and "window-2 is being taken" in busy.stderr

    # The job ends in the middle of it.
    place.until(lambda: place.status().get("window", {}).get("stage") in ("tracing", "collecting"), "tracing")
    os.killpg(job.pid, signal.SIGTERM)
    job.wait(timeout=DEADLINE_S)
    place.until(lambda: not place.folders(), "no folder is left")
    assert place.eroica("status").stdout == "there is no job on this host\n"


def test_sockets_that_are_removed_and_a_client_that_sends_garbage(place):
    job = place.run()
    status = place.has_steps()
    folder = status["folder"]
    for name in ("probe", "dynolog"):
        garbage = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        garbage.settimeout(DEADLINE_S)
        garbage.bind(folder + "/garbage-" + name)
        for bytes_ in (b"", b"\0" * 39, b"ERP1\x02{", b"ERP1\x02" + b"[" * 50_000, os.urandom(1000), b"\xff" * 50_000):
            garbage.sendto(bytes_, folder + "/" + name)
        garbage.close()
    place.until(lambda: place.status().get("refused", 0) >= 10, "refused datagrams")
    for name in ("probe", "dynolog", "control"):
        os.unlink(folder + "/" + name)
    place.until(lambda: "had been removed; there are new ones" in job.log.read_text(), "new sockets")
    step = place.until(place.status, "a status")["step"]
    place.has_steps(step + 10)
    place.trigger()
    # All of it, and with it the sockets by which Kineto is reached.
    shutil.rmtree(folder)
    step = place.until(place.status, "a status")["step"]
    place.has_steps(step + 10)
    assert os.stat(folder).st_mode & 0o777 == 0o700
    assert place.end(job) == 0
    assert not place.folders()


def test_a_job_under_an_agent_that_dies(place):
    job = place.attached()
    place.until(lambda: glob.glob(place.jobs + "/eroica-job-*/probe-*"), "probes")  # before there is an agent
    assert "no agent watches it" in place.eroica("status").stdout
    agent = place.agent()
    status = place.has_steps()
    assert status["watcher"] == "agent"
    place.trigger()

    os.killpg(agent.pid, signal.SIGKILL)
    agent.wait()
    place.until(lambda: not place.status(), "nobody watches")
    assert job.poll() is None
    agent = place.agent()
    place.has_steps(status["step"] + 1)
    place.trigger()

    assert place.end(job) == 0
    place.until(lambda: not place.folders(), "the folder is collected")
    assert "job7: has ended" in agent.log.read_text()
    agent.terminate()
    assert agent.wait(timeout=DEADLINE_S) == 0
    assert not os.listdir(place.jobs)


def processes_of(place, job):
    wanted = {b"EROICA_JOB=" + job.encode(), b"EROICA_JOBS_DIR=" + place.jobs.encode()}
    found = []
    for folder in glob.glob("/proc/[0-9]*"):
        try:
            if wanted <= set(Path(folder, "environ").read_bytes().split(b"\0")):
                found.append(int(os.path.basename(folder)))
        except OSError:
            pass
    return found


def pid_of_rank(place, job, rank):
    (pid,) = [pid for pid in processes_of(place, job)
              if b"RANK=%d" % rank in Path("/proc/%d/environ" % pid).read_bytes().split(b"\0")]
    return pid


def test_a_rank_that_is_killed_under_an_agent(place):
    agent = place.agent()
    job = place.attached()
    place.has_steps()
    os.kill(pid_of_rank(place, "job7", 1), signal.SIGKILL)
    place.until(place.documents, "a diagnosis", job_fails=True)
    assert job.wait(timeout=DEADLINE_S) != 0
    place.until(lambda: "job7: has ended" in agent.log.read_text(), "the job's end", job_fails=True)
    (document,) = place.documents()
    (diagnosis,) = document["diagnoses"]
    assert (diagnosis["cause"], diagnosis["ranks"]) == ("blocked.process_dead", [1])
    assert "killed by signal 9 (SIGKILL)" in diagnosis["summary"]


# Other numbers of processes, another network, other mounts: what remains in common is the job's folder.
CONTAINER = ["unshare", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc", "--net", "--uts", "sh", "-c",
             'hostname box && ip link set lo up && exec "$@"', "sh"]


@needs_root
def test_ranks_in_a_container(place):
    if subprocess.run([*CONTAINER, "true"], capture_output=True).returncode != 0:
        pytest.skip("no namespaces can be made here")
    agent = place.agent()
    variables = place.eroica("env", "--job", "job7", "--format", "plain").stdout.split("\n")
    inside = [*variables[:-1], "GLOO_SOCKET_IFNAME=lo"]
    launcher = [*place.train[:3], "--local-addr", "127.0.0.1", *place.train[3:]]
    job = place.start(*CONTAINER, "env", *inside, *launcher)
    status = place.has_steps()
    names = glob.glob(status["folder"] + "/probe-*")
    assert names and all(int(name.split("-")[-2]) < 1000 for name in names), "numbers of the container"
    document = place.trigger()
    assert "from inside" not in agent.log.read_text()
    assert document["coverage"]["hosts_seen"] == 1
    # Its process is looked at by the number that it has here.
    os.kill(pid_of_rank(place, "job7", 1), signal.SIGKILL)
    place.until(lambda: len(place.documents()) > 1, "a diagnosis", job_fails=True)
    (diagnosis,) = place.documents()[-1]["diagnoses"]
    assert (diagnosis["cause"], diagnosis["ranks"]) == ("blocked.process_dead", [1])
    assert "killed by signal 9 (SIGKILL)" in diagnosis["summary"]
    assert job.wait(timeout=DEADLINE_S) != 0


def test_two_jobs_and_one_that_comes_back(place):
    agent = place.agent()
    first, second = place.attached("job7"), place.attached("job8")
    place.has_steps(job="job7")
    place.has_steps(job="job8")
    ambiguous = place.eroica("trigger", "job")
    assert ambiguous.returncode == 2 and "job7" in ambiguous.stderr and "job8" in ambiguous.stderr
    # All of the first is killed, and started again under the same id.
    first_ranks = processes_of(place, "job7")
    os.killpg(first.pid, signal.SIGKILL)
    for pid in first_ranks:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
    first.wait()
    place.until(lambda: place.status("job7").get("ranks") != 2, "no ranks")
    again = place.attached("job7")
    place.until(lambda: place.status("job7").get("ranks") == 2 and again.poll() is None, "ranks")
    place.trigger()
    place.stop_file.touch()
    assert again.wait(timeout=DEADLINE_S) == 0 and second.wait(timeout=DEADLINE_S) == 0
    place.until(lambda: not place.folders(), "folders are collected")
    agent.send_signal(signal.SIGINT)
    assert agent.wait(timeout=DEADLINE_S) == 0


def fill(folder):
    with open(os.path.join(folder, "rest"), "wb", buffering=0) as rest:
        try:
            while True:
                rest.write(b"x" * 65536)
        except OSError:
            pass


@needs_root
def test_full_disks_are_told_and_training_goes_on(place):
    kept = str(place.folder / "kept")
    os.mkdir(kept)
    mounted = []
    try:
        for path, size in ((place.jobs, "64m"), (kept, "1m")):
            if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=" + size, "tmpfs", path]).returncode != 0:
                pytest.skip("nothing can be mounted here")
            mounted.append(path)
        fill(kept)
        job = place.run("--keep", kept)
        place.has_steps()
        place.trigger()
        assert "the window cannot be kept" in job.log.read_text()
        assert os.listdir(kept) == ["rest"]

        fill(place.jobs)
        done = place.eroica("trigger", "job7", "--window", "2s", "--wait")
        assert done.returncode in (0, 1, 2)  # a trace that was cut may still tell something
        step = place.status()["step"]
        place.has_steps(step + 10)
        os.unlink(place.jobs + "/rest")
        place.trigger()
        assert place.end(job) == 0
        assert not place.folders()
    finally:
        for path in mounted:
            subprocess.run(["umount", "-l", path])


@needs_root
def test_root_looks_at_a_users_job_with_the_users_rights(place):
    """A user's folder is watched by a process of that user; what he puts there is not seen with root's eyes."""
    user = 65534
    os.chmod(place.jobs, 0o1777)
    done = subprocess.run([EROICA, "env", "--job", "theirs"], env=place.environment, user=user, group=user,
                          extra_groups=[], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip("another user cannot run eroica here: " + done.stderr)
    agent = place.agent()
    status = place.until(lambda: place.status("theirs"), "a status")
    assert status["watcher_pid"] != agent.pid
    lines = Path("/proc/%d/status" % status["watcher_pid"]).read_text().splitlines()
    (uids,) = [line.split()[1:] for line in lines if line.startswith("Uid:")]
    (capabilities,) = [line.split()[1] for line in lines if line.startswith("CapPrm:")]
    assert set(uids) == {str(user)} and int(capabilities, 16) == 0
    agent.kill()
    agent.wait()
    place.until(lambda: not os.path.exists("/proc/%d" % status["watcher_pid"]), "its process ends with it")
