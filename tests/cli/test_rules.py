"""`eroica rules`, and rules of the operator's own."""

import json

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
    assert {"cause": "site.fan", "title": "Fan is off", "facts": ["gpu.temperature"]} in rules


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
