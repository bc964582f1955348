"""The process groups of this rank, as torch.distributed keeps them."""

import sys

MAX_RUNS_AN_ENTRY = 2000


def _world():
    c10d = sys.modules.get("torch.distributed.distributed_c10d")
    return getattr(c10d, "_world", None)


class GroupsChanged:
    """Callable once a step: true when groups came or went since the last call."""

    names = ()

    def __init__(self):
        self._count = self._made = 0
        self._c10d = None

    def __call__(self):
        c10d = self._c10d
        if c10d is None:
            self._c10d = c10d = _KnownState.of(sys.modules.get("torch.distributed.distributed_c10d"))
            if c10d is None:
                return False
        self.names = names = c10d._pg_names
        count, made = len(names), c10d._group_count
        if count == self._count and made == self._made:
            return False
        self._count, self._made = count, made
        return True


class _KnownState:
    """For a torch that keeps no such module variables: asks the world, which costs a call each."""

    def __init__(self, world):
        self._world = world

    @staticmethod
    def of(c10d):
        if c10d is None or hasattr(c10d, "_pg_names") and hasattr(c10d, "_group_count"):
            return c10d
        world = getattr(c10d, "_world", None)
        return _KnownState(world) if hasattr(world, "pg_names") else None

    @property
    def _pg_names(self):
        return self._world.pg_names

    @property
    def _group_count(self):
        return getattr(self._world, "group_count", 0)


def describe_groups():
    """[{name, desc, backend, ranks}]; ranks in the group's order, as runs (see runs_of).

    The entries of one group follow each other when it has more runs than an entry may hold.
    """
    world = _world()
    entries = []
    if world is None:
        return entries
    # One call in C: the training thread cannot change the dictionary in between.
    for group, name in list(world.pg_names.items()):
        if isinstance(group, int):  # a marker for groups that this rank is not in
            continue
        members = world.pg_group_ranks.get(group) or {}
        ranks = [rank for rank, _ in sorted(members.items(), key=lambda item: item[1])]
        runs = runs_of(ranks)
        for first in range(0, max(len(runs), 1), MAX_RUNS_AN_ENTRY):
            entries.append(
                {
                    "name": str(name),
                    "desc": str(getattr(group, "group_desc", "") or "")[:200],
                    "backend": _backend(world, group),
                    "ranks": runs[first : first + MAX_RUNS_AN_ENTRY],
                }
            )
    return entries


def _backend(world, group):
    try:
        return str(world.pg_map[group][0])
    except (KeyError, IndexError, TypeError, AttributeError):
        return ""


def uses_backend(name):
    world = _world()
    if world is None:
        return False
    return any(
        name in _backend(world, group)
        for group in list(world.pg_names)
        if not isinstance(group, int)
    )


def runs_of(ranks):
    """Ranks as [start, stop, stride] runs with Python's range() meaning, in order."""
    runs = []
    index = 0
    while index < len(ranks):
        start = ranks[index]
        length, stride = 1, 1
        if index + 1 < len(ranks) and ranks[index + 1] > start:
            stride = ranks[index + 1] - start
            while index + length < len(ranks) and ranks[index + length] == start + length * stride:
                length += 1
        # Two ranks far apart are as long as one run as they are as two.
        if length == 2 and stride > 1 and index + 2 < len(ranks):
            length, stride = 1, 1
        runs.append([start, start + (length - 1) * stride + 1, stride])
        index += length
    return runs
