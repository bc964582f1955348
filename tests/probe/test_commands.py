"""What the agent asks for and gets."""

import json
import os
import socket
import time

import pytest
from eroica_probe.channel import Channel
from probe_support import BYE, EDGE, GROUPS, HELLO, OFF, REPLY, STEP, Agent, wait_until

RANK = {"RANK": "1", "WORLD_SIZE": "4", "TORCH_FR_BUFFER_SIZE": "100"}
WAITS = """
import sys, torch
optimizer = torch.optim.SGD()
for line in sys.stdin:
    exec(line)
"""


@pytest.fixture
def waiting(start_job, agent, folder):
    """A job that runs the lines that it is sent, and the address of its probe."""
    job = start_job(WAITS, folder, RANK)
    job.probe = agent.expect(HELLO).sender

    def run(line):
        job.process.stdin.write(line.encode() + b"\n")
        job.process.stdin.flush()

    def run_to_the_end(line):
        run(line + "; print('done', flush=True)")
        assert job.line() == "done"

    job.run = run
    job.run_to_the_end = run_to_the_end
    return job


def now():
    return time.time_ns()


def test_hello_on_request_tells_what_is_new(waiting, agent):
    waiting.run("import types; sys.modules['megatron.core'] = types.SimpleNamespace(__version__='0.9')")
    waiting.run("optimizer.step()")
    agent.expect(STEP)
    hello = agent.ask(waiting.probe, HELLO, do="hello")
    assert hello["frameworks"] == {"megatron": "0.9"}
    assert hello["capabilities"]["flight_recorder"] is True


def test_groups_now_and_when_they_change(waiting, agent):
    assert agent.ask(waiting.probe, GROUPS, do="groups")["groups"] == []
    waiting.run("torch.distributed.init_process_group()")
    waiting.run("optimizer.step()")
    groups = agent.expect(GROUPS)
    assert groups["rank"] == 1
    assert groups["groups"] == [
        {"name": "0", "desc": "default_pg", "backend": "gloo", "ranks": [[0, 4, 1]]}
    ]
    assert groups["parts"] == 1
    waiting.run("torch.distributed.new_group([0, 2])")  # without this rank
    waiting.run("torch.distributed.new_group([1, 3], group_desc='tensor')")
    waiting.run("optimizer.step()")
    later = agent.expect(GROUPS)
    assert later["set"] > groups["set"]
    assert later["groups"][1:] == [
        {"name": "2", "desc": "tensor", "backend": "gloo", "ranks": [[1, 4, 2]]}
    ]
    waiting.run("optimizer.step()")
    agent.expect(STEP)
    assert agent.ask(waiting.probe, GROUPS, do="groups")["set"] == later["set"] + 1


def test_hello_again_when_the_process_group_is_up(waiting, agent):
    waiting.run("torch.distributed.init_process_group(rank=2, world_size=3)")
    waiting.run("optimizer.step()")
    hello = agent.expect(HELLO)
    assert (hello["rank"], hello["world_size"]) == (2, 3)
    waiting.run("optimizer.step()")
    assert agent.expect(STEP)["rank"] == 2


def test_many_groups_come_in_parts(waiting, agent):
    waiting.run("torch.distributed.init_process_group(rank=1, world_size=20000)")
    waiting.run("ranks = [r for r in range(20000) if r * r % 7 < 3 or r == 1]")
    waiting.run("for i in range(40): torch.distributed.new_group(ranks, 'd' * 100)")
    waiting.run("optimizer.step()")
    parts = [agent.expect(GROUPS)]
    assert parts[0]["parts"] > 1
    while len(parts) < parts[0]["parts"]:
        parts.append(agent.expect(GROUPS))
    assert [part["part"] for part in parts] == list(range(len(parts)))
    assert {part["set"] for part in parts} == {parts[0]["set"]}
    ranks = {}
    for part in parts:
        for group in part["groups"]:
            for start, stop, stride in group["ranks"]:
                ranks.setdefault(group["name"], []).extend(range(start, stop, stride))
    assert ranks["0"] == list(range(20000))
    expected = [r for r in range(20000) if r * r % 7 < 3 or r == 1]
    assert len(ranks) == 41
    assert all(ranks[name] == expected for name in ranks if name != "0")


def test_both_edges_of_a_window(waiting, agent):
    waiting.run("torch.distributed.init_process_group()")
    waiting.run("optimizer.step(); optimizer.step()")
    agent.expect(STEP, lambda step: step["step"] == 2)
    start = now() + 200_000_000
    agent.command(
        waiting.probe, do="window", window="w1", start_unix_ns=start, end_unix_ns=start + 50_000_000
    )
    for name, due in (("start", start), ("end", start + 50_000_000)):
        edge = agent.expect(EDGE)
        assert (edge["window"], edge["edge"], edge["step"], edge["rank"]) == ("w1", name, 2, 1)
        assert edge["unix_ns"] >= due
        assert 0 < edge["step_unix_ns"] < start
        assert edge["groups"] == [
            dict(id="0", name="0", recorder="generic", last_enqueued=7, last_started=-1, last_completed=6),
            dict(id="1", name='t"p', recorder="generic", last_enqueued=2, last_started=-1, last_completed=2),
        ]


def test_window_in_the_past_tells_its_edges_at_once(waiting, agent):
    agent.command(waiting.probe, do="window", window=7, start_unix_ns=1, end_unix_ns=2)
    assert [agent.expect(EDGE)["edge"] for _ in range(2)] == ["start", "end"]


def test_too_many_windows_are_refused(waiting, agent):
    far = now() + 3600 * 10**9
    for number in range(17):
        agent.command(waiting.probe, do="window", window=number, start_unix_ns=far, end_unix_ns=far)
        time.sleep(0.001)
    assert agent.expect(REPLY)["error"] == "too many windows"


def test_edge_without_a_flight_recorder_says_so(waiting, agent):
    waiting.run_to_the_end("torch._C._distributed_c10d.status = {'0': None}")
    agent.command(waiting.probe, do="window", window="w", start_unix_ns=1, end_unix_ns=1)
    edge = agent.expect(EDGE)
    assert "AttributeError" in edge["error"] and edge["groups"] == []
    agent.expect(EDGE)
    waiting.run_to_the_end("del torch._C._distributed_c10d._dump_fr_trace_json")
    agent.command(waiting.probe, do="window", window="w", start_unix_ns=1, end_unix_ns=1)
    assert agent.expect(EDGE)["groups"] == []


def test_flight_recorder_file(waiting, agent, folder):
    path = os.path.join(folder, "fr-1.json")
    reply = agent.ask(waiting.probe, do="flight_recorder", request="r1", path=path)
    assert (reply["request"], reply["ok"], reply["path"]) == ("r1", True, path)
    assert (reply["recorder"], reply["recorders"]) == ("generic", ["generic"])
    content = open(path, "rb").read()
    assert len(content) == reply["bytes"]
    assert json.loads(content)["entries"][0]["collective_seq_id"] == 7
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert not os.path.exists(path + ".tmp")


def test_files_only_in_the_agents_folders(start_job, agent, folder, tmp_path):
    traces = tmp_path / "traces"
    traces.mkdir()
    outside = tmp_path / "outside"
    outside.mkdir()
    job = start_job(WAITS, folder, dict(RANK, EROICA_TRACE_DIR=str(traces)))
    probe = agent.expect(HELLO).sender
    assert agent.ask(probe, do="stacks", request=1, path=str(traces / "stacks"))["ok"]
    os.symlink(outside, traces / "way-out")
    os.symlink(outside / "victim", traces / "link.tmp")
    (outside / "victim").write_text("precious")
    os.symlink(outside / "victim", traces / "linked")
    refused = [
        str(outside / "file"),
        str(traces / "way-out" / "file"),
        str(traces / ".." / "outside" / "file"),
        str(traces) + "-beside/file",
        str(traces) + "/",
        "relative",
        "",
        None,
        str(traces / "no-such" / "file"),
        str(traces / "link"),  # its .tmp is a link
    ]
    for number, path in enumerate(refused):
        for do in ("flight_recorder", "stacks"):
            reply = agent.ask(probe, do=do, request=number, path=path)
            assert reply["ok"] is False and reply["error"], path
    assert os.listdir(outside) == ["victim"]
    assert agent.ask(probe, do="stacks", request=1, path=str(traces / "linked"))["ok"]
    assert not os.path.islink(traces / "linked")  # replaced, not followed
    assert (outside / "victim").read_text() == "precious"
    job.process.stdin.close()


def test_stacks_through_the_listener(waiting, agent, folder):
    path = os.path.join(folder, "stacks.txt")
    reply = agent.ask(waiting.probe, do="stacks", request="r", path=path)
    assert reply["ok"]
    assert 'train.py", line' in open(path).read()


def test_only_the_agent_is_obeyed(waiting, agent, folder):
    stranger = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    command = json.dumps({"do": "groups"}).encode()
    stranger.sendto(command, waiting.probe)  # without a name
    stranger.bind(os.path.join(folder, "probe2"))
    stranger.sendto(command, waiting.probe)
    stranger.close()
    hello = agent.ask(waiting.probe, HELLO, do="hello")
    assert hello["ignored_commands"] == 2
    assert GROUPS not in agent.kinds()


def test_agent_under_another_path_of_the_same_socket(start_job, agent, folder, tmp_path):
    """As in a container: the agent bound its socket under the host's name of the folder."""
    other = os.path.join(folder, "as-the-job-sees-it")
    os.symlink(folder, other)
    start_job(WAITS, other, RANK)
    there = agent.expect(HELLO).sender
    assert there.startswith(other)
    here = os.path.join(folder, os.path.basename(there))
    assert agent.ask(here, GROUPS, do="groups")["groups"] == []


GARBAGE = [
    b"",
    b"\0" * 100,
    b"ERP1\x01",
    b"{",
    b"[1, 2]",
    b"null",
    b'{"do": "dance"}',
    b'{"do": ["hello"]}',
    b'{"do": null}',
    b'{"do": "window"}',
    b'{"do": "window", "window": "w", "start_unix_ns": "1", "end_unix_ns": 2}',
    b'{"do": "window", "window": "w", "start_unix_ns": 3, "end_unix_ns": 2}',
    b'{"do": "window", "window": "w", "start_unix_ns": 1e9, "end_unix_ns": 1e99}',
    b'{"do": "window", "window": {}, "start_unix_ns": 1, "end_unix_ns": 2}',
    b'{"do": "window", "window": true, "start_unix_ns": 1, "end_unix_ns": 2}',
    b'{"do": "stacks"}',
    b'{"do": "profile", "request": 1.5}',
    b'{"do": "hello", "x": ' + b"[" * 20000 + b"}",
    b"\xff\xfe",
    b"x" * 65000,
]


def test_garbage_is_counted_and_does_no_harm(waiting, agent):
    for number, content in enumerate(GARBAGE):
        agent.send_raw(waiting.probe, content)
        # One at a time: the probe's queue holds ten.
        hello = agent.ask(waiting.probe, HELLO, do="hello")
        assert hello["ignored_commands"] == number + 1, content[:60]
    assert hello["errors"] == 0
    waiting.run("optimizer.step()")
    agent.expect(STEP)


def test_agent_that_restarts_finds_a_blocked_job(waiting, agent, folder):
    waiting.run("optimizer.step()")
    agent.expect(STEP)
    for unlink in (True, False):  # stopped; killed
        agent.close(unlink)
        if not unlink:
            os.unlink(agent.path)
        agent.bind()
        probes = [name for name in os.listdir(folder) if name.startswith("probe-")]
        assert len(probes) == 1
        # No step has been taken since: the probe has not noticed anything.
        assert agent.ask(os.path.join(folder, probes[0]), HELLO, do="hello")["rank"] == 1


def test_removed_sockets_come_back(start_job, agent, folder):
    job = start_job(
        "import sys, torch\n"
        "from eroica_probe import steps\n"
        "steps.CHECK_INTERVAL_NS = 0\n"
        "optimizer = torch.optim.SGD()\n"
        "for line in sys.stdin: exec(line)\n",
        folder,
        RANK,
    )
    before = agent.expect(HELLO).sender
    for name in os.listdir(folder):
        if name != "probe":
            os.unlink(os.path.join(folder, name))
    job.process.stdin.write(b"optimizer.step(); optimizer.step()\n")
    job.process.stdin.flush()
    after = agent.expect(HELLO).sender
    assert after != before
    assert agent.ask(after, GROUPS, do="groups")["groups"] == []
    job.process.stdin.write(b"optimizer.step()\n")
    job.process.stdin.flush()
    assert agent.expect(STEP, lambda step: step["step"] == 3).process == after.rpartition("probe-")[2]
    job.process.stdin.close()
    job.process.wait()
    assert agent.expect(BYE).sender == after
    assert sorted(os.listdir(folder)) == ["probe"]


def test_job_that_closes_all_files(start_job, agent, folder):
    """As daemons do at their start; the numbers then belong to other files."""
    program = """
    import os, sys, torch
    optimizer = torch.optim.SGD()
    sys.stdin.readline()
    os.closerange(3, 1024)
    files = [os.open("/dev/null", os.O_RDWR) for _ in range(20)]
    for _ in range(3): optimizer.step()
    print("trained", flush=True)
    sys.stdin.readline()
    print(files == list(range(3, 23)))
    """
    job = start_job(program, folder, RANK)
    agent.expect(HELLO)
    job.go_on()
    assert job.line() == "trained"
    job.go_on()
    assert job.finish() == ("True\n", "")


def test_too_many_errors_turn_it_off_and_are_told(waiting, agent):
    waiting.run("from eroica_probe import groups, steps")
    waiting.run("groups.GroupsChanged.__call__ = lambda self: 1 / 0; steps.GROUPS_INTERVAL_NS = 0")
    waiting.run("for _ in range(30): optimizer.step()")
    off = agent.expect(OFF)
    assert off["reason"] == "too many errors"
    assert off["last_error"].startswith("ZeroDivisionError")
    waiting.run_to_the_end("optimizer.step()")
    wait_until(lambda: agent.drain()[-1].kind in (OFF, STEP))


def test_leftovers_of_an_earlier_program_of_the_process(start_job, agent, folder):
    """exec keeps the pid and runs no exit functions."""
    program = """
    import os, sys, torch
    torch.optim.SGD().step()
    if "again" not in sys.argv:
        os.execv(sys.executable, [sys.executable, sys.argv[0], "again"])
    """
    job = start_job(program, folder, RANK)
    job.finish()
    hellos = [datagram for datagram in agent.drain() if datagram.kind == HELLO]
    assert [hello["pid"] for hello in hellos][-1] == job.pid
    assert [hello["rank"] for hello in hellos][-1] == 1
    assert os.listdir(folder) == ["probe"]


def test_dead_sockets_of_others_are_left_alone(folder):
    living = Agent(folder)
    name = "probe-%d-0badcafe" % os.getpid()
    other = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    other.bind(os.path.join(folder, name))
    from eroica_probe.channel import remove_dead_sockets

    remove_dead_sockets(folder)
    assert name in os.listdir(folder)
    other.close()
    remove_dead_sockets(folder)
    assert os.listdir(folder) == ["probe"]
    living.close()
    channel = Channel(folder)
    assert channel.send(b"ERP1") is False
    assert channel.dropped == 1
    channel.close()
