"""`eroica doctor` with a Python that has torch, with one that has none, and with none at all."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from live_job import EROICA, PYTHON, needs_torch

NAMES = ["torch", "trace_disk", "limits", "socket_queue", "ptrace", "perf_events", "cgroup", "pressure", "processes",
         "clock", "nvidia", "amd", "signals"]


def doctor(*options, jobs="/tmp", timeout=180):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("EROICA_", "PYTHON"))}
    environment["EROICA_JOBS_DIR"] = str(jobs)
    done = subprocess.run([EROICA, "doctor", *options], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env=environment, timeout=timeout)
    return done


def checks(*options, **more):
    done = doctor("--format", "json", *options, **more)
    found = json.loads(done.stdout)["checks"]
    missing = [check for check in found if check["state"] == "missing"]
    assert done.returncode == (1 if missing else 0), done.stderr
    for check in found:
        assert check["state"] in ("ok", "limited", "missing")
        assert (check["state"] == "ok") == (check["remedy"] == "") == (check["cost"] == ""), check
    return {check["name"]: check for check in found}


@needs_torch
def test_a_python_with_torch():
    found = checks("--python", PYTHON)
    for name in ("torch", "probe", "step_hook", "flight_recorder", "kineto_daemon"):
        assert found[name]["state"] == "ok", found[name]
    assert set(NAMES) <= set(found)
    assert PYTHON in found["torch"]["found"]
    assert not [name for name in os.listdir("/tmp") if name.startswith("eroica-run-new")]


@pytest.mark.parametrize("python, says", [("/nowhere/python3", "No such file"), ("false", "without a word")])
def test_a_python_that_is_none(python, says):
    found = checks("--python", python)
    assert found["torch"]["state"] == "missing" and says in found["torch"]["found"]
    text = doctor("--python", python).stdout
    assert "missing  torch" in text and "remedy: name the Python of the jobs with --python" in text


def test_a_python_without_torch(tmp_path):
    lacking = tmp_path / "python"
    lacking.write_text("#!/bin/sh\nexec %s -S \"$@\"\n" % Path(sys.executable).resolve())
    lacking.chmod(0o755)
    found = checks("--python", str(lacking))
    assert found["torch"]["state"] == "missing" and "torch" in found["torch"]["found"]


def test_a_place_where_nothing_can_be_written(tmp_path):
    found = checks("--python", "false", jobs=tmp_path / "none")
    assert found["trace_disk"]["state"] == "missing"
