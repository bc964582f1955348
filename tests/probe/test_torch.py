"""With a real torch: EROICA_TORCH_PYTHON, or build/venv-torch (tools/requirements-torch.txt)."""

import json
import os
import subprocess
import time

import pytest
from probe_support import BYE, EDGE, GROUPS, HELLO, PROBE, REPLY, STEP

PYTHON = os.environ.get("EROICA_TORCH_PYTHON") or str(PROBE.parent / "build/venv-torch/bin/python3")


def _has_torch():
    if not os.path.exists(PYTHON):
        return False
    return subprocess.run([PYTHON, "-c", "import torch.distributed"], capture_output=True).returncode == 0


pytestmark = pytest.mark.skipif(not _has_torch(), reason="no Python with torch")

TRAIN = """
import os, sys, time, torch, torch.distributed as dist
from torch.utils.data import DataLoader, TensorDataset

def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    go_on = os.path.join(os.environ["EROICA_SOCKET_DIR"], "go-on-")
    def wait_for(name):
        while not os.path.exists(go_on + name):
            time.sleep(0.01)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = TensorDataset(torch.randn(64, 8))
    method = os.environ.get("WORKERS")
    loader = DataLoader(
        data, batch_size=8, num_workers=2 if method else 0, multiprocessing_context=method
    )
    def train(steps_at_least):
        steps = 0
        while steps < steps_at_least:
            for batch, in loader:
                optimizer.zero_grad()
                model(batch).sum().backward()
                optimizer.step()
                steps += 1
    {body}
    dist.destroy_process_group()

if __name__ == "__main__":
    main()
"""
LAUNCH = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


def launch(start_job, folder, body, **environment):
    environment.update(TORCH_FR_BUFFER_SIZE="200", OMP_NUM_THREADS="1")
    return start_job(
        TRAIN.replace("{body}", body), folder, environment, python=PYTHON, path=(), arguments=LAUNCH
    )


def go_on(folder, name):
    open(os.path.join(folder, "go-on-" + name), "w").close()


def until_ranks_stepped(agent, step):
    last = {}
    while sorted(last) != [0, 1] or min(last.values()) < step:
        record = agent.expect(STEP)
        last[record["rank"]] = record["step"]


def probes_of_ranks(agent):
    return {d["rank"]: d.sender for d in agent.seen if d.kind == HELLO and d["rank"] is not None}


def test_two_ranks_under_torchrun(start_job, agent, folder):
    body = """
    train(16)
    wait_for("group")
    if dist.new_group([0], group_desc="late") is not None: train(1)
    wait_for("end")
    """
    job = launch(start_job, folder, body)
    until_ranks_stepped(agent, 16)
    agent.drain()
    hellos = [d for d in agent.seen if d.kind == HELLO]
    assert {d["pid"]: d["launcher"] for d in hellos}[job.pid] is True
    assert {d["rank"] for d in hellos} == {None, 0, 1}
    assert all(d["world_size"] == 2 for d in hellos if d["rank"] is not None)
    assert all(d["capabilities"]["flight_recorder"] for d in hellos)
    steps = [d for d in agent.seen if d.kind == STEP]
    for rank in (0, 1):
        numbers = [d["step"] for d in steps if d["rank"] == rank]
        assert numbers == sorted(set(numbers)) and numbers[0] == 1
        own = [d for d in steps if d["rank"] == rank]
        if own[-1]["dropped"] == 0:
            assert [d["fetches"] for d in own] == [1] * len(own)
        assert all(d["data_wait_ns"] > 0 for d in own)
    probes = probes_of_ranks(agent)
    groups = agent.ask(probes[1], GROUPS, do="groups")["groups"]
    assert groups == [{"name": "0", "desc": "default_pg", "backend": "gloo", "ranks": [[0, 2, 1]]}]

    reply = agent.ask(
        probes[0], do="flight_recorder", request="fr", path=os.path.join(folder, "fr.json")
    )
    assert reply["ok"], reply
    recorded = json.load(open(os.path.join(folder, "fr.json")))
    assert any(entry["profiling_name"] == "gloo:all_reduce" for entry in recorded["entries"])
    agent.command(probes[0], do="window", window="w", start_unix_ns=1, end_unix_ns=1)
    (group,) = agent.expect(EDGE)["groups"]
    assert group["name"] == "0" and group["last_enqueued"] >= 16

    go_on(folder, "group")
    late = agent.expect(GROUPS, lambda d: d["rank"] == 0 and len(d["groups"]) == 2)["groups"][1]
    assert (late["desc"], late["ranks"]) == ("late", [[0, 1, 1]])
    go_on(folder, "end")
    agent.expect(BYE, lambda bye: bye["pid"] == job.pid)
    job.finish()
    assert {d["kind"] for d in agent.seen if d.kind == BYE} == {"exit"}
    assert not [n for n in os.listdir(folder) if n.startswith(("probe-", "stacks-"))]
    last = [d for d in agent.seen if d.kind == HELLO][-1]
    assert last["errors"] == 0, last["last_error"]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_loader_workers_send_nothing(start_job, agent, folder, method):
    job = launch(start_job, folder, "train(8)", WORKERS=method)
    agent.expect(BYE, lambda bye: bye["pid"] == job.pid)
    job.finish()
    assert len({d["pid"] for d in agent.seen if d.kind == HELLO}) == 3
    assert len({d.process for d in agent.seen}) == 3
    assert len([name for name in os.listdir(folder) if name.startswith("probe-")]) == 0


def test_ranks_spawned_by_torch_multiprocessing(start_job, agent, folder):
    program = """
    import torch, torch.distributed as dist, torch.multiprocessing as mp
    def work(rank, store):
        torch.set_num_threads(1)
        dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=2)
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8))
        optimizer = torch.optim.AdamW(model.parameters())
        for _ in range(3):
            model(torch.randn(4, 8)).sum().backward()
            optimizer.step()
        dist.destroy_process_group()
    if __name__ == "__main__":
        mp.spawn(work, (%r,), nprocs=2)
    """
    program %= os.path.join(folder, "store")
    job = start_job(program, folder, python=PYTHON, path=())
    agent.expect(BYE, lambda bye: bye["pid"] == job.pid)
    job.finish()
    assert set(probes_of_ranks(agent)) == {0, 1}
    for rank in (0, 1):
        assert [d["step"] for d in agent.seen if d.kind == STEP and d["rank"] == rank] == [1, 2, 3]
    assert sum(d.kind == BYE for d in agent.seen) == 3


LONE = """
import os, sys, time, torch
torch.set_num_threads(1)
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
def train():
    model(torch.randn(4, 8)).sum().backward()
    optimizer.step()
"""


def test_profile_inside_the_process(start_job, agent, folder):
    program = LONE + "while not os.path.exists(sys.argv[0] + '.stop'): train(); time.sleep(0.01)"
    job = start_job(program, folder, python=PYTHON, path=())
    probe = agent.expect(STEP).sender
    path = os.path.join(folder, "rank0.json")
    start = time.time_ns()
    command = dict(
        do="profile", path=path, start_unix_ns=start, end_unix_ns=start + 10**9, with_stack=True,
        record_shapes=True,
    )
    agent.command(probe, request="p", **command)
    assert agent.ask(probe, request="q", **command)["error"] == "busy"
    reply = agent.expect(REPLY)
    assert reply["ok"], reply
    assert (reply["request"], reply["path"]) == ("p", path)
    assert reply["steps"] > 0 and start <= reply["began_unix_ns"] < reply["ended_unix_ns"]
    trace = json.load(open(path))
    names = {event.get("name") for event in trace["traceEvents"]}
    assert "Optimizer.step#SGD.step" in names and "aten::addmm" in names
    assert any("train.py" in str(name) for name in names)
    assert any("Input Dims" in event.get("args", {}) for event in trace["traceEvents"])
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert not [name for name in os.listdir(folder) if name.startswith(".eroica")]
    # A second window, without stacks.
    path = os.path.join(folder, "again.json")
    now = time.time_ns()
    reply = agent.ask(
        probe, do="profile", request="r", path=path, start_unix_ns=now, end_unix_ns=now + 10**8
    )
    assert reply["ok"], reply
    assert os.path.getsize(path) > 0
    open(job.script + ".stop", "w").close()
    job.finish()


def test_profiler_of_the_job_comes_first(start_job, agent, folder):
    program = LONE + """
with torch.profiler.profile() as profiler:
    train()
    print("profiling", flush=True)
    sys.stdin.readline()
    train()
print(len(profiler.events()) > 0, flush=True)
sys.stdin.readline()
train()
train()
with torch.profiler.profile() as profiler:  # while ours is running
    train()
print(len(profiler.events()) > 0, flush=True)
with torch.autograd.profiler.profile() as profiler:
    train()
print(len(profiler.function_events) > 0, flush=True)
"""
    job = start_job(program, folder, python=PYTHON, path=())
    probe = agent.expect(STEP).sender
    assert job.line() == "profiling"
    command = dict(do="profile", path=folder + "/t.json", start_unix_ns=1, end_unix_ns=2**62)
    assert agent.ask(probe, request="p", **command)["error"] == "busy"
    job.go_on()
    assert job.line() == "True"
    agent.command(probe, request="q", **command)
    agent.ask(probe, HELLO, do="hello")  # the command before it has been done
    job.go_on()
    assert agent.expect(REPLY)["error"] == "the job's own profiler started"
    out, err = job.finish()
    assert out == "True\nTrue\n"
    assert "Traceback" not in err


def test_compiler_does_not_look_into_the_probe(start_job, agent, folder):
    """Else it compiles the probe's functions, and warns of what it finds in them."""
    program = LONE + """
compiled = torch.compile(optimizer.step, backend="eager")
for _ in range(5):
    model(torch.randn(4, 8)).sum().backward()
    compiled()
"""
    environment = {"TORCH_LOGS": "dynamo"}
    _, err = start_job(program, folder, environment, python=PYTHON, path=()).finish()
    _, err_without = start_job(program, None, environment, python=PYTHON, path=()).finish()

    def compiled(log):
        return [line.split("tracing ")[1] for line in log.splitlines() if "start tracing " in line]

    assert compiled(err) == compiled(err_without) != []
    assert "monotonic_ns" not in err
    agent.expect(BYE)
    assert [d["step"] for d in agent.seen if d.kind == STEP] == [1, 2, 3, 4, 5]
