"""`eroica rules`, and rules of the operator's own."""

import json
import os
from pathlib import Path

import pytest

OWN = """
[[rule]]
cause = "site.fan"
title = "Fan is off"
subject = "signal"
say = "The fan of {component} is off."
action = "Switch it on."
[[rule.evidence]]
need = "required"
fact = "gpu.temperature"
above = 95
"""


def test_the_standard_rules_are_fine(eroica):
    result = eroica("rules", "check")
    assert result.returncode == 0 and result.stderr == ""
    assert result.stdout.endswith(" rules, no problems\n") and int(result.stdout.split()[0]) > 60


def test_check_names_file_and_line(eroica, tmp_path):
    (tmp_path / "a.toml").write_text(OWN)
    (tmp_path / "b.toml").write_text(OWN.replace("title", "titel"))
    (tmp_path / "notes.txt").write_text("not a rule")
    result = eroica("rules", "check", tmp_path)
    assert result.returncode == 1
    assert f"{tmp_path}/b.toml:4: unknown key 'titel'; did you mean 'title'?" in result.stdout
    assert eroica("rules", "check", tmp_path / "a.toml").returncode == 0


@pytest.mark.parametrize("arguments", [
    ["rules"], ["rules", "improve"], ["rules", "explain"], ["rules", "explain", "gpu.thermal_throtle"],
    ["rules", "list", "--format", "xml"], ["rules", "check", "/nowhere/at/all"], ["rules", "list", "--rules", "/nowhere"],
])
def test_wrong_usage(eroica, arguments):
    result = eroica(*arguments)
    assert result.returncode == 64 and result.stdout == ""
    assert result.stderr.startswith("eroica: error: ")


def test_a_cause_that_is_not_there_is_guessed(eroica):
    assert "did you mean gpu.thermal_throttle?" in eroica("rules", "explain", "gpu.thermal_throtle").stderr


def test_folder_without_rules(eroica, tmp_path):
    result = eroica("rules", "check", tmp_path)
    assert result.returncode == 64 and "no *.toml" in result.stderr


def test_list(eroica, tmp_path):
    (tmp_path / "own.toml").write_text(OWN)
    text = eroica("rules", "list", "--rules", tmp_path).stdout
    assert "gpu.thermal_throttle" in text and "site.fan" in text
    rules = json.loads(eroica("rules", "list", "--rules", tmp_path, "--format", "json").stdout)["rules"]
    assert [r["cause"] for r in rules] == sorted(r["cause"] for r in rules)
    (own,) = [rule for rule in rules if rule["cause"] == "site.fan"]
    assert (own["title"], own["facts"]) == ("Fan is off", ["gpu.temperature"])
    assert [signal["name"] for signal in own["signals"]] == ["gpu.temperature"]


def test_list_says_what_this_host_cannot_supply(eroica):
    rules = {rule["cause"]: rule for rule in json.loads(eroica("rules", "list", "--format", "json").stdout)["rules"]}
    for rule in rules.values():
        assert {signal["name"] for signal in rule["signals"]} <= set(rule["facts"])
        for signal in rule["signals"]:
            assert signal["supplied"] == ("why" not in signal)
    (gc,) = [signal for signal in rules["python.gc_pause"]["signals"] if signal["name"] == "python.gc"]
    assert gc == {"name": "python.gc", "supplied": False, "why": "nothing reads it yet"}
    assert "not on this host: " in eroica("rules", "list").stdout


STAND_INS = Path(os.environ.get("EROICA") or Path(__file__).resolve().parents[2] / "build/release/eroica").parent / "stand_in"


@pytest.mark.skipif(not STAND_INS.is_dir(), reason="no stand-ins were built")
def test_list_asks_the_gpus(eroica, tmp_path):
    (tmp_path / "gpus").write_text("device GPU-1 00000000:17:00.0 NVIDIA H100\nset celsius 0 50\n")
    environment = {"LD_LIBRARY_PATH": str(STAND_INS / "nvml"), "EROICA_STAND_IN": str(tmp_path / "gpus")}
    answer = json.loads(eroica("rules", "list", "--format", "json", env=environment).stdout)
    signals = {signal["name"]: signal for rule in answer["rules"] for signal in rule["signals"]}
    assert signals["gpu.temperature"]["supplied"]
    assert signals["gpu.sm_clock"] == {"name": "gpu.sm_clock", "supplied": False, "why": "these GPUs do not tell it"}


@pytest.mark.skipif(not STAND_INS.is_dir(), reason="no stand-ins were built")
def test_gpus_that_hang_hold_nothing_up(eroica, tmp_path):
    (tmp_path / "gpus").write_text("device GPU-1 00000000:17:00.0 NVIDIA H100\nhang nvmlDeviceGetCount_v2\n")
    environment = {"LD_LIBRARY_PATH": str(STAND_INS / "nvml"), "EROICA_STAND_IN": str(tmp_path / "gpus")}
    result = eroica("rules", "list", env=environment)
    assert result.returncode == 0
    assert "gpu.temperature (nvmlDeviceGetCount_v2 does not come back)" in result.stdout


def test_explain(eroica):
    text = eroica("rules", "explain", "gpu.thermal_throttle").stdout
    for part in ("Required, at least one", "Makes it surer", "Speaks against it", "Loses to", "What to do",
                 "gpu.throttle_thermal above 5 %"):
        assert part in text
    assert max(map(len, text.splitlines())) <= 100
    rule = json.loads(eroica("rules", "explain", "gpu.thermal_throttle", "--format", "json").stdout)
    assert rule["cause"] == "gpu.thermal_throttle" and rule["evidence"][0]["need"] == "any"


def test_own_rules_replace(eroica, tmp_path):
    (tmp_path / "own.toml").write_text(OWN.replace("site.fan", "gpu.shared"))
    assert "Fan is off" in eroica("rules", "explain", "gpu.shared", "--rules", tmp_path / "own.toml").stdout


def test_every_rule_can_be_explained(eroica):
    for rule in json.loads(eroica("rules", "list", "--format", "json").stdout)["rules"]:
        assert rule["title"] in eroica("rules", "explain", rule["cause"]).stdout


def test_analyze_takes_rules(eroica, job, tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    (own / "a.toml").write_text(OWN.replace('"signal"', '"time"').replace("gpu.temperature", "time.excess_ms")
                                .replace("95", "1e9"))
    usual = eroica("analyze", job)
    assert eroica("analyze", job, "--rules", own).stdout == usual.stdout
    (own / "a.toml").write_text(OWN.replace("title", "titel"))
    result = eroica("analyze", job, "--rules", own)
    assert result.returncode == usual.returncode and "a.toml:4: unknown key 'titel'" in result.stderr
    result = eroica("analyze", job, "--rules", tmp_path / "none")
    assert result.returncode == 64 and result.stdout == ""


def test_help_has_examples(eroica):
    result = eroica("rules", "--help")
    assert result.returncode == 0 and "eroica rules explain" in result.stdout
