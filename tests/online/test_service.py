"""A real job that tells a real server."""

import json
import os
import re
import signal
import subprocess
import urllib.request

import pytest
from live_job import EROICA, POLICY, job_environment, kill_all, needs_torch, torchrun, training_script, until

DEADLINE_S = 150

pytestmark = needs_torch


class Server:
    def __init__(self, folder, port=0):
        self.process = subprocess.Popen([EROICA, "serve", "--listen", f"127.0.0.1:{port}", "--store", str(folder / "eroica.db")],
                                        stderr=subprocess.PIPE, text=True)
        self.port = int(re.search(r"127\.0\.0\.1:(\d+)", self.process.stderr.readline())[1])
        self.url = f"http://127.0.0.1:{self.port}"

    def ask(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"} if data else {})
        with urllib.request.urlopen(request, timeout=30) as response:
            return json.loads(response.read())

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()


@pytest.fixture
def world(tmp_path):
    """Starts servers and jobs, and ends them."""
    ends = []

    class World:
        def serve(self, port=0):
            server = Server(tmp_path, port)
            ends.append(server.kill)
            return server

        def run(self, server, body):
            script = training_script(tmp_path / "train.py", body, "", 100_000, 0)
            (tmp_path / "policy.toml").write_text(POLICY)
            stop = tmp_path / "stop"
            self.log = tmp_path / "stderr"
            error = open(self.log, "w")
            process = subprocess.Popen([EROICA, "run", "--job", "job7", "--server", server.url, "--policy",
                                        str(tmp_path / "policy.toml"), "--", *torchrun(2, script, stop)],
                                       env=job_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=error, start_new_session=True)
            ends.append(lambda: (kill_all(process, stop), error.close()))
            return process, stop

        def until(self, condition, what, process):
            return until(condition, what, lambda: self.log.read_text(), DEADLINE_S, process)

    yield World()
    for end in reversed(ends):
        end()


def test_a_hang_becomes_an_incident_also_while_the_server_is_killed(world):
    server = world.serve()
    process, _ = world.run(server, "while rank == 1 and step >= 100: time.sleep(0.1)")
    world.until(lambda: [j for j in server.ask("/api/v1/jobs")["jobs"] if j["ranks"] == 2], "the job", process)
    server.kill()  # what happens now is told later
    world.until(lambda: "blocked: no step" in world.log.read_text(), "the hang", process)
    server = world.serve(server.port)
    incidents = lambda: [i for i in server.ask("/api/v1/incidents?state=open")["incidents"] if i["cause"]]
    world.until(incidents, "the incident", process)
    (incident,) = incidents()
    assert (incident["kind"], incident["cause"]) == ("blocked", "blocked.rank")
    assert incident["onset_unix_ns"] <= incident["detected_unix_ns"] <= incident["localised_unix_ns"]
    document = server.ask(f"/api/v1/incidents/{incident['id']}/document")
    assert document["documents"][0]["blocked"]["missing"] == [1]
    world.until(lambda: server.ask("/api/v1/jobs/job7")["state"] == "blocked", "the state", process)
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=DEADLINE_S)
    ended = server.ask(f"/api/v1/incidents/{incident['id']}")
    assert (ended["state"], ended["resolution"]) == ("closed", "ended")
    assert ended["lost_gpu_s"] > 0
    assert server.ask("/api/v1/jobs/job7")["state"] == "ended"


def test_a_window_that_is_asked_for_at_the_server_is_taken(world):
    server = world.serve()
    process, stop = world.run(server, "pass")
    at = lambda: server.ask("/api/v1/jobs/job7")
    world.until(lambda: server.ask("/api/v1/jobs")["jobs"] and at()["ranks"] == 2 and at()["step"] > 20, "the job", process)
    server.ask("/api/v1/jobs/job7/trigger", {"window_s": 1, "reason": "a test"})
    world.until(lambda: at()["orders"][0]["state"] == "taken", "the order", process)
    world.until(lambda: server.ask("/api/v1/jobs/job7/diagnoses")["diagnoses"], "the diagnosis", process)
    number = server.ask("/api/v1/jobs/job7/diagnoses")["diagnoses"][0]["id"]
    assert server.ask(f"/api/v1/diagnoses/{number}")["coverage"]["ranks_seen"] == 2
    stop.touch()
    assert process.wait(timeout=DEADLINE_S) == 0
    assert "profiling 2 ranks" in world.log.read_text()


def test_a_job_runs_as_ever_without_its_server(world, tmp_path):
    server = world.serve()
    server.kill()
    process, stop = world.run(server, "pass")
    world.until(lambda: os.path.exists(str(stop) + ".100"), "steps", process)
    stop.touch()
    assert process.wait(timeout=DEADLINE_S) == 0
    assert "the server is told of nothing" in world.log.read_text()
