"""The probe's datagram socket in the agent's folder, and its ring of steps; neither ever waits.

The socket is not connected: a connected one stays tied to an agent that died, and a blocked job,
which sends nothing and so never notices, could not be asked anything by the next agent.
"""

import array
import errno
import os
import socket
import time

from .descriptors import out_of_the_way
from .step_ring import SLOTS, WORDS, StepRing, private_words
from .wire import MAGIC, STEP

try:
    import ctypes

    # PyDLL keeps the GIL: giving it away for a call that does not wait can cost the training thread
    # a whole switch interval (5 ms) beside a busy Python thread.
    _c_library = ctypes.PyDLL(None, use_errno=True)
    _c_access = _c_library.access
    _c_access.argtypes = [ctypes.c_char_p, ctypes.c_int]
except Exception:
    _c_access = None

_MUST_NOT_WAIT = socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL
_LONGEST_COMMAND = 65536
_STEP = MAGIC + bytes((STEP,))
_QUEUE_FULL = (errno.EAGAIN, errno.ENOBUFS)


def _bound_socket(path):
    fresh = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    fresh = socket.socket(fileno=out_of_the_way(fresh.detach()))
    try:
        fresh.setblocking(False)
        # Before bind: nobody may reach the socket for even a moment.
        os.fchmod(fresh.fileno(), 0o600)
        fresh.bind(path)
        os.chmod(path, 0o600)
    except BaseException:
        fresh.close()
        raise
    return fresh


def _replace(old, fresh):
    """The descriptor's number stays, for whoever polls it or is just using it."""
    if old is None:
        return fresh
    os.dup2(fresh.fileno(), old.fileno(), inheritable=False)
    fresh.close()
    return old


def _unlink(path):
    try:
        os.unlink(path)
    except OSError:
        pass


class Channel:
    def __init__(self, folder):
        """Raises OSError where the folder does not let a socket be bound."""
        self._folder = folder
        self._agent_path = os.path.join(folder, "probe")
        self._agent_names = {self._agent_path}
        self.dropped = 0
        self.name = self.path = None
        self._socket = self._ring = None
        self.words = private_words()
        self.bind()

    def bind(self):
        name = "%d-%s" % (os.getpid(), os.urandom(4).hex())
        path = os.path.join(self._folder, "probe-" + name)
        self._socket = _replace(self._socket, _bound_socket(path))
        self.name, self.path = name, path
        self._path_bytes = os.fsencode(path)
        self._inode = self._look_at_inode()

    def open_ring(self):
        """For a process that is a rank. Where there can be no ring, steps leave as datagrams."""
        if self._ring is not None:
            return
        try:
            self._ring = StepRing()
        except (AttributeError, OSError, ValueError):
            return
        self.words = self._ring.words

    def has_ring(self):
        return self._ring is not None

    def fileno(self):
        return self._socket.fileno()

    def path_exists(self):
        if _c_access is None:
            return os.path.exists(self.path)
        return _c_access(self._path_bytes, os.F_OK) == 0

    def is_intact(self):
        """False when the job closed the file under us, and another may now have its number."""
        try:
            return self._look_at_inode() == self._inode
        except OSError:
            return False

    def _look_at_inode(self):
        return os.fstat(self._socket.fileno()).st_ino

    def send_step(self, step):
        """For a process without a ring: sends what stands in words, at once, or drops and counts."""
        first = step % SLOTS * WORDS
        if self._send(_STEP + self.words[first : first + WORDS]) != 0:
            self.dropped += 1

    def send(self, datagram, with_ring=False):
        """True when it was sent; what is not counts as dropped."""
        return self.send_patiently(datagram, with_ring, seconds=0.0)

    def _send(self, datagram, attached=()):
        """0 or the number of the error."""
        try:
            self._socket.sendmsg([datagram], attached, _MUST_NOT_WAIT, self._agent_path)
        except OSError as error:
            return error.errno or -1
        return 0

    def _attached_ring(self):
        descriptor = self._ring.descriptor() if self._ring is not None else None
        if descriptor is None:
            return ()
        return [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))]

    def send_patiently(self, datagram, with_ring=False, seconds=2.0):
        """For the listener's thread: waits while the agent's queue is full."""
        deadline = time.monotonic() + seconds
        attached = self._attached_ring() if with_ring else ()
        while True:
            error = self._send(datagram, attached)
            if error == 0:
                return True
            if error not in _QUEUE_FULL or time.monotonic() >= deadline:
                self.dropped += 1
                return False
            time.sleep(0.01)

    def receive(self):
        """(datagram, whether the agent sent it), or None when nothing waits."""
        try:
            datagram, sender = self._socket.recvfrom(_LONGEST_COMMAND, socket.MSG_DONTWAIT)
        except (BlockingIOError, InterruptedError):
            return None
        return datagram, self._is_agent(sender)

    def _is_agent(self, sender):
        if not sender or not isinstance(sender, str):
            return False
        if sender in self._agent_names:
            return True
        # In a container the agent may have bound the same socket under another path.
        name = self._agent_name()
        if name:
            self._agent_names = {self._agent_path, name}
        return sender == name

    def _agent_name(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as visitor:
            visitor.setblocking(False)
            try:
                visitor.connect(self._agent_path)
                name = visitor.getpeername()
            except OSError:
                return None
        return name if isinstance(name, str) else None

    def remove_path(self):
        _unlink(self.path)

    def close(self):
        self._socket.close()
        if self._ring is not None:
            self._ring.close()


def remove_dead_sockets(folder):
    """What an earlier program of this very process left behind (exec keeps the pid)."""
    prefix = "probe-%d-" % os.getpid()
    for name in os.listdir(folder):
        if not name.startswith(prefix):
            continue
        path = os.path.join(folder, name)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as visitor:
            visitor.setblocking(False)
            try:
                visitor.connect(path)
            except ConnectionRefusedError:
                # Pids repeat across containers; a socket that refuses has no owner anywhere.
                for kind in ("probe-", "stacks-"):
                    _unlink(os.path.join(folder, kind + name[len("probe-") :]))
            except OSError:
                pass
