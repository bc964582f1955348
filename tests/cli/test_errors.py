"""Every way to use the command line wrongly, or to meet a hostile world, and what it says and returns."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from conftest import ROOT, make_trace, write_trace

USAGE, NO_INPUT, NO_OUTPUT = 64, 2, 74
READ = (0, 1)  # without and with a claim


def one_line_error(result, status):
    assert result.returncode == status, (result.stdout, result.stderr)
    assert result.stdout == ""
    assert result.stderr.startswith("eroica: error: ")
    return result.stderr


def test_missing_path(eroica, tmp_path):
    assert "nowhere" in one_line_error(eroica("analyze", tmp_path / "nowhere"), NO_INPUT)


def test_folder_without_traces(eroica, tmp_path):
    (tmp_path / "notes.txt").write_text("nothing here")
    assert str(tmp_path) in one_line_error(eroica("analyze", tmp_path), NO_INPUT)


def test_empty_folder(eroica, tmp_path):
    one_line_error(eroica("analyze", tmp_path), NO_INPUT)


@pytest.mark.parametrize("content", [b"", b"{}", b"not json at all", b"\x1f\x8b\x08", b"\x00" * 5000])
def test_file_that_is_no_trace(eroica, tmp_path, content):
    path = tmp_path / "rank0.json"
    path.write_bytes(content)
    error = one_line_error(eroica("analyze", path), NO_INPUT)
    assert "rank0.json" in error


def test_unreadable_file(eroica):
    # Root reads everything, so the binary runs as somebody else, in a folder that everybody may enter.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        for rank in range(2):
            write_trace(folder / f"rank{rank}.json", make_trace(rank, world_size=2)).chmod(0o644)
        (folder / "rank1.json").chmod(0)
        other = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        try:
            result = eroica("analyze", folder, **other)
        except PermissionError:
            pytest.skip("the binary lies where only root can run it")
    assert result.returncode in READ
    assert "rank1.json" in result.stderr and "\n1 of 2 ranks" in "\n" + result.stdout


@pytest.mark.parametrize("content", [b"no JSON", b"", b"\x1f\x8b\x08\x00"])
def test_one_bad_file_of_several_is_named_and_the_others_are_used(eroica, job, content):
    (job / "rank3.json.gz").write_bytes(content)
    result = eroica("analyze", job)
    assert result.returncode in READ
    assert "rank3.json.gz" in result.stderr
    assert "rank3.json.gz" in result.stdout
    assert "\n3 of 4 ranks" in "\n" + result.stdout
    assert "eroica: error" not in eroica("analyze", job, "--quiet").stderr


def test_all_bad_files_are_named(eroica, tmp_path):
    for k in range(3):
        (tmp_path / f"rank{k}.json").write_text('{"traceEvents": 5}')
    error = one_line_error(eroica("analyze", *sorted(tmp_path.iterdir())), NO_INPUT)
    assert all(f"rank{k}.json" in error for k in range(3))


def test_truncated_trace_is_used_and_counted(eroica, job):
    path = job / "rank0.json"
    path.write_bytes(path.read_bytes()[:-2000])
    result = eroica("analyze", job)
    assert result.returncode in READ
    assert "truncated 1" in result.stdout


def test_two_files_of_one_rank(eroica, tmp_path):
    for name in ("a.json", "b.json"):
        write_trace(tmp_path / name, make_trace(1))
    error = one_line_error(eroica("analyze", tmp_path), NO_INPUT)
    assert "a.json" in error and "b.json" in error


def test_symlink_loop(eroica, job):
    (job / "loop").symlink_to(job)
    (job / "self.json").symlink_to("self.json")
    assert eroica("analyze", job).returncode in READ


def test_rank_that_is_not_there(eroica, job):
    error = one_line_error(eroica("analyze", job, "--rank", "99"), USAGE)
    assert "rank 99" in error and "ranks 0-3" in error


def test_function_that_is_not_there(eroica, job):
    error = one_line_error(eroica("analyze", job, "--function", "no_such_thing"), USAGE)
    assert "no_such_thing" in error and "aten::mm" in error


@pytest.mark.parametrize("arguments", [
    [], ["frobnicate"], ["analyze"], ["analyze", "--frobnicate", "."], ["analyze", ".", "--format", "xml"],
    ["analyze", ".", "--rank", "x"], ["analyze", ".", "--rank", "-1"], ["analyze", ".", "--top", "many"],
    ["analyze", ".", "--jobs", "0"], ["analyze", ".", "--color", "blue"], ["analyze", ".", "-q", "-v"],
    ["summarize", "."], ["export", ".", "-o", "x.json"], ["analyze", ".", "--rank-from", "no group"],
    ["analyze", ".", "--rank-from", "(unclosed"], ["trigger"], ["trigger", "job", "--window", "0"],
    ["trigger", "job", "--window", "2h"], ["status", "a", "b"], ["env", "--job", "a/b"], ["env", "--format", "csh"],
    ["agent", "job"], ["agent", "--policy", "/nowhere"],
])
def test_wrong_usage(eroica, arguments):
    result = eroica(*arguments)
    assert result.returncode == USAGE
    assert result.stdout == "" and result.stderr != ""


@pytest.mark.parametrize("command", ["analyze", "summarize", "export"])
def test_help_has_examples_on_stdout(eroica, command):
    result = eroica(command, "--help")
    assert result.returncode in READ and result.stderr == ""
    assert "Examples:" in result.stdout and f"eroica {command}" in result.stdout


def test_version(eroica):
    texts = [eroica(*arguments).stdout for arguments in (["--version"], ["-V"], ["version"])]
    assert len(set(texts)) == 1 and re.fullmatch(r"eroica \d+\.\d+\.\d+\n", texts[0])


def options_of(eroica, *command):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", eroica(*command, "--help").stdout.split("Examples:")[0]))


@pytest.mark.parametrize("command", ["analyze", "summarize", "export", "rules", "run", "agent", "env", "status",
                                     "trigger", "doctor", "simulate", "serve", "token", "jobs", "incidents", "show",
                                     "changes", "feedback", "report"])
def test_every_option_is_in_the_completions_and_the_manual(eroica, command):
    options = options_of(eroica, command)
    if command == "rules":
        options |= options_of(eroica, "rules", "list") | options_of(eroica, "rules", "explain")
    elif command == "token":
        options |= options_of(eroica, "token", "add") | options_of(eroica, "token", "list")
    elif command in ("analyze", "summarize", "export"):
        assert {"--help", "--rank-from", "--jobs", "--output"} <= options
    bash = (ROOT / "completions/eroica.bash").read_text()
    zsh = (ROOT / "completions/eroica.zsh").read_text()
    fish = (ROOT / "completions/eroica.fish").read_text()
    manual = (ROOT / "docs/eroica.1").read_text().replace("\\-", "-")
    for option in options:
        assert option in bash.split(f"    {command})")[1].split(";;")[0] + bash.split("local options=")[1].split("\n")[0]
        assert option in zsh.split(f"    {command})")[1].split(";;")[0] + zsh.split("input=(")[1].split("\n  )")[0]
        assert f"-l {option[2:]} " in fish
        assert option in manual


def test_bash_completion_completes(eroica):
    script = f"source {ROOT}/completions/eroica.bash; COMP_WORDS=(eroica analyze --for); COMP_CWORD=2; _eroica; echo ${{COMPREPLY[@]}}"
    assert subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout == "--format\n"


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish")
def test_fish_completion_completes():
    def offered(line):
        script = f"source {ROOT}/completions/eroica.fish; complete -C '{line}'"
        done = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True, text=True, check=True)
        return {offer.split("\t")[0] for offer in done.stdout.splitlines()}

    assert {"analyze", "run", "trigger", "version"} <= offered("eroica ")
    assert offered("eroica analyze --for") == {"--format"}
    assert offered("eroica env --format ") == {"sh", "plain", "json"}
    assert "--watch-only" in offered("eroica run --") and "--wait" not in offered("eroica run --")


def test_output_is_whole_or_not_at_all(eroica, job, tmp_path):
    target = tmp_path / "out.json"
    target.write_text("before")
    result = eroica("analyze", job, "--rank", "99", "--format", "json", "-o", target)
    assert result.returncode == USAGE and target.read_text() == "before"
    assert eroica("analyze", job, "--format", "json", "-o", target).returncode in READ
    assert target.read_text() == eroica("analyze", job, "--format", "json").stdout
    assert sorted(p.name for p in tmp_path.iterdir()) == ["job", "out.json"]


def test_output_follows_links_and_keeps_the_mode(eroica, job, tmp_path):
    real = tmp_path / "real.txt"
    real.write_text("x")
    real.chmod(0o640)
    (tmp_path / "link.txt").symlink_to(real)
    assert eroica("analyze", job, "-o", tmp_path / "link.txt").returncode in READ
    assert (tmp_path / "link.txt").is_symlink()
    assert "\n4 ranks" in real.read_text() and real.stat().st_mode & 0o777 == 0o640


def test_full_disk(eroica, job):
    error = one_line_error(eroica("analyze", job, "-o", "/dev/full"), NO_OUTPUT)
    assert "/dev/full" in error and "No space left" in error
    with open("/dev/full", "wb") as full:
        result = eroica("analyze", job, stdout=full)
    assert result.returncode == NO_OUTPUT and "No space left" in result.stderr


def test_output_into_a_folder_that_is_not_there(eroica, job, tmp_path):
    error = one_line_error(eroica("analyze", job, "-o", tmp_path / "no/where.txt"), NO_OUTPUT)
    assert "where.txt" in error
    error = one_line_error(eroica("analyze", job, "-o", tmp_path), NO_OUTPUT)
    assert "directory" in error


def test_summarize_into_a_file(eroica, job, tmp_path):
    (tmp_path / "file").write_text("x")
    one_line_error(eroica("summarize", job, "-o", tmp_path / "file"), NO_OUTPUT)


def test_inputs_are_never_overwritten(eroica, job, tmp_path):
    before = {p.name: p.read_bytes() for p in job.iterdir()}
    assert "input" in one_line_error(eroica("analyze", job, "-o", job / "rank0.json"), USAGE)
    (tmp_path / "alias").symlink_to(job / "rank0.json")
    one_line_error(eroica("analyze", job, "-o", tmp_path / "alias"), USAGE)
    assert {p.name: p.read_bytes() for p in job.iterdir()} == before
    patterns = tmp_path / "patterns"
    assert eroica("summarize", job, "-o", patterns).returncode == 0
    assert eroica("summarize", patterns, "-o", patterns).returncode == USAGE
    rules = tmp_path / "rules"
    shutil.copytree(ROOT / "rules", rules)
    assert "rules" in one_line_error(eroica("analyze", job, "--rules", rules, "-o", rules / "cpu.toml"), USAGE)
    assert (rules / "cpu.toml").read_bytes() == (ROOT / "rules/cpu.toml").read_bytes()


def test_stray_pattern_files_are_mentioned(eroica, job, tmp_path):
    patterns = tmp_path / "patterns"
    patterns.mkdir()
    (patterns / "rank9.eroica").write_bytes(b"old")
    assert "rank9.eroica" in eroica("summarize", job, "-o", patterns).stderr


def test_reader_that_goes_away(eroica, job):
    process = subprocess.Popen([eroica.binary, "analyze", str(job), "--format", "json", "--top", "0"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    error = process.stderr.read()
    assert process.wait(timeout=120) in READ and error == b""


@pytest.mark.parametrize("closed", ["<&-", "2>&-", "<&- 2>&-"])
def test_closed_standard_streams(eroica, job, tmp_path, closed):
    target = tmp_path / "out.json"
    command = f'"{eroica.binary}" analyze "{job}" {closed}; "{eroica.binary}" analyze "{job}" --format json -o "{target}" {closed}'
    assert subprocess.run(["bash", "-c", command], stdout=subprocess.DEVNULL, check=False).returncode in READ
    assert target.read_text() == eroica("analyze", job, "--format", "json").stdout


@pytest.mark.parametrize("arguments", ["analyze JOB", "export --perfetto JOB -o -", "--help", "version"])
def test_closed_standard_output(eroica, job, arguments):
    command = f'"{eroica.binary}" {arguments.replace("JOB", str(job))} >&-'
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert result.returncode == NO_OUTPUT and "standard output: cannot be written" in result.stderr


def test_a_closed_standard_output_is_no_matter_when_writing_a_file(eroica, job, tmp_path):
    command = f'"{eroica.binary}" analyze "{job}" -o "{tmp_path}/out.txt" >&-'
    assert subprocess.run(["bash", "-c", command], check=False).returncode in READ


@pytest.mark.parametrize("arguments,message", [
    (["frobnicate"], "there is no command 'frobnicate'"),
    (["analyze", ".", "--top", "-1"], "error: --top: expected a whole number from 0\n"),
    (["analyze", ".", "--rank", "abc"], "error: --rank: expected a whole number from 0\n"),
    (["analyze", ".", "--rank", "0-1"], "error: --rank: expected a whole number from 0\n"),
    (["analyze", ".", "--jobs", "0"], "expected a whole number from 1 to 4096\n"),
    (["analyze", ".", "--format", "xml"], "error: --format: expected text, json or html, not 'xml'\n"),
    (["analyze", ".", "--format", "2"], "error: --format: expected text, json or html, not '2'\n"),
    (["analyze", ".", "--rank-from", "("], "error: --rank-from '(': not a regular"),
    (["analyze", ".", "--step-marker", ""], "--step-marker: must not be empty"),
    (["analyze", ".", "--function", ""], "--function: must not be empty"),
    (["analyze", ".", "--rank-from", ""], "--rank-from: must not be empty"),
    (["analyze", ".", "-o", ""], "must not be empty"),
    (["analyze", ""], "must not be empty"),
    (["export", "--perfetto", ".", "-o", "x", "--from", "nan"], "--from: expected a number of milliseconds"),
    (["analyze", ".", "--\x1b]0;owned\x07\u202e\u0085"], "not expected"),
])
def test_what_wrong_usage_is_told(eroica, arguments, message):
    result = eroica(*arguments)
    assert result.returncode == USAGE and message in result.stderr and result.stdout == ""
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", result.stderr)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_leaves_no_temporary_file(eroica, job, tmp_path, name):
    out = tmp_path / "out"
    out.mkdir()
    big = make_trace(0, world_size=1, steps=60_000)
    write_trace(tmp_path / "rank0.json", big)
    process = subprocess.Popen([eroica.binary, "export", "--perfetto", tmp_path / "rank0.json", "-o", out / "m.json.gz"])
    while process.poll() is None and not list(out.iterdir()):
        time.sleep(0.001)
    process.send_signal(getattr(signal, name))
    assert process.wait(timeout=120) == -getattr(signal, name)
    assert not list(out.iterdir())


def test_the_limit_of_file_size_leaves_no_temporary_file(eroica, job, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    command = f'ulimit -c 0; ulimit -f 1; exec "{eroica.binary}" analyze "{job}" --format html -o "{out}/x.html"'
    assert subprocess.run(["bash", "-c", command], check=False).returncode == -signal.SIGXFSZ
    assert not list(out.iterdir())


def test_traces_without_any_event(eroica, job, tmp_path):
    empty = make_trace(3)
    empty["traceEvents"] = []
    path = write_trace(job / "rank3.json.gz", empty)
    result = eroica("analyze", job)
    assert result.returncode in READ and "\n3 of 4 ranks" in "\n" + result.stdout
    assert "rank3.json.gz: holds no timed event" in result.stderr
    assert "rank3.json.gz: holds no timed event" in " ".join(result.stdout.split())
    assert "rank3.json.gz: holds no timed event" in one_line_error(eroica("analyze", path), NO_INPUT)


def test_ranks_of_the_bundle_without_a_trace_and_contradicted(eroica, tmp_path):
    for rank in range(2):
        trace = make_trace(rank + 4 * rank)
        del trace["distributedInfo"]["world_size"]
        write_trace(tmp_path / f"t{rank}.json", trace)
    ranks = [{"rank": rank, "host": "h0", "trace": f"t{rank}.json"} for rank in range(2)] + [{"rank": 2, "host": "h0"}]
    bundle = {"schema": "eroica.bundle/1", "hosts": [{"name": "h0"}], "ranks": ranks}
    (tmp_path / "bundle.json").write_text(json.dumps(bundle))
    result = eroica("analyze", tmp_path)
    assert result.returncode in READ, result.stderr
    assert "\n2 of 3 ranks" in "\n" + result.stdout
    assert "t1.json: rank 1 by bundle.json, but the trace itself says rank 5" in result.stderr
    notes = json.loads(eroica("analyze", tmp_path, "--format", "json").stdout)["profile"]["notes"]
    assert any("says rank 5" in note for note in notes) and any("rank 2 of bundle.json" in note for note in notes)
    merged = tmp_path / "merged.json"
    assert "says rank 5" in eroica("export", "--perfetto", tmp_path, "-o", merged).stderr


def test_patterns_without_their_names(eroica, job, tmp_path):
    assert eroica("summarize", job, "-o", tmp_path / "patterns").returncode == 0
    (tmp_path / "patterns/names.eroica").unlink()
    notes = json.loads(eroica("analyze", tmp_path / "patterns", "--format", "json").stdout)["profile"]["notes"]
    assert any(re.fullmatch(r"names of \d+ functions are missing: names.eroica was not given", note) for note in notes)


def test_export_to_standard_output(eroica, job, tmp_path):
    out = tmp_path / "merged.json"
    assert eroica("export", "--perfetto", job, "-o", out).returncode == 0
    result = eroica("export", "--perfetto", job, "-o", "-")
    assert result.returncode == 0 and result.stdout == out.read_text() and result.stdout.isascii()


def test_hostile_names_do_not_reach_the_terminal(eroica, tmp_path):
    trace = make_trace(0, world_size=1)
    for event in trace["traceEvents"]:
        if event["cat"] == "cpu_op":
            event["name"] = "aten::\x1b]0;owned\x07mm</script>"
    path = write_trace(tmp_path / "rank0.json", trace)
    for form in ("text", "json"):
        result = eroica("analyze", path, "--format", form)
        assert result.returncode in READ
        assert "\x1b" not in result.stdout and "\x07" not in result.stdout
    assert eroica("analyze", path, "--format", "html").stdout.count("mm</script>") == 0


def test_export_says_what_it_cannot_do(eroica, job, tmp_path):
    out = tmp_path / "merged.json"
    assert "rank 99" in one_line_error(eroica("export", "--perfetto", job, "-o", out, "--rank", "99"), USAGE)
    one_line_error(eroica("export", "--perfetto", job, "-o", out, "--from", "50", "--to", "40"), USAGE)
    one_line_error(eroica("export", "--perfetto", job, "-o", job / "rank0.json"), USAGE)
    one_line_error(eroica("export", "--perfetto", job, "-o", "/dev/full"), NO_OUTPUT)
    assert eroica("summarize", job, "-o", tmp_path / "patterns").returncode == 0
    assert "traces" in one_line_error(eroica("export", "--perfetto", tmp_path / "patterns", "-o", out), NO_INPUT)
    assert not out.exists() and not list(tmp_path.glob(".*"))
