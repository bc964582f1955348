"""The marks, driven as torch drives them."""

import os
import threading

import pytest
from eroica_probe import steps
from eroica_probe.channel import Channel
from eroica_probe.faults import MAX_ERRORS, Faults
from eroica_probe.step_ring import SLOTS, WORDS, private_words
from probe_support import STEP, step_fields


class Optimizer:
    pass


class Recorder:
    """Stands for the channel."""

    dropped = 0

    def __init__(self):
        self.records = []
        self.words = private_words()

    def has_ring(self):
        return False

    def send_step(self, step):
        first = step % SLOTS * WORDS
        self.records.append(step_fields(bytes(self.words[first : first + WORDS])))


def live_marks(channel=None):
    faults = Faults(lambda: setattr(marks, "off", True))
    marks = steps.StepMarks(faults, lambda: None, lambda: None, lambda changed: None)
    channel = channel or Recorder()
    marks.go_live(channel, 5, lambda: False)
    return marks, channel


def step(marks, optimizer, times=1):
    for _ in range(times):
        marks.optimizer_stepped(optimizer, (), {})


def fetch(marks, fetched=1):
    began = marks.fetch_begins()
    if began is not None:
        marks.fetch_ends(began, fetched)


def test_each_step_is_one_record():
    marks, channel = live_marks()
    optimizer = Optimizer()
    for _ in range(3):
        fetch(marks)
        fetch(marks)
        step(marks, optimizer)
    fetch(marks, fetched=0)
    step(marks, optimizer)
    assert [record["rank"] for record in channel.records] == [5] * 4
    assert [record["step"] for record in channel.records] == [1, 2, 3, 4]
    assert [record["fetches"] for record in channel.records] == [2, 2, 2, 0]
    assert all(record["data_wait_ns"] > 0 for record in channel.records)
    assert channel.records == sorted(channel.records, key=lambda record: record["monotonic_ns"])


def test_first_of_equal_optimizers_marks():
    marks, channel = live_marks()
    pair = [Optimizer(), Optimizer()]
    for _ in range(1000):
        for optimizer in pair:
            step(marks, optimizer)
    assert len(channel.records) == 1000
    assert {record["optimizer_index"] for record in channel.records} == {0}


def test_rarer_optimizer_takes_over():
    marks, channel = live_marks()
    discriminator, generator = Optimizer(), Optimizer()
    for _ in range(400):
        step(marks, discriminator, 4)
        step(marks, generator)
    assert [record["step"] for record in channel.records] == list(range(1, len(channel.records) + 1))
    assert {record["optimizer_index"] for record in channel.records[-300:]} == {1}
    assert len(channel.records) < 700


def test_very_rare_optimizer_does_not():
    marks, channel = live_marks()
    main, temperature = Optimizer(), Optimizer()
    for _ in range(100):
        step(marks, main, 20)
        step(marks, temperature)
    assert {record["optimizer_index"] for record in channel.records} == {0}
    assert len(channel.records) == 2000


def test_abandoned_optimizer_hands_over():
    marks, channel = live_marks()
    first, second = Optimizer(), Optimizer()
    step(marks, first, 3)
    step(marks, second, steps.ABANDONED_CALLS + 10)
    optimizers = [record["optimizer_index"] for record in channel.records]
    assert optimizers == [0, 0, 0] + [1] * 10


def test_deleted_optimizer_hands_over_at_once():
    marks, channel = live_marks()
    for _ in range(3):
        step(marks, Optimizer(), 2)
    assert [record["optimizer_index"] for record in channel.records] == [0, 0, 1, 1, 2, 2]


def test_choice_does_not_depend_on_the_rank():
    choices = []
    for _ in range(2):
        marks, channel = live_marks()
        optimizers = [Optimizer(), Optimizer(), Optimizer()]
        for number in range(3000):
            for index, every in enumerate((1, 3, 2)):
                if number % every == 0:
                    step(marks, optimizers[index])
        choices.append([record["optimizer_index"] for record in channel.records])
    assert choices[0] == choices[1]
    assert choices[0][-1] == 1


def test_optimizers_are_not_kept_alive():
    marks, channel = live_marks()
    for _ in range(2000):
        step(marks, Optimizer())
    assert len(marks._by_id) <= steps.CALLS_A_LOOK + 1


def test_only_the_training_thread_waits_for_data():
    marks, channel = live_marks()
    optimizer = Optimizer()
    step(marks, optimizer)
    thread = threading.Thread(target=fetch, args=(marks,))
    thread.start()
    thread.join()
    step(marks, optimizer)
    assert (channel.records[-1]["data_wait_ns"], channel.records[-1]["fetches"]) == (0, 1)


def test_loader_inside_a_fetch_counts_once():
    marks, channel = live_marks()
    began = marks.fetch_begins()
    assert marks.fetch_begins() is None
    marks.fetch_ends(began, 1)
    step(marks, Optimizer())
    assert channel.records[0]["fetches"] == 1


def test_numbers_too_large_for_the_record_are_cut():
    marks, channel = live_marks()
    marks._cost_ns = 2**40
    marks._fetches = 2**40
    channel.dropped = 2**32 + 7
    step(marks, Optimizer())
    (record,) = channel.records
    assert (record["fetches"], record["probe_cost_ns"]) == (steps.MAX_COUNT, steps.MAX_COUNT)
    assert record["dropped"] == 2**32 + 7


class Broken(Recorder):
    def send_step(self, step):
        raise self.error


def test_errors_are_counted_and_too_many_turn_it_off():
    channel = Broken()
    channel.error = ValueError("mine")
    marks, _ = live_marks(channel)
    optimizer = Optimizer()
    step(marks, optimizer, MAX_ERRORS + 5)
    assert marks.off
    assert marks._faults.count == MAX_ERRORS
    assert marks._faults.last == "ValueError: mine"


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_interrupts_pass(kind):
    channel = Broken()
    channel.error = kind()
    marks, _ = live_marks(channel)
    with pytest.raises(kind):
        step(marks, Optimizer())


def test_exception_of_the_jobs_signal_handler_passes():
    import signal

    class Channel(Recorder):
        def send_step(self, step):
            os.kill(os.getpid(), signal.SIGUSR1)
            for _ in range(1000):
                pass

    def handler(number, frame):
        raise TimeoutError("the job's")

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        marks, _ = live_marks(Channel())
        with pytest.raises(TimeoutError):
            step(marks, Optimizer())
        assert marks._faults.count == 0
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_without_a_ring_steps_are_datagrams(folder, agent, monkeypatch):
    monkeypatch.delattr(os, "memfd_create")
    agent.close()
    channel = Channel(folder)
    channel.open_ring()
    assert not channel.has_ring()
    marks, _ = live_marks(channel)
    optimizer = Optimizer()
    step(marks, optimizer, 2)
    assert channel.dropped == 2
    for _ in range(2):
        agent.bind()
        step(marks, optimizer)
        record = agent.expect(STEP)
        assert record["dropped"] == channel.dropped
        assert record.process == channel.name
        agent.close()
        step(marks, optimizer)
    assert channel.dropped == 4
    agent.bind()
    agent.close(unlink=False)  # killed: its path is still there
    step(marks, optimizer)
    assert channel.dropped == 5
    channel.close()


def test_full_queue_drops_and_counts(folder, agent):
    channel = Channel(folder)
    marks, _ = live_marks(channel)
    optimizer = Optimizer()
    step(marks, optimizer, 1000)
    assert 0 < channel.dropped < 1000
    arrived = agent.kinds().count(STEP)
    assert arrived + channel.dropped == 1000
    dropped = channel.dropped
    step(marks, optimizer)
    last = agent.expect(STEP)
    assert (last["step"], last["dropped"]) == (1001, dropped)
    channel.close()


def test_without_ctypes_it_works_all_the_same(folder, agent, monkeypatch):
    import importlib
    import sys

    from eroica_probe import channel as module

    monkeypatch.setitem(sys.modules, "ctypes", None)
    importlib.reload(module)
    try:
        assert module._c_access is None
        channel = module.Channel(folder)
        assert channel.path_exists()
        channel.remove_path()
        assert not channel.path_exists()
        channel.close()
    finally:
        monkeypatch.undo()
        importlib.reload(module)
