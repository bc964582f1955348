"""What the agent may ask for, done on the listener's thread."""

import sys
import time

from . import files, flight_recorder, groups, hello, stacks, wire
from .profile_window import GRACE_NS, STOPPED, ProfileWindow, job_profiles, someone_profiles
from .profiler_thread import ProfilerThread

MAX_TIME_NS = 2**63 - 1


class BadCommand(Exception):
    pass


class Commands:
    def __init__(self, the_probe, channel, edges, wake):
        self._probe = the_probe
        self._channel = channel
        self._edges = edges
        self._wake = wake
        self._sequence_numbers = flight_recorder.SequenceNumbers()
        self._groups_sent = 0
        self._profile = None
        self._profiler_thread = ProfilerThread()
        self._known = {
            "hello": self._hello,
            "groups": self._groups,
            "window": self._window,
            "flight_recorder": self._flight_recorder,
            "stacks": self._stacks,
            "profile": self._profile_command,
        }

    def run(self, datagram):
        """False when the datagram was no command."""
        command = wire.decode(datagram)
        action = self._known.get(command.get("do")) if command and _is_text(command) else None
        if action is None:
            return False
        request = command.get("request")
        try:
            action(command)
        except BadCommand:
            return False
        except files.Refused as error:
            self._reply(request, error="refused: %s" % error)
        except Exception as error:
            self._reply(request, error="%s: %s" % (type(error).__name__, str(error)[:200]))
        return True

    def _send(self, datagram):
        return self._channel.send_patiently(datagram)

    def _reply(self, request, error=None, **more):
        document = dict(more, request=request, ok=error is None)
        if error is not None:
            document["error"] = error
        self._send(wire.encode(wire.REPLY, document))

    def _hello(self, command):
        self.send_hello()

    def _groups(self, command):
        self.send_groups()

    def send_hello(self):
        self._channel.send_patiently(self.encoded_hello(), with_ring=True)

    def encoded_hello(self):
        return wire.encode(wire.HELLO, hello.describe_process(self._probe))

    def send_groups(self):
        self._groups_sent += 1
        head = {"rank": self._probe.identity.rank, "set": self._groups_sent}
        found = groups.describe_groups()
        for datagram in wire.encode_parts(wire.GROUPS, head, "groups", found):
            if not self._send(datagram):
                break

    def send_off(self):
        report = {
            "pid": self._probe.pid,
            "rank": self._probe.identity.rank,
            "reason": self._probe.off_reason,
            "errors": self._probe.faults.count,
            "last_error": self._probe.faults.last,
        }
        self._send(wire.encode(wire.OFF, report))

    def _window(self, command):
        window = _identifier(command, "window")
        start, end = _interval(command)
        self._profiler_thread.window_announced()
        if not self._edges.add(window, start, end):
            self._reply(window, error="too many windows")

    def send_due_edges(self):
        for window, edge in self._edges.pop_due(time.time_ns()):
            self._send_edge(window, edge)
            if edge == "start":
                self._profiler_thread.window_begins()

    def _send_edge(self, window, edge):
        marks = self._probe.marks
        head = {
            "rank": self._probe.identity.rank,
            "window": window,
            "edge": edge,
            "step": marks.step,
            "step_unix_ns": marks.last_step_unix_ns,
            "unix_ns": time.time_ns(),
            "job_profiles": self._profile is None and job_profiles(),
        }
        numbers = []
        try:
            numbers = self._sequence_numbers.read()
        except Exception as error:
            head["error"] = "%s: %s" % (type(error).__name__, str(error)[:200])
        for datagram in wire.encode_parts(wire.EDGE, head, "groups", numbers):
            self._send(datagram)

    def _path(self, command):
        settings = self._probe.settings
        folders = [settings.socket_folder] + [settings.trace_folder] * bool(settings.trace_folder)
        return files.check_path(command.get("path"), folders)

    def _flight_recorder(self, command):
        request = _identifier(command, "request")
        path = self._path(command)
        recorder, content = flight_recorder.dump(command.get("recorder"))
        files.write_new(path, lambda descriptor: files.write_all(descriptor, content))
        self._reply(
            request,
            path=command["path"],
            recorder=recorder,
            recorders=flight_recorder.recorders(),
            bytes=len(content),
        )

    def _stacks(self, command):
        request = _identifier(command, "request")
        files.write_new(self._path(command), stacks.dump)
        self._reply(request, path=command["path"])

    def _profile_command(self, command):
        request = _identifier(command, "request")
        path = self._path(command)
        start, end = _interval(command)
        if self._profile is not None or someone_profiles():
            self._reply(request, error="busy")
            return
        if "torch.profiler" not in sys.modules:
            self._reply(request, error="this torch has no profiler")
            return
        self._profile = ProfileWindow(
            request,
            path,
            start,
            end,
            command.get("with_stack") is True,
            command.get("record_shapes") is True,
            self._wake,
        )
        self._profile.told_path = command["path"]
        self._probe.marks.profile = self._profile

    def look_after_profile(self):
        """Writes a finished profile; says so when the training thread does not come by any more."""
        profile = self._profile
        if profile is None:
            return
        if profile.is_over():
            self._profile = self._probe.marks.profile = None
            self._finish_profile(profile)
        elif profile.is_late(time.time_ns()) and not profile.late_reported:
            # Only the training thread can stop it, at its next step.
            profile.late_reported = True
            self._reply(profile.request, error="no step since the end of the window", path=None)

    def _finish_profile(self, profile):
        if profile.state != STOPPED:
            if not profile.late_reported:
                self._reply(profile.request, error=profile.error)
            return
        try:
            files.written_by_name(profile.path, profile.write)
        except Exception as error:
            self._reply(profile.request, error="%s: %s" % (type(error).__name__, str(error)[:200]))
            return
        self._reply(
            profile.request,
            path=profile.told_path,
            steps=profile.steps,
            began_unix_ns=profile.began_unix_ns,
            ended_unix_ns=profile.ended_unix_ns,
            late=profile.late_reported,
        )

    def next_look_unix_ns(self):
        """When something is due, or None."""
        due = self._edges.next_unix_ns()
        profile = self._profile
        if profile is not None and not profile.is_over() and not profile.late_reported:
            late = profile.end_unix_ns + GRACE_NS + 1
            due = late if due is None else min(due, late)
        return due


def _is_text(command):
    return isinstance(command.get("do"), str)


def _identifier(command, key):
    value = command.get(key)
    if isinstance(value, bool) or not isinstance(value, (str, int)) or len(str(value)) > 200:
        raise BadCommand(key)
    return value


def _interval(command):
    start, end = command.get("start_unix_ns"), command.get("end_unix_ns")
    for value in (start, end):
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_TIME_NS:
            raise BadCommand("time")
    if end < start:
        raise BadCommand("time")
    return start, end
