"""The probe's two datagram sockets in the agent's folder; neither ever waits.

Commands come to the first, and everything but steps leaves it. It is not connected: a connected
socket stays tied to an agent that died, and a blocked job, which sends nothing and so never
notices, could not be asked anything by the next agent. The second is connected, which makes a step
cheaper, and carries steps alone.
"""

import errno
import os
import socket
import time

from .descriptors import out_of_the_way

try:
    import ctypes

    # PyDLL keeps the GIL: giving it away for a call that does not wait can cost the training thread
    # a whole switch interval (5 ms) beside a busy Python thread.
    _c_library = ctypes.PyDLL(None, use_errno=True)
    _c_send = _c_library.send
    _c_send.restype = ctypes.c_ssize_t
    _c_send.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
    _c_access = _c_library.access
    _c_access.argtypes = [ctypes.c_char_p, ctypes.c_int]
except Exception:
    _c_send = _c_access = None

_MUST_NOT_WAIT = socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL
_LONGEST_COMMAND = 65536
_QUEUE_FULL = (errno.EAGAIN, errno.ENOBUFS)
_CONNECT_INTERVAL_S = 1.0


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
        self.name = self.path = self._steps_path = None
        self._socket = self._steps = None
        self.bind()

    def bind(self):
        name = "%d-%s" % (os.getpid(), os.urandom(4).hex())
        path = os.path.join(self._folder, "probe-" + name)
        steps_path = os.path.join(self._folder, "steps-" + name)
        fresh = _bound_socket(path)
        try:
            fresh_steps = _bound_socket(steps_path)
        except BaseException:
            fresh.close()
            _unlink(path)
            raise
        self._socket = _replace(self._socket, fresh)
        self._steps = _replace(self._steps, fresh_steps)
        self._connected = False
        self._next_connect_s = 0.0
        self._steps_number = self._steps.fileno()
        self.name, self.path, self._steps_path = name, path, steps_path
        self._path_bytes = os.fsencode(path)
        self._inodes = self._look_at_inodes()

    def fileno(self):
        return self._socket.fileno()

    def path_exists(self):
        if _c_access is None:
            return os.path.exists(self.path)
        return _c_access(self._path_bytes, os.F_OK) == 0

    def is_intact(self):
        """False when the job closed the file under us, and another may now have its number."""
        try:
            return self._look_at_inodes() == self._inodes
        except OSError:
            return False

    def _look_at_inodes(self):
        return [os.fstat(one.fileno()).st_ino for one in (self._socket, self._steps)]

    if _c_send is not None:

        def send_step(self, record):
            """Sends at once or drops and counts."""
            if self._connected:
                if _c_send(self._steps_number, record, len(record), _MUST_NOT_WAIT) >= 0:
                    return
                self._step_failed(record, ctypes.get_errno())
            else:
                self._step_failed(record, errno.ENOTCONN)

    else:

        def send_step(self, record):
            """Sends at once or drops and counts."""
            try:
                self._steps.send(record, _MUST_NOT_WAIT)
            except OSError as error:
                self._step_failed(record, error.errno)

    def _step_failed(self, record, error):
        if error not in _QUEUE_FULL:
            self._connected = False
            if self._connect_steps():
                try:
                    self._steps.send(record, _MUST_NOT_WAIT)
                    return
                except OSError:
                    pass
        self.dropped += 1

    def _connect_steps(self):
        now_s = time.monotonic()
        if now_s < self._next_connect_s:
            return False
        self._next_connect_s = now_s + _CONNECT_INTERVAL_S
        try:
            self._steps.connect(self._agent_path)
        except OSError:
            return False
        self._connected = True
        return True

    def send(self, datagram):
        """True when it was sent; what is not counts as dropped."""
        return self.send_patiently(datagram, seconds=0.0)

    def _send(self, datagram):
        """0 or the number of the error."""
        try:
            self._socket.sendto(datagram, _MUST_NOT_WAIT, self._agent_path)
        except OSError as error:
            return error.errno or -1
        return 0

    def send_patiently(self, datagram, seconds=2.0):
        """For the listener's thread: waits while the agent's queue is full."""
        deadline = time.monotonic() + seconds
        while True:
            error = self._send(datagram)
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

    def remove_paths(self):
        _unlink(self.path)
        _unlink(self._steps_path)

    def close(self):
        self._socket.close()
        self._steps.close()


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
                for kind in ("probe-", "steps-", "stacks-"):
                    _unlink(os.path.join(folder, kind + name[len("probe-") :]))
            except OSError:
                pass
