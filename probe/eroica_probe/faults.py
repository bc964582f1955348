"""The probe's own errors: counted, never shown to user code, and too many turn the probe off."""

import signal

MAX_ERRORS = 20


class Faults:
    def __init__(self, turn_off):
        self.count = 0
        self.last = None
        self._turn_off = turn_off

    def caught(self, error):
        """For `except Exception as error` around the probe's own code in user threads."""
        if _raised_by_signal_handler(error):
            raise error
        self.count += 1
        self.last = "%s: %s" % (type(error).__name__, str(error)[:200])
        if self.count == MAX_ERRORS:
            try:
                self._turn_off()
            except Exception:
                pass


def _raised_by_signal_handler(error):
    """The job's own handler may run, and raise, between any two lines of the probe's."""
    handlers = set()
    for number in range(1, signal.NSIG):
        try:
            handler = signal.getsignal(number)
        except ValueError:
            continue
        function = getattr(handler, "__func__", handler)
        code = getattr(function, "__code__", None)
        if code is None:
            code = getattr(getattr(type(handler), "__call__", None), "__code__", None)
        if code is not None:
            handlers.add(code)
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code in handlers:
            return True
        traceback = traceback.tb_next
    return False
