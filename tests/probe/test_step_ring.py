"""The ring of steps, as its reader sees it."""

import fcntl
import mmap
import os
import signal

import pytest
from eroica_probe import step_ring, steps
from eroica_probe.channel import Channel
from eroica_probe.faults import Faults
from eroica_probe.step_ring import BYTES, StepRing
from probe_support import BYE, HELLO, SLOT_BYTES, SLOTS, STEP, Ring, step_fields

RANK = {"RANK": "1", "WORLD_SIZE": "4"}


class Optimizer:
    pass


class Channelled:
    """A channel that is nothing but a ring."""

    dropped = 0

    def __init__(self, ring):
        self.words = ring.words

    def has_ring(self):
        return True


def marks_on(ring):
    marks = steps.StepMarks(Faults(lambda: None), lambda: None, lambda: None, lambda changed: None)
    marks.go_live(Channelled(ring), 5, lambda: False)
    return marks


def test_slots_are_as_described():
    ring = StepRing()
    assert BYTES == SLOTS * SLOT_BYTES
    marks, optimizer = marks_on(ring), Optimizer()
    for step in range(1, 3001):
        marks.fetch_ends(marks.fetch_begins(), 2)
        marks.optimizer_stepped(optimizer)
        fields = step_fields(os.pread(ring.descriptor(), 64, step % 1024 * 64))
        assert (fields["step"], fields["rank"], fields["fetches"], fields["dropped"]) == (step, 5, 2, 0)
        assert fields["unix_ns"] == marks.last_step_unix_ns
    ring.close()


def test_nobody_can_cut_it_short():
    ring = StepRing()
    for size in (0, BYTES - 1, BYTES + 1):
        with pytest.raises(PermissionError):
            os.ftruncate(ring.descriptor(), size)
    assert fcntl.fcntl(ring.descriptor(), fcntl.F_GET_SEALS) & fcntl.F_SEAL_SEAL
    assert os.fstat(ring.descriptor()).st_blocks * 512 >= BYTES  # no page has to be found at a step
    ring.close()


def test_a_reader_beside_the_writer_takes_no_record_that_is_half_written():
    ring = StepRing()
    reading, writing = os.pipe()
    writer = os.fork()
    if writer == 0:
        marks, optimizer = marks_on(ring), Optimizer()
        while True:
            step = marks.step + 1
            marks._fetches = step  # goes with the step, in another word
            marks.optimizer_stepped(optimizer)
            if step % SLOTS == 0:
                os.write(writing, b".")
    taken = set()
    while len(taken) < 20_000:
        os.read(reading, 1)
        content = os.pread(ring.descriptor(), BYTES, 0)
        for number in range(SLOTS):
            fields = step_fields(content[number * SLOT_BYTES :][:SLOT_BYTES])
            if fields is not None:
                assert (fields["fetches"], fields["step"] % SLOTS) == (fields["step"], number)
                taken.add(fields["step"])
    os.kill(writer, signal.SIGKILL)
    os.waitpid(writer, 0)
    ring.close()


def test_the_descriptor_is_told_only_while_it_is_the_rings():
    ring = StepRing()
    number = ring.descriptor()
    os.close(number)
    assert ring.descriptor() is None
    ring.words[0] = 1  # the memory is still there
    other = os.open(os.devnull, os.O_RDONLY)
    os.dup2(other, number)
    assert ring.descriptor() is None
    ring.close()
    os.fstat(number)  # left to whoever has it now
    os.close(other)
    os.close(number)


def test_an_agent_that_comes_back_reads_on(start_job, agent, folder):
    program = """
    import sys, torch
    optimizer = torch.optim.SGD()
    for line in sys.stdin:
        for _ in range(int(line)): optimizer.step()
        print("stepped", flush=True)
    """
    job = start_job(program, folder, RANK)
    hello = agent.expect(HELLO)
    assert hello["capabilities"]["step_ring"] is True
    job.process.stdin.write(b"3\n")
    assert job.line() == "stepped"
    assert [agent.expect(STEP)["step"] for _ in range(3)] == [1, 2, 3]
    agent.close()
    job.process.stdin.write(b"500\n")
    assert job.line() == "stepped"
    agent.seen.clear()
    agent.bind()
    agent.ask(hello.sender, HELLO, do="hello")
    steps = [seen for seen in agent.seen if seen.kind == STEP]  # all that was written before that HELLO
    assert [step["step"] for step in steps] == list(range(1, 504))
    assert {step["dropped"] for step in steps} == {0}
    job.process.stdin.close()
    agent.expect(BYE)


def test_a_forked_child_never_writes(start_job, agent, folder):
    program = """
    import os, torch
    optimizer = torch.optim.SGD()
    optimizer.step()
    if os.fork() == 0:
        for _ in range(5): optimizer.step()
        os._exit(0)
    os.wait()
    optimizer.step()
    """
    start_job(program, folder, RANK).finish()
    agent.expect(BYE)
    assert [(step["step"], step["rank"]) for step in agent.seen if step.kind == STEP] == [(1, 1), (2, 1)]


@pytest.mark.parametrize("missing", ["memfd_create", "posix_fallocate"])
def test_without_sealed_memory_there_is_no_ring(missing, folder, monkeypatch):
    monkeypatch.delattr(os, missing)
    before = set(os.listdir("/proc/self/fd"))
    channel = Channel(folder)
    channel.open_ring()
    assert not channel.has_ring()
    channel.close()
    channel.remove_path()
    assert set(os.listdir("/proc/self/fd")) == before


def test_no_memory_no_ring(folder, monkeypatch):
    def refuse(*args):
        raise OSError(12, "no memory")

    monkeypatch.setattr(step_ring.mmap, "mmap", refuse)
    channel = Channel(folder)
    channel.open_ring()
    assert not channel.has_ring()
    channel.close()
    channel.remove_path()


def test_a_reader_takes_each_record_once():
    ring = StepRing()
    reader = Ring(os.dup(ring.descriptor()))
    assert reader.take() is None
    marks_on(ring).optimizer_stepped(Optimizer())
    assert step_fields(reader.take()[5:])["step"] == 1
    assert reader.take() is None
    assert isinstance(step_ring._kept[-1], mmap.mmap)
    reader.close()
    ring.close()
