"""Forks, spawned workers, children, signals, exceptions, exits."""

import os
import signal

from probe_support import BYE, DEADLINE_S, GROUPS, HELLO, STEP, wait_until

RANK = {"RANK": "1", "WORLD_SIZE": "4"}


def processes(agent, kind):
    return {datagram.sender for datagram in agent.drain() if datagram.kind == kind}


def test_forked_worker_is_silent(start_job, agent, folder):
    program = """
    import os, sys, torch
    optimizer = torch.optim.SGD()
    optimizer.step()
    pid = os.fork()
    if pid == 0:
        optimizer.step()
        for batch in torch.utils.data.DataLoader([1, 2]): pass
        import threading
        print(threading.active_count(), flush=True)
        sys.exit(0)  # runs the exit functions that it inherited
    os.waitpid(pid, 0)
    print(len([n for n in os.listdir(os.environ["EROICA_SOCKET_DIR"]) if n.startswith("probe-")]), flush=True)
    import torch.utils.data
    optimizer.step()
    sys.stdin.readline()
    """
    job = start_job(program.replace("import os, sys, torch", "import os, sys, torch, torch.utils.data"), folder, RANK)
    assert [job.line(), job.line()] == ["1", "1"]
    agent.expect(STEP, lambda step: step["step"] == 2)
    assert agent.ask(next(iter(processes(agent, HELLO))), GROUPS, do="groups")["groups"] == []
    job.go_on()
    job.finish()
    assert len(processes(agent, HELLO)) == 1
    assert agent.kinds().count(STEP) == 2
    assert agent.kinds().count(BYE) == 1


def test_stack_signal_is_not_inherited_by_a_fork(start_job, agent, folder):
    program = """
    import os, signal, sys, torch
    sys.stdin.readline()
    number = int(sys.stdin.readline())
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(writing, b"!")
        signal.pause()
        os._exit(0)
    os.read(reading, 1)
    os.kill(pid, number)
    print(os.WTERMSIG(os.waitpid(pid, 0)[1]) == number, flush=True)
    """
    job = start_job(program, folder, RANK)
    hello = agent.expect(HELLO)
    number = hello["capabilities"]["stack_signal"]
    file = os.path.join(folder, hello["capabilities"]["stack_file"])
    job.process.stdin.write(b"\n%d\n" % number)
    job.process.stdin.flush()
    assert job.line() == "True"
    job.finish()
    assert not os.path.exists(file)


SPAWN = """
import os, sys, torch, multiprocessing
def work():
    import torch.utils.data
    for batch in torch.utils.data.DataLoader([1, 2]): pass
    {inside}
if __name__ == "__main__":
    context = multiprocessing.get_context("{method}")
    for number in range(2):
        worker = context.Process(target=work)
        worker.start()
        worker.join()
        assert worker.exitcode == 0, worker.exitcode
    {outside}
"""


def test_workers_of_a_rank_are_silent(start_job, agent, folder):
    for method in ("fork", "spawn", "forkserver"):
        program = SPAWN.format(method=method, inside="pass", outside="torch.optim.SGD().step()")
        job = start_job(program, folder, RANK)
        job.finish()
        agent.expect(BYE)
        hellos = [d for d in agent.drain() if d.kind == HELLO]
        assert {hello["pid"] for hello in hellos} == {job.pid}, method
        agent.seen.clear()
        wait_until(lambda: os.listdir(folder) == ["probe"])


def test_spawned_ranks_speak_once_they_know_their_rank(start_job, agent, folder):
    for method in ("fork", "spawn", "forkserver"):
        program = """
        import multiprocessing, torch
        def work(rank):
            torch.distributed.init_process_group(rank=rank, world_size=2)
            optimizer = torch.optim.SGD()
            optimizer.step(), optimizer.step()
        if __name__ == "__main__":
            context = multiprocessing.get_context("METHOD")
            workers = [context.Process(target=work, args=(rank,)) for rank in range(2)]
            [worker.start() for worker in workers]
            [worker.join() for worker in workers]
        """
        job = start_job(program.replace("METHOD", method), folder)
        agent.expect(BYE, lambda bye: bye["pid"] == job.pid)
        job.finish()
        seen = agent.drain()
        hellos = {hello["rank"]: hello for hello in seen if hello.kind == HELLO}
        assert set(hellos) == {None, 0, 1}, method
        assert hellos[None]["pid"] == job.pid
        assert hellos[0]["world_size"] == 2
        steps = sorted((step["rank"], step["step"]) for step in seen if step.kind == STEP)
        # Steps are marked from the one that woke the probe on.
        assert steps == [(0, 1), (0, 2), (1, 1), (1, 2)]
        byes = {bye["pid"]: bye["rank"] for bye in seen if bye.kind == BYE}
        assert sorted(byes.values(), key=str) == [0, 1, None], method
        agent.seen.clear()


def test_tools_started_by_a_rank_are_silent(start_job, agent, folder):
    program = """
    import os, subprocess, sys, torch
    code = "import torch; torch.optim.SGD().step(); print('ran')"
    print(subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE).stdout)
    environment = dict(os.environ, RANK="7")  # a rank of another job: one that it launches
    subprocess.run([sys.executable, "-c", code], env=environment)
    """
    job = start_job(program, folder, RANK)
    agent.expect(BYE, lambda bye: bye["pid"] == job.pid)
    out, _ = job.finish()
    assert "b'ran\\n'" in out
    ranks = {hello["pid"]: hello["rank"] for hello in agent.seen if hello.kind == HELLO}
    assert sorted(ranks.values()) == [1, 7]


def test_lone_process_is_rank_0_of_1_once_it_steps(start_job, agent, folder):
    job = start_job("import torch\nfor _ in range(2): torch.optim.SGD().step()", folder)
    job.finish()
    agent.expect(BYE)
    hellos = [(h["rank"], h["world_size"]) for h in agent.seen if h.kind == HELLO]
    assert hellos[-1] == (0, 1)
    assert [step["rank"] for step in agent.seen if step.kind == STEP] == [0, 0]


def test_rank_given_after_torch_was_imported(start_job, agent, folder):
    program = """
    import os, torch
    os.environ.update(RANK="5", WORLD_SIZE="6")
    torch.optim.SGD().step()
    """
    start_job(program, folder).finish()
    agent.expect(BYE)
    assert [step["rank"] for step in agent.seen if step.kind == STEP] == [5]


def test_launcher_is_no_rank(start_job, agent, folder, tmp_path):
    launcher = tmp_path / "torchrun"
    launcher.write_text(
        "import os, subprocess, sys, torch\n"
        "for rank in '01':\n"
        "    subprocess.run([sys.executable, sys.argv[1]], env=dict(os.environ, RANK=rank))\n"
    )
    # Some clusters give the launcher the rank of its host.
    job = start_job("import torch; torch.optim.SGD().step()", folder, RANK, arguments=[str(launcher)])
    agent.expect(BYE, lambda bye: bye["pid"] == job.pid)
    job.finish()
    hellos = {hello["pid"]: hello for hello in agent.seen if hello.kind == HELLO}
    assert (hellos[job.pid]["rank"], hellos[job.pid]["launcher"]) == (None, True)
    assert sorted(str(hello["rank"]) for hello in hellos.values()) == ["0", "1", "None"]
    assert sorted(step["rank"] for step in agent.seen if step.kind == STEP) == [0, 1]


def test_stacks_by_signal_while_the_gil_is_held(start_job, agent, folder):
    program = """
    import ctypes, sys, torch
    def stuck_in_here():
        print("stuck", flush=True)
        sleep = ctypes.PyDLL(None).sleep  # keeps the GIL
        while True: sleep(600)
    stuck_in_here()
    """
    job = start_job(program, folder, RANK)
    hello = agent.expect(HELLO)
    assert job.line() == "stuck"
    file = os.path.join(folder, hello["capabilities"]["stack_file"])
    assert os.stat(file).st_mode & 0o777 == 0o600
    number = hello["capabilities"]["stack_signal"]
    assert number >= signal.SIGRTMIN + 10
    status = open("/proc/%d/status" % job.pid).read()
    caught = int(status.split("SigCgt:")[1].split()[0], 16)
    assert caught >> (number - 1) & 1
    os.kill(job.pid, number)
    wait_until(lambda: "train.py" in open(file).read())
    assert "in stuck_in_here" in open(file).read()


def test_stack_signal_that_somebody_uses_is_left_alone(start_job, agent, folder):
    program = """
    import ctypes, signal, sys
    first = signal.SIGRTMIN + 10
    signal.signal(first, lambda *_: print("mine", flush=True))
    signal.signal(first + 1, signal.SIG_IGN)
    handler = ctypes.CFUNCTYPE(None, ctypes.c_int)(lambda number: None)
    ctypes.CDLL(None).signal(first + 2, handler)  # Python's signal.getsignal does not know
    signal.pthread_sigmask(signal.SIG_BLOCK, [first + 3])
    import torch
    sys.stdin.readline()
    """
    job = start_job(program, folder, RANK)
    hello = agent.expect(HELLO)
    assert hello["capabilities"]["stack_signal"] == signal.SIGRTMIN + 14
    os.kill(job.pid, signal.SIGRTMIN + 10)
    assert job.line() == "mine"
    job.go_on()
    job.finish()


def test_hello_tells_of_a_gpu_once_it_is_used(start_job, agent, folder):
    program = """
    import sys, types, torch
    used = []
    sys.modules["torch.cuda"] = types.SimpleNamespace(is_initialized=lambda: bool(used))
    optimizer = torch.optim.SGD()
    sys.stdin.readline()
    used.append("a kernel")
    optimizer.step()
    sys.stdin.readline()
    """
    job = start_job(program, folder, RANK)
    assert agent.expect(HELLO)["gpu"] is False
    job.go_on()
    agent.expect(HELLO, lambda hello: hello["gpu"] is True)
    job.finish()


def test_bye_tells_of_an_exception(start_job, agent, folder):
    program = """
    import torch
    torch.optim.SGD().step()
    def fails():
        raise ValueError("secret words")
    fails()
    """
    job = start_job(program, folder, RANK)
    _, err = job.finish(status=1)
    assert "ValueError: secret words" in err
    bye = agent.expect(BYE)
    assert (bye["kind"], bye["exception"], bye["steps"]) == ("exception", "ValueError", 1)
    assert (os.path.basename(bye["file"]), bye["line"]) == ("train.py", 5)
    assert "secret" not in str(bye.fields)


def test_bye_of_a_spawned_rank_tells_how_it_ends(start_job, agent, folder):
    program = """
    import multiprocessing, sys, torch
    def work(rank):
        torch.distributed.init_process_group(rank=rank, world_size=4)
        torch.optim.SGD().step()
        if rank == 1:
            sys.exit(3)
        if rank == 2:
            raise ValueError("secret words")
        if rank == 3:
            try:
                {}["secret words"]
            except Exception:  # as torch.multiprocessing.spawn does
                sys.exit(1)
    if __name__ == "__main__":
        context = multiprocessing.get_context("METHOD")
        workers = [context.Process(target=work, args=(rank,)) for rank in range(4)]
        [worker.start() for worker in workers]
        [worker.join() for worker in workers]
    """
    for method in ("fork", "spawn"):
        job = start_job(program.replace("METHOD", method), folder)
        agent.expect(BYE, lambda bye: bye["pid"] == job.pid)
        job.finish()
        byes = {bye["rank"]: bye for bye in agent.drain() if bye.kind == BYE}
        told = {rank: (bye["kind"], bye.fields.get("exception"), bye.fields.get("status")) for rank, bye in byes.items()}
        assert told == {None: ("exit", None, None), 0: ("exit", None, 0), 1: ("exit", None, 3),
                        2: ("exception", "ValueError", 1), 3: ("exception", "KeyError", 1)}, method
        assert byes[2]["line"] == 9 and byes[3]["line"] == 12
        assert "secret" not in str([bye.fields for bye in byes.values()])
        agent.seen.clear()


def test_a_rank_that_is_forked_while_its_parent_handles_an_exception_ends_in_order(start_job, agent, folder):
    program = """
    import multiprocessing, torch
    def work():
        torch.distributed.init_process_group(rank=0, world_size=1)
        torch.optim.SGD().step()
    if __name__ == "__main__":
        try:
            raise ValueError("the first attempt")
        except ValueError:
            worker = multiprocessing.get_context("fork").Process(target=work)
            worker.start()
            worker.join()
    """
    start_job(program, folder).finish()
    (bye,) = [bye for bye in agent.drain() if bye.kind == BYE and bye["rank"] == 0]
    assert (bye["kind"], bye.fields.get("exception"), bye["status"]) == ("exit", None, 0)


def test_exit_is_prompt_and_quiet_without_an_agent(start_job, folder):
    out, err = start_job("import torch; torch.optim.SGD().step(); print(1)", folder, RANK).finish()
    assert (out, err) == ("1\n", "")
    assert os.listdir(folder) == []


def test_exit_is_prompt_with_an_agent_that_does_not_read(start_job, agent, folder):
    program = "import torch\no = torch.optim.SGD()\nfor _ in range(1000): o.step()"
    start_job(program, folder, RANK).finish()
    kinds = agent.kinds()
    assert HELLO in kinds and kinds.count(STEP) == 1000


def test_exit_is_prompt_with_a_full_queue_where_there_is_no_ring(start_job, agent, folder):
    program = "import os; del os.memfd_create\nimport torch\no = torch.optim.SGD()\nfor _ in range(1000): o.step()"
    start_job(program, folder, RANK).finish()
    kinds = agent.kinds()
    assert HELLO in kinds and 0 < kinds.count(STEP) < 1000


def test_user_exceptions_and_data_pass_unchanged(start_job, agent, folder):
    program = """
    import torch, torch.utils.data, traceback
    from torch.utils.data.dataloader import _BaseDataLoaderIter as Iterator
    def batches():
        yield 1
        raise ValueError("in the data set")
    print(Iterator.__next__.__name__, Iterator.__next__.__doc__, Iterator.__next__.__qualname__)
    iterator = iter(torch.utils.data.DataLoader(batches()))
    print(next(iterator))
    try:
        next(iterator)
    except ValueError as error:
        print(error, [f.name for f in traceback.extract_tb(error.__traceback__)][-1])
    try:
        next(iterator)
    except StopIteration:
        print("stop")
    try:
        class Optimizer(torch.optim.SGD):
            def step(self):
                super().step()
                raise KeyboardInterrupt
        Optimizer().step()
    except KeyboardInterrupt:
        print("interrupted")
    print(list(torch.utils.data.DataLoader([1, 2, 3])))
    torch.optim.SGD().step()
    """
    out, err = start_job(program, folder, RANK).finish()
    assert out.splitlines() == [
        "__next__ Fetches. _BaseDataLoaderIter.__next__",
        "1",
        "in the data set batches",
        "stop",
        "interrupted",
        "[1, 2, 3]",
    ]
    assert err == ""
    agent.expect(BYE)
    assert [step["fetches"] for step in agent.seen if step.kind == STEP] == [1, 3]


def test_waiting_for_data_is_measured(start_job, agent, folder):
    program = """
    import torch, torch.utils.data
    optimizer = torch.optim.SGD()
    for batch in torch.utils.data.DataLoader([1, 2]): optimizer.step()
    """
    start_job(program, folder, dict(RANK, FETCH_SECONDS="0.05")).finish()
    for _ in range(2):
        step = agent.expect(STEP)
        assert step["fetches"] == 1
        assert 50_000_000 <= step["data_wait_ns"] < DEADLINE_S * 1e9


def test_killed_rank_leaves_files_but_others_go_on(start_job, agent, folder):
    job = start_job("import sys, torch; sys.stdin.readline()", folder, RANK)
    agent.expect(HELLO)
    os.kill(job.pid, signal.SIGKILL)
    job.process.wait()
    assert len(os.listdir(folder)) == 3
    start_job("import torch; torch.optim.SGD().step()", folder, RANK).finish()
    assert agent.expect(STEP)["step"] == 1
