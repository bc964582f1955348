"""The life of the probe in one process: asleep, live, off, and across forks."""

import atexit
import os
import sys
import time

# All that the listener's thread needs is imported here, by the thread that imported torch: a fork
# while the listener holds a module's lock would leave the child waiting for it.
from . import hello, identity, wire
from .channel import Channel, remove_dead_sockets
from .faults import Faults
from .groups import GroupsChanged
from .listener import Listener
from .settings import read_settings  # noqa: F401 (for torch_hooks)
from .stacks import StackSignal
from .steps import StepMarks

BIND_INTERVAL_S = 5.0

ASLEEP, LIVE, OFF = "asleep", "live", "off"


class Probe:
    def __init__(self, settings, torch):
        self.settings = settings
        self.torch = torch
        self.faults = Faults(lambda: self.turn_off("too many errors"))
        self.marks = StepMarks(self.faults, self._first_step, self._first_fetch, self._check)
        self.step_hook = None
        self.fetch_hook = False
        self._inherited_rank = os.environ.get("RANK") if identity.may_be_helper() else None
        self._sleep()
        os.register_at_fork(after_in_child=self._after_fork_in_child)

    def _sleep(self):
        self.state = ASLEEP
        self.pid = os.getpid()
        self.identity = identity.Identity(None, None, None)
        self.stacks = None
        self.ignored_commands = 0
        self.off_reason = None
        self.gpu_told = False
        self._channel = None
        self._listener = None
        self._next_bind_s = 0.0
        self._said_bye = False
        self._inherited_error = None
        self._cleans_up = False

    def begin(self):
        """torch has just been imported. Helpers of a rank stay asleep until they prove to be one."""
        if not identity.may_be_helper():
            self._go_live(identity.resolve(self._distributed(), self._inherited_rank))

    def _distributed(self):
        return sys.modules.get("torch.distributed")

    def _go_live(self, who):
        """Leaves the probe asleep, for another try, where the agent's folder is not there yet."""
        now_s = time.monotonic()
        if self.state != ASLEEP or now_s < self._next_bind_s:
            return
        self._next_bind_s = now_s + BIND_INTERVAL_S
        try:
            channel = Channel(self.settings.socket_folder)
        except OSError:
            return
        self.identity = who
        self._channel = channel
        try:
            remove_dead_sockets(self.settings.socket_folder)
            self.stacks = StackSignal(self.settings.socket_folder, channel.name)
        except OSError:
            pass
        self._clean_up_at_exit()
        self._listener = Listener(self, channel)
        self._hello_now()
        self._listener.start()
        self.state = LIVE
        if who.rank is not None:
            self._marks_go_live()

    def _hello_now(self):
        """On this thread: before the first step, and even if the job hangs in its next call."""
        if self.identity.rank is not None:
            self._channel.open_ring()
        if not self._channel.send(self._listener.commands.encoded_hello(), with_ring=True):
            self._listener.ask("hello")

    def has_step_ring(self):
        return self._channel is not None and self._channel.has_ring()

    def _marks_go_live(self):
        self.marks.go_live(self._channel, self.identity.rank, GroupsChanged())

    def _first_step(self):
        """A process that steps an optimizer trains: it is a rank if it can tell which one."""
        self._become_rank(identity.resolve(self._distributed(), self._inherited_rank, steps=True))

    def _first_fetch(self):
        self._become_rank(identity.resolve(self._distributed(), self._inherited_rank))

    def _become_rank(self, who):
        if who.rank is None or self.state == OFF:
            return
        if self.state == ASLEEP:
            self._go_live(who)
        else:
            self.identity = who
            self._hello_now()
            self._marks_go_live()

    def _check(self, groups_changed):
        """On the training thread: when groups changed, and every few seconds."""
        if groups_changed:
            who = identity.resolve(self._distributed(), self._inherited_rank, steps=True)
            if who.rank is not None:
                self.identity = who
                self.marks.rank = who.rank
            self._listener.ask("hello", "groups")
        elif not self._channel.is_intact():
            self.turn_off("the socket was closed by the job")
        elif not self._channel.path_exists():
            self._listener.ask("bind")
        elif hello.uses_gpu() != self.gpu_told:
            self._listener.ask("hello")

    def turn_off(self, reason):
        """For good. Hooks stay where they cannot be taken away, and do nothing."""
        if self.state == OFF:
            return
        was_live, self.state = self.state == LIVE, OFF
        self.off_reason = reason
        self.marks.off = True
        if was_live:
            self._listener.ask("off")

    def _clean_up_at_exit(self):
        if not self._cleans_up:
            self._cleans_up = True
            atexit.register(self._say_bye)
            if identity.is_multiprocessing_child():
                # Such a process may end without running what atexit holds.
                finalize = getattr(sys.modules.get("multiprocessing.util"), "Finalize", None)
                if finalize is not None:
                    finalize(None, self._say_bye, exitpriority=-100)

    def _say_bye(self):
        if self._said_bye or self._channel is None or self.pid != os.getpid():
            return
        self._said_bye = True
        try:
            self.marks.off = True
            self._listener.stop()
            # At once, but where it is inside of torch: the interpreter's end would take it out of there by force, and
            # C++ then ends the process (SIGABRT).
            self._listener.join(seconds=10)
            report = {"pid": self.pid, "rank": self.identity.rank, "steps": self.marks.step}
            report.update(_exit_kind(self._inherited_error))
            self._channel.send_patiently(wire.encode(wire.BYE, report), seconds=0.2)
            # The descriptor stays open for the listener, which may still look at it.
            self._channel.remove_path()
        except Exception:
            pass
        if self.stacks is not None:
            self.stacks.remove_file()

    def _after_fork_in_child(self):
        """The child has the hooks, but neither the thread nor a right to the parent's socket."""
        try:
            parent_was_rank = self.identity.rank is not None
            channel, listener, stacks = self._channel, self._listener, self.stacks
            self.marks.reset()
            inherited_off = self.state == OFF
            if self._inherited_rank is None:
                self._inherited_rank = os.environ.get("RANK")
            self._sleep()
            # A child that is forked while its parent handles an exception has it in hand all its life.
            self._inherited_error = sys.exc_info()[1]
            if parent_was_rank or inherited_off:
                self.state = OFF
                self.marks.off = True
            if channel is not None:
                channel.close()
                listener.close_in_child()
            if stacks is not None:
                stacks.forget()
        except Exception:
            pass


def _exit_kind(inherited_error):
    """The interpreter keeps the exception that ended the main thread, unless multiprocessing caught it."""
    if identity.is_multiprocessing_child():
        error = sys.exc_info()[1]
        return _exit_kind_of_child(None if error is inherited_error else error)
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    return {"kind": "exit"} if error is None else _described(error)


def _exit_kind_of_child(error):
    """Its exception is on the way to multiprocessing, which makes a status of it and keeps nothing."""
    if error is None:
        return {"kind": "exit", "status": 0}
    if not isinstance(error, SystemExit):
        return dict(_described(error), status=1)
    status = 0 if error.code is None else error.code & 255 if isinstance(error.code, int) else 1
    # torch's workers write their exception to a file and leave by an exit instead.
    if status != 0 and error.__context__ is not None:
        return dict(_described(error.__context__), status=status)
    return {"kind": "exit", "status": status}


def _described(error):
    kind = {"kind": "exception", "exception": type(error).__name__}
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is not None:
        kind["file"] = traceback.tb_frame.f_code.co_filename
        kind["line"] = traceback.tb_lineno
    return kind
