"""The probe's one thread: waits for the agent's commands and does them."""

import os
import select
import threading
import time

from .commands import Commands
from .descriptors import out_of_the_way
from .windows import WindowEdges

# A clock that is set while an edge is pending is noticed within this time.
LONGEST_WAIT_MS = 1000


class Listener:
    def __init__(self, the_probe, channel):
        self._probe = the_probe
        self._channel = channel
        self._woken, self._waker = map(out_of_the_way, os.pipe())
        os.set_blocking(self._woken, False)
        os.set_blocking(self._waker, False)
        self._errands = set()
        self._stopping = False
        self.commands = Commands(the_probe, channel, WindowEdges(), self.wake)

    def start(self):
        self._thread = threading.Thread(target=self._run, name="eroica-probe", daemon=True)
        self._thread.start()

    def wake(self):
        try:
            os.write(self._waker, b"\0")
        except OSError:  # full: it will wake anyway
            pass

    def ask(self, *errands):
        """From any thread: "hello", "groups", "bind", "off"."""
        self._errands.update(errands)
        self.wake()

    def stop(self):
        self._stopping = True
        self.wake()

    def join(self, seconds):
        """After stop: what was to be said is said, even by a process that ends at once."""
        self._thread.join(seconds)

    def close_in_child(self):
        os.close(self._woken)
        os.close(self._waker)

    def _run(self):
        poller = select.poll()
        poller.register(self._channel.fileno(), select.POLLIN)
        poller.register(self._woken, select.POLLIN)
        failures = 0
        while not self._stopping and failures < 20:
            try:
                poller.poll(self._wait_ms())
                self._empty_pipe()
                if not self._channel.is_intact():
                    self._probe.turn_off("the socket was closed by the job")
                    return
                self._run_errands()
                if self._stopping:
                    return
                self._run_commands()
                self.commands.send_due_edges()
                self.commands.look_after_profile()
                failures = 0
            except Exception as error:
                failures += 1
                self._probe.faults.caught(error)
        if not self._stopping:
            self._probe.turn_off("its thread failed again and again")
            try:
                self.commands.send_off()
            except Exception as error:
                self._probe.faults.caught(error)

    def _wait_ms(self):
        due_unix_ns = self.commands.next_look_unix_ns()
        if due_unix_ns is None:
            return None
        left_ms = (due_unix_ns - time.time_ns() + 999_999) // 1_000_000
        return max(0, min(left_ms, LONGEST_WAIT_MS))

    def _empty_pipe(self):
        try:
            os.read(self._woken, 4096)
        except BlockingIOError:
            pass

    def _run_errands(self):
        for errand, run in (
            ("bind", self._bind),
            ("hello", self.commands.send_hello),
            ("groups", self.commands.send_groups),
        ):
            if errand in self._errands:
                self._errands.discard(errand)
                run()
        if "off" in self._errands:
            self._stopping = True
            self.commands.send_off()

    def _bind(self):
        try:
            self._channel.bind()
        except OSError:  # its folder is gone: the probe asks again while it is
            return
        self._errands.add("hello")

    def _run_commands(self):
        while not self._stopping:
            received = self._channel.receive()
            if received is None:
                return
            datagram, from_agent = received
            if not from_agent or not self.commands.run(datagram):
                self._probe.ignored_commands += 1
