"""An agent to talk to and jobs to watch."""

import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROBE = HERE.parent.parent / "probe"
STAND_IN = HERE / "stand_in"

STEP, HELLO, GROUPS, EDGE, REPLY, BYE, OFF = range(1, 8)
DEADLINE_S = 60.0
STEP_RECORD = struct.Struct("<4sBiIqqqqIII")
STEP_FIELDS = (
    "rank dropped step unix_ns monotonic_ns data_wait_ns fetches probe_cost_ns optimizer_index"
).split()


class Datagram:
    def __init__(self, content, sender):
        assert content[:4] == b"ERP1"
        self.kind = content[4]
        self.sender = sender
        self.process = os.path.basename(sender or "").partition("-")[2]
        if self.kind == STEP:
            self.fields = dict(zip(STEP_FIELDS, STEP_RECORD.unpack(content)[2:]))
        else:
            assert len(content) <= 60000
            self.fields = json.loads(content[5:].decode("utf-8"))

    def __getitem__(self, key):
        return self.fields[key]

    def __repr__(self):
        return "<%d %s %s>" % (self.kind, self.sender, self.fields)


class Agent:
    def __init__(self, folder):
        self.folder = str(folder)
        self.path = os.path.join(self.folder, "probe")
        self.seen = []
        self._socket = None
        self.bind()

    def bind(self):
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(self.path)

    def close(self, unlink=True):
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if unlink and os.path.exists(self.path):
            os.unlink(self.path)

    def receive(self, seconds):
        ready, _, _ = select.select([self._socket], [], [], max(0, seconds))
        if not ready:
            return None
        datagram = Datagram(*self._socket.recvfrom(70000))
        self.seen.append(datagram)
        return datagram

    def expect(self, kind, condition=lambda datagram: True):
        """The next datagram of that kind that meets the condition; others are read over."""
        deadline = time.monotonic() + DEADLINE_S
        while True:
            datagram = self.receive(deadline - time.monotonic())
            assert datagram is not None, "nothing of kind %d came; seen: %s" % (kind, self.seen)
            if datagram.kind == kind and condition(datagram):
                return datagram

    def drain(self):
        """All that has arrived so far."""
        while self.receive(0) is not None:
            pass
        return self.seen

    def kinds(self):
        return [datagram.kind for datagram in self.drain()]

    def command(self, to, **fields):
        self.send_raw(to, json.dumps(fields).encode())

    def send_raw(self, to, content):
        self._socket.sendto(content, to)

    def ask(self, to, kind=REPLY, **fields):
        self.command(to, **fields)
        return self.expect(kind)


class Job:
    """A Python program below the launcher: the probe's folder first on PYTHONPATH."""

    def __init__(
        self, program, folder=None, environment=None, python=sys.executable, path=(STAND_IN,),
        arguments=(), site=True,
    ):
        self._scripts = tempfile.TemporaryDirectory(prefix="ep-job-")
        self.script = os.path.join(self._scripts.name, "train.py")
        Path(self.script).write_text(textwrap.dedent(program))
        variables = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("EROICA_", "PYTHON", "RANK", "WORLD_SIZE", "TORCH", "KINETO"))
        }
        variables["PYTHONPATH"] = os.pathsep.join(
            ([str(PROBE / "site")] if site else []) + [str(entry) for entry in path]
        )
        variables["PYTHONDONTWRITEBYTECODE"] = "1"
        if folder is not None:
            variables["EROICA_SOCKET_DIR"] = str(folder)
        for name, value in (environment or {}).items():
            if value is None:
                variables.pop(name, None)
            else:
                variables[name] = value
        self.process = subprocess.Popen(
            [python, *arguments, self.script],
            env=variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    @property
    def pid(self):
        return self.process.pid

    def go_on(self):
        """Lets a program pass its next sys.stdin.readline()."""
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def line(self):
        """The next line that it prints; it has to flush each."""
        ready, _, _ = select.select([self.process.stdout], [], [], DEADLINE_S)
        assert ready, "the job prints nothing"
        return self.process.stdout.readline().decode().rstrip("\n")

    def finish(self, status=0):
        """What it printed on stdout and stderr."""
        out, err = self.process.communicate(timeout=DEADLINE_S)
        assert self.process.returncode == status, (self.process.returncode, out, err)
        return out.decode(), err.decode()

    def close(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except OSError:
            pass
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()
        self._scripts.cleanup()


def wait_until(condition):
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)
