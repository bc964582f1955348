"""What runs on the training thread: marks of steps and the time spent waiting for data.

A step is marked by one optimizer. Of several, that is the first one seen, until another turns out
to step more rarely (a generator beside its discriminator), though not more than RAREST times more
rarely than the busiest one. All ranks of a job see the same calls and so make the same choice.
"""

import weakref
from threading import get_ident
from time import monotonic_ns, time_ns

from .compilation import uncompiled
from .step_ring import SLOTS, SUM_MASK, SUM_OF_NOTHING, WORDS

MAX_COUNT = (1 << 31) - 1

# Calls of optimizers between two looks at which one is the rarest.
CALLS_A_LOOK = 256
RAREST = 8
# Calls of others after which a marking optimizer counts as abandoned.
ABANDONED_CALLS = 64
# Between two looks after process groups, and after things that change behind the probe's back.
GROUPS_INTERVAL_NS = 500_000_000
CHECK_INTERVAL_NS = 5_000_000_000


class _Stepped:
    __slots__ = ("index", "optimizer", "calls")

    def __init__(self, index, optimizer):
        self.index = index
        self.optimizer = weakref.ref(optimizer)
        self.calls = 0


class StepMarks:
    def __init__(self, faults, on_first_step, on_first_fetch, on_check):
        """on_first_step and on_first_fetch: until one of them calls go_live, each call again."""
        self._faults = faults
        self._on_first_step = on_first_step
        self._on_first_fetch = on_first_fetch
        self._on_check = on_check
        self.reset()

    def reset(self):
        self.live = False
        self.off = False
        self.step = 0
        self.last_step_unix_ns = 0
        self.profile = None
        self.rank = 0
        self._channel = None
        self._words = None
        self._send = None
        self.groups_changed = None
        self._by_id = {}
        self._marking = None
        self._calls = 0
        self._next_look = CALLS_A_LOOK
        self._calls_at_mark = 0
        self._next_index = 0
        self._training_thread = None
        self._in_fetch = False
        self._wait_ns = 0
        self._fetches = 0
        self._cost_ns = 0
        self._group_names = ()
        self._group_count = 0
        self._next_groups_ns = 0
        self._next_check_ns = 0

    def go_live(self, channel, rank, groups_changed):
        """groups_changed: a cheap function, true after process groups came or went.

        It may have the attribute names: of another length when that is so, mostly.
        """
        self._channel = channel
        self._words = channel.words
        self._send = None if channel.has_ring() else channel.send_step
        self.rank = rank
        self.groups_changed = groups_changed
        self.live = True

    def optimizer_stepped(self, optimizer, args=(), kwargs=None):
        entered_ns = monotonic_ns()
        if self.off:
            return
        try:
            if not self.live:
                uncompiled(self._on_first_step)
                if not self.live:
                    return
            stepped = self._marking
            if stepped is None or stepped.optimizer() is not optimizer:
                stepped = self._by_id.get(id(optimizer))
                if stepped is None or stepped.optimizer() is not optimizer:
                    stepped = self._meet(optimizer)
            stepped.calls += 1
            self._calls = calls = self._calls + 1
            if calls >= self._next_look:
                self._choose_marking()
            if stepped is not self._marking:
                if self._still_marks(calls):
                    self._cost_ns += monotonic_ns() - entered_ns
                    return
                self._marking = stepped
            self._calls_at_mark = calls
            self._training_thread = get_ident()
            self.step = step = self.step + 1
            self.last_step_unix_ns = unix_ns = time_ns()
            cost_ns, self._cost_ns = self._cost_ns, 0
            wait_ns, self._wait_ns = self._wait_ns, 0
            fetches, self._fetches = self._fetches, 0
            if fetches > MAX_COUNT or cost_ns > MAX_COUNT:
                fetches, cost_ns = min(fetches, MAX_COUNT), min(cost_ns, MAX_COUNT)
            counts = cost_ns | fetches << 32
            who = self.rank | stepped.index << 32
            dropped = self._channel.dropped
            words, word = self._words, step % SLOTS * WORDS
            words[word] = step
            words[word + 1] = unix_ns
            words[word + 2] = entered_ns
            words[word + 3] = wait_ns
            words[word + 4] = counts
            words[word + 5] = who
            words[word + 6] = dropped
            words[word + 7] = (
                SUM_OF_NOTHING + step + unix_ns + entered_ns + wait_ns + counts + who + dropped
            ) & SUM_MASK
            if self._send is not None:
                self._send(step)
            if self.profile is not None:
                uncompiled(self.profile.at_step, unix_ns)
            if len(self._group_names) != self._group_count or entered_ns > self._next_groups_ns:
                self._look_around(entered_ns)
        except Exception as error:
            self._faults.caught(error)
        self._cost_ns += monotonic_ns() - entered_ns

    def _look_around(self, now_ns):
        self._next_groups_ns = now_ns + GROUPS_INTERVAL_NS
        changed = self.groups_changed()
        self._group_names = getattr(self.groups_changed, "names", ())
        self._group_count = len(self._group_names)
        if changed:
            uncompiled(self._on_check, True)
        elif now_ns > self._next_check_ns:
            self._next_check_ns = now_ns + CHECK_INTERVAL_NS
            uncompiled(self._on_check, False)

    def _still_marks(self, calls):
        marking = self._marking
        if marking is None or marking.optimizer() is None:
            return False
        return calls - self._calls_at_mark <= ABANDONED_CALLS

    def _meet(self, optimizer):
        stepped = _Stepped(self._next_index, optimizer)
        self._next_index += 1
        self._by_id[id(optimizer)] = stepped
        return stepped

    def _choose_marking(self):
        self._next_look = self._calls + CALLS_A_LOOK
        for key, stepped in list(self._by_id.items()):
            if stepped.optimizer() is None:
                del self._by_id[key]
        recurring = [s for s in self._by_id.values() if s.calls > 1]
        if recurring:
            busiest = max(s.calls for s in recurring)
            rarest = min(
                (s for s in recurring if s.calls * RAREST >= busiest),
                key=lambda s: (s.calls, s.index),
            )
            marking = self._marking
            # Equals differ by a call or two at the edges of a look.
            stays = marking in recurring and marking.calls <= 1.5 * rarest.calls + 1
            if not stays:
                self._marking = rarest
        for stepped in self._by_id.values():
            stepped.calls = 0

    def fetch_begins(self):
        """The time, or None where the fetch is not to be counted."""
        if self.off:
            return None
        try:
            entered_ns = monotonic_ns()
            if not self.live:
                uncompiled(self._on_first_fetch)
                if not self.live:
                    return None
            if self._training_thread is None or self._training_thread == get_ident():
                if self._in_fetch:  # a data set that reads from a loader of its own
                    return None
                self._in_fetch = True
                began_ns = monotonic_ns()
                self._cost_ns += began_ns - entered_ns
                return began_ns
            self._fetches += 1  # a thread that reads ahead: nobody waits for it here
        except Exception as error:
            self._faults.caught(error)
        return None

    def fetch_ends(self, began_ns, fetched):
        ended_ns = monotonic_ns()
        self._in_fetch = False
        self._wait_ns += ended_ns - began_ns
        self._fetches += fetched
        self._cost_ns += monotonic_ns() - ended_ns
