"""An agent to talk to and jobs to watch."""

import array
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
# step, unix_ns, monotonic_ns, data_wait_ns, probe_cost_ns, fetches, rank, optimizer_index, dropped, sum
STEP_RECORD = struct.Struct("<qqqqIIIIqq")
STEP_FIELDS = (
    "step unix_ns monotonic_ns data_wait_ns probe_cost_ns fetches rank optimizer_index dropped"
).split()
SLOTS, SLOT_BYTES = 1024, 64


def step_fields(slot):
    """None where the slot is empty, or does not hold."""
    *words, total = struct.unpack("<8q", slot)
    if words[0] < 1 or (0x45524F494341 + sum(words)) % 2**63 != total:
        return None
    return dict(zip(STEP_FIELDS, STEP_RECORD.unpack(slot)))


class Datagram:
    def __init__(self, content, sender):
        assert content[:4] == b"ERP1"
        self.kind = content[4]
        self.sender = sender
        self.process = os.path.basename(sender or "").partition("-")[2]
        if self.kind == STEP:
            self.fields = step_fields(content[5:])
            assert self.fields is not None
        else:
            assert len(content) <= 60000
            self.fields = json.loads(content[5:].decode("utf-8"))

    def __getitem__(self, key):
        return self.fields[key]

    def __repr__(self):
        return "<%d %s %s>" % (self.kind, self.sender, self.fields)


class Ring:
    """Reads a ring of steps from its beginning, as PROTOCOL.md describes it."""

    def __init__(self, descriptor):
        self.sender = None  # who showed it last
        self._descriptor = descriptor
        self._next = 1

    def take(self):
        """The next record, or None."""
        slot = os.pread(self._descriptor, SLOT_BYTES, self._next % SLOTS * SLOT_BYTES)
        fields = step_fields(slot)
        if fields is None or fields["step"] < self._next:
            return None
        self._next = fields["step"] + 1
        return b"ERP1\1" + slot

    def close(self):
        os.close(self._descriptor)


class Agent:
    def __init__(self, folder):
        self.folder = str(folder)
        self.path = os.path.join(self.folder, "probe")
        self.seen = []
        self.rings = {}
        self._socket = None
        self._waiting = []
        self.bind()

    def bind(self):
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(self.path)

    def close(self, unlink=True):
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        while self.rings:
            self.rings.popitem()[1].close()
        if unlink and os.path.exists(self.path):
            os.unlink(self.path)

    def receive(self, seconds):
        """The next datagram, or the next record of a ring."""
        deadline = time.monotonic() + seconds
        while not self._waiting:
            ready, _, _ = select.select([self._socket], [], [], max(0, min(seconds, 0.01)))
            if ready:
                content, attached, _, sender = self._socket.recvmsg(70000, 1024)
                self._take_ring(sender, attached)
            self._read_rings()  # whatever was written before the datagram
            if ready:
                self._waiting.append(Datagram(content, sender))
            elif time.monotonic() >= deadline:
                break
        if not self._waiting:
            return None
        self.seen.append(self._waiting.pop(0))
        return self.seen[-1]

    def _take_ring(self, sender, attached):
        numbers = array.array("i")
        for level, kind, content in attached:
            assert (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS)
            numbers.frombytes(content)
        assert len(numbers) <= 1
        for number in numbers:
            file = os.fstat(number).st_ino
            if file in self.rings:
                os.close(number)
            else:
                self.rings[file] = Ring(number)
            self.rings[file].sender = sender

    def _read_rings(self):
        for ring in self.rings.values():
            record = ring.take()
            while record is not None:
                self._waiting.append(Datagram(record, ring.sender))
                record = ring.take()

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
