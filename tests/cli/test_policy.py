"""`eroica policy`: checking policies and trying them on recorded steps."""

import json
import math
import os
import random
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RECORDED = Path(os.environ.get("EROICA_SHARED") or ROOT.parent / "shared") / "data" / "steps"


def steps(seed=1, count=800, seconds=0.1, onset=None, slower=1.0):
    draw = random.Random(seed)
    return [seconds * math.exp(0.02 * draw.gauss(0, 1)) * (slower if onset is not None and k >= onset else 1)
            for k in range(count)]


def write(path, **content):
    path.write_text(json.dumps(content))
    return path


def test_show_is_a_policy_without_problems(eroica, tmp_path):
    shown = eroica("policy", "show")
    assert shown.returncode == 0
    path = tmp_path / "policy.toml"
    path.write_text(shown.stdout)
    result = eroica("policy", "check", path)
    assert (result.returncode, result.stdout) == (0, "no problems\n")


@pytest.mark.parametrize("stacks", ["sample", "off"])
def test_stacks_can_be_sampled_or_turned_off(eroica, tmp_path, stacks):
    path = tmp_path / "policy.toml"
    path.write_text(eroica("policy", "show").stdout.replace('stacks = "trace"', f'stacks = "{stacks}"'))
    result = eroica("policy", "check", path)
    assert (result.returncode, result.stdout) == (0, "no problems\n")


def test_docs_show_the_default_policy(eroica):
    assert eroica("policy", "show").stdout in (ROOT / "docs" / "detector.md").read_text()


@pytest.mark.parametrize(("toml", "problem"), [
    ("[slow]\nshift_percen = 3", "p.toml:2: unknown key 'shift_percen'; did you mean 'shift_percent'? (in [slow])"),
    ("[slwo]", "p.toml:1: unknown key 'slwo'; did you mean 'slow'? (in the file)"),
    ("[slow]\nshift_percent = 0", "p.toml:2: 'shift_percent' is 0; it must lie between 0.5 and 100"),
    ("[slow]\nshift_percent = nan", "p.toml:2: 'shift_percent' is nan; it must lie between 0.5 and 100"),
    ("[slow]\nlearn_steps = 30.5", "p.toml:2: 'learn_steps' is 30.5; it must be a whole number"),
    ("[slow]\nlearn_steps = \"many\"", "p.toml:2: 'learn_steps' must be a number"),
    ("[slow]\nenabled = 1", "p.toml:2: 'enabled' must be true or false"),
    ("slow = 3", "p.toml:1: 'slow' must be a table, written as [slow]"),
    ("method = \"eroic\"", "p.toml:1: unknown method 'eroic'; did you mean 'eroica'?"),
    ("[eligible]\nhours_utc = [\"24:00-06:00\"]",
     "p.toml:2: '24:00-06:00' is no range of hours; expected as in '22:00-06:30'"),
    ("[window]\nstacks = \"trac\"", "p.toml:2: unknown stacks 'trac'; did you mean 'trace'?"),
    ("[window]\nstacks = true", "p.toml:2: 'stacks' must be a text"),
    ("[eligible]\njobs = []", "p.toml:2: 'jobs' must be a list of 1 to 100 texts"),
    ("[slow", "p.toml:1: no valid TOML"),
])
def test_check_names_what_is_wrong(eroica, tmp_path, toml, problem):
    path = tmp_path / "p.toml"
    path.write_text(toml)
    result = eroica("policy", "check", path)
    assert result.returncode == 1
    lines = result.stdout.splitlines()
    assert lines[0].startswith(str(tmp_path / problem)), lines[0]
    assert lines[-1] == "1 problem"


def test_check_of_what_cannot_be_read(eroica, tmp_path):
    result = eroica("policy", "check", tmp_path / "none.toml")
    assert result.returncode == 2 and "none.toml: no such file" in result.stderr and result.stdout == ""
    assert eroica("policy", "check", tmp_path).returncode == 2
    assert eroica("policy", "check").returncode == 64


def test_replay_tells_when_and_what(eroica, tmp_path):
    write(tmp_path / "slow.json", onset_step=400, step_seconds=[steps(7, onset=400, slower=1.5)] * 2)
    write(tmp_path / "good.json", onset_step=None, step_seconds=[steps(8)] * 2)
    result = eroica("policy", "replay", tmp_path / "slow.json", tmp_path / "good.json")
    assert result.returncode == 0 and result.stderr == ""
    assert "slow: all steps, since step 400" in result.stdout
    assert "good.json: 800 steps" in result.stdout and "healthy; no alarm" in result.stdout
    assert "1 of 1 faults told" in result.stdout and "0 false alarms in 1200 healthy steps" in result.stdout

    document = json.loads(eroica("policy", "replay", "--format", "json", tmp_path / "slow.json").stdout)
    assert document["schema"] == "eroica.replay/1"
    job = document["policies"][0]["jobs"][0]
    assert job["false_alarms"] == 0 and 5 <= job["delay_steps"] <= 25 and job["windows"] == 2
    slow = [event for event in job["events"] if event["event"] == "slow"]
    assert [event["kind"] for event in slow] == ["shift"] and slow[0]["window"]
    assert slow[0]["onset_step"] == 400 and slow[0]["level_ms"] == pytest.approx(150, rel=0.02)


def test_replay_compares_two_policies(eroica, tmp_path):
    records = write(tmp_path / "slow.json", onset_step=400, step_seconds=[steps(7, onset=400, slower=1.03)])
    policy = tmp_path / "coarse.toml"
    policy.write_text("[slow]\nshift_percent = 10\nlost_time_percent = 20\nlevel_rise_percent = 20\n[baseline]\ncount = 0\n")
    result = eroica("policy", "replay", "--policy", policy, "--against", "default", "--format", "json", records)
    ours, theirs = json.loads(result.stdout)["policies"]
    assert (ours["policy"], theirs["policy"]) == (str(policy), "default")
    assert (ours["total"]["told"], theirs["total"]["told"]) == (0, 1)
    assert (ours["total"]["windows"], theirs["total"]["windows"]) == (0, 2)
    assert "== policy default" in eroica("policy", "replay", "--policy", policy, "--against", "default", records).stdout


def test_replay_of_a_job_that_stood_still(eroica, tmp_path):
    times = steps(3, count=300)
    times[250] = 60.0
    result = eroica("policy", "replay", "--format", "json", write(tmp_path / "a.json", step_seconds=[times, times]))
    events = json.loads(result.stdout)["policies"][0]["jobs"][0]["events"]
    assert [event["event"] for event in events if event["event"] != "baseline"] == ["blocked", "unblocked"]
    blocked = next(event for event in events if event["event"] == "blocked")
    assert blocked["allowed_s"] == 10 and 10 < blocked["silent_s"] < 12
    assert blocked["last_steps"] == [{"rank": 0, "step": 249}, {"rank": 1, "step": 249}]


def test_replay_reads_folders_and_passes_over_what_it_cannot_use(eroica, tmp_path):
    folder = tmp_path / "incident"
    folder.mkdir()
    write(folder / "steps.json", step_seconds=[steps(4)])
    (tmp_path / "bad.json").write_text("{]")
    write(tmp_path / "odd.json", step_seconds=[[1, -3]])
    result = eroica("policy", "replay", "--format", "json", folder, tmp_path / "bad.json", tmp_path / "odd.json")
    assert result.returncode == 0
    assert "bad.json" in result.stderr and "odd.json: 'step_seconds' must hold numbers" in result.stderr
    jobs = json.loads(result.stdout)["policies"][0]["jobs"]
    assert [job["job"] for job in jobs] == ["incident"]


def test_replay_without_anything_to_use(eroica, tmp_path):
    (tmp_path / "bad.json").write_text("[]")
    result = eroica("policy", "replay", tmp_path / "bad.json", tmp_path / "none.json")
    assert result.returncode == 2 and result.stdout == ""
    good = write(tmp_path / "good.json", step_seconds=[steps()])
    (tmp_path / "p.toml").write_text("[slow]\nshift = 3")
    result = eroica("policy", "replay", "--policy", tmp_path / "p.toml", good)
    assert result.returncode == 2 and "p.toml:2: unknown key 'shift'" in result.stderr
    assert eroica("policy", "replay", "--policy", tmp_path / "none.toml", good).returncode == 2
    assert eroica("policy", "replay", "--format", "xml", good).returncode == 64
    assert eroica("policy", "replay").returncode == 64
    assert eroica("policy").returncode == 64


@pytest.mark.skipif(not RECORDED.exists(), reason="no recorded series at hand")
def test_recorded_series(eroica):
    result = eroica("policy", "replay", "--format", "json", *sorted(RECORDED.glob("*.json")))
    jobs = json.loads(result.stdout)["policies"][0]["jobs"]
    assert [(Path(job["file"]).stem, job["false_alarms"]) for job in jobs if job["false_alarms"]] == []
    delays = {Path(job["file"]).stem: job.get("delay_steps") for job in jobs if job["onset_step"] is not None}
    bounds = {"checkpoint": 30, "disk": 25, "gc": 10, "link-mild": 35, "link-strong": 12, "quota-mild": 150,
              "sequence": 120, "transform": 10, "validate": 60}
    assert {name for name in bounds if delays.get(name) is None or delays[name] > bounds[name]} == set(), delays


@pytest.mark.skipif(not RECORDED.exists(), reason="no recorded series at hand")
def test_published_rule_alarms_on_healthy_series(eroica):
    result = eroica("policy", "replay", "--policy", "eroica", "--format", "json", *sorted(RECORDED.glob("healthy-*.json")))
    assert json.loads(result.stdout)["policies"][0]["total"]["false_alarms"] > 0
