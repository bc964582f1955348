"""One window of torch.profiler inside the process, where Kineto's daemon mode is not to be had.

A profiler belongs to its thread: it is started and stopped on the training thread, at its steps.
"""

import sys
import time

# After the end, for the step in progress.
GRACE_NS = 10_000_000_000

WAITING, RUNNING, STOPPING, STOPPED, FAILED, CANCELLED = range(6)


class ProfileWindow:
    def __init__(self, request, path, start_unix_ns, end_unix_ns, with_stack, record_shapes, done):
        """done: called, on whichever thread, when state has become one of the last three."""
        self.request = request
        self.path = path
        self.start_unix_ns = start_unix_ns
        self.end_unix_ns = end_unix_ns
        self.with_stack = with_stack
        self.record_shapes = record_shapes
        self.state = WAITING
        self.error = None
        self.late_reported = False
        self.steps = 0
        self.began_unix_ns = None
        self.ended_unix_ns = None
        self._done = done
        self._profiler = None
        self._patched = None

    def at_step(self, unix_ns):
        """On the training thread, after each step."""
        try:
            if self.state == WAITING:
                if unix_ns >= self.end_unix_ns:
                    self._finish(FAILED, "no step ended inside the window")
                elif unix_ns >= self.start_unix_ns:
                    self._start()
            elif self.state == RUNNING:
                self.steps += 1
                if unix_ns >= self.end_unix_ns:
                    self._stop(STOPPED, None)
        except Exception as error:
            self._abandon(error)
            raise

    def is_over(self):
        return self.state >= STOPPED

    def is_late(self, unix_ns):
        return not self.is_over() and unix_ns > self.end_unix_ns + GRACE_NS

    def _start(self):
        if someone_profiles():
            self._finish(FAILED, "busy")
            return
        profiler = sys.modules["torch.profiler"]
        self._profiler = profiler.profile(
            activities=sorted(profiler.supported_activities(), key=str),
            with_stack=self.with_stack,
            record_shapes=self.record_shapes,
        )
        self._profiler.start()
        self.state = RUNNING
        self.began_unix_ns = time.time_ns()
        self._give_way_to_others()

    def _stop(self, state, error):
        self._let_others_be()
        self.state = STOPPING  # not over yet: the listener's thread takes the trace of one that is
        self._profiler.stop()
        self.ended_unix_ns = time.time_ns()
        self._finish(state, error)

    def _abandon(self, error):
        self._let_others_be()
        if self._profiler is not None and self.state == RUNNING:
            try:
                self._profiler.stop()
            except Exception:
                pass
        self._finish(FAILED, "%s: %s" % (type(error).__name__, str(error)[:200]))

    def _finish(self, state, error):
        self.state, self.error = state, error
        self._done()

    def cancel(self, error):
        """On the training thread."""
        if self.state == RUNNING:
            self._stop(CANCELLED, error)
        elif self.state == WAITING:
            self._finish(CANCELLED, error)

    def _give_way_to_others(self):
        """A second profiler on a thread raises an error: ours must not be the reason for one."""
        kind = sys.modules["torch.autograd.profiler"].profile
        method = "_prepare_trace" if hasattr(kind, "_prepare_trace") else "__enter__"
        original = getattr(kind, method)

        def make_way(profiler, *args, **kwargs):
            try:
                self.cancel("the job's own profiler started")
            except Exception as error:
                self._abandon(error)
            return original(profiler, *args, **kwargs)

        setattr(kind, method, make_way)
        self._patched = (kind, method, original)

    def _let_others_be(self):
        if self._patched is not None:
            kind, method, original = self._patched
            self._patched = None
            setattr(kind, method, original)

    def write(self, path):
        self._profiler.export_chrome_trace(path)
        self._profiler = None


def job_profiles():
    """A profiler that was started from Python is active; Kineto then takes no window of the agent's."""
    return bool(getattr(sys.modules.get("torch.autograd.profiler"), "_is_profiler_enabled", False))


def someone_profiles():
    enabled = getattr(sys.modules.get("torch._C._autograd"), "_profiler_enabled", None)
    if enabled is None:
        enabled = getattr(sys.modules.get("torch.autograd"), "_profiler_enabled", None)
    return job_profiles() or bool(enabled is not None and enabled())
