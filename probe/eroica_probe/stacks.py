"""Python stacks of all threads, on a signal: written in C, even while the GIL is held."""

import faulthandler
import os
import signal

from .descriptors import out_of_the_way

# Low real-time signals are in use by debuggers, coverage tools and other profilers.
FIRST_OFFSET = 10


class StackSignal:
    def __init__(self, folder, name):
        """Raises OSError without a place for the file; number is None without a free signal."""
        self.number = None
        self.name = "stacks-" + name
        self.path = os.path.join(folder, self.name)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        self._descriptor = out_of_the_way(os.open(self.path, flags, 0o600))
        for number in free_signals():
            try:
                faulthandler.register(number, file=self._descriptor, all_threads=True, chain=False)
            except (OSError, RuntimeError, ValueError):
                continue
            self.number = number
            return

    def forget(self):
        """In a forked child: its stacks are not to land in the parent's file."""
        if self.number is not None:
            faulthandler.unregister(self.number)
        os.close(self._descriptor)

    def remove_file(self):
        try:
            os.unlink(self.path)
        except OSError:
            pass


def free_signals():
    """Real-time signals that neither Python nor C code here handles, ignores or blocks."""
    taken = _mask("SigCgt") | _mask("SigIgn") | _mask("SigBlk")
    for number in range(signal.SIGRTMIN + FIRST_OFFSET, signal.SIGRTMAX + 1):
        if not taken >> (number - 1) & 1 and signal.getsignal(number) == signal.SIG_DFL:
            yield number


def _mask(field):
    with open("/proc/self/status", "rb") as status:
        for line in status:
            if line.startswith(field.encode() + b":"):
                return int(line.split()[1], 16)
    return 0


def dump(descriptor):
    faulthandler.dump_traceback(file=descriptor, all_threads=True)
