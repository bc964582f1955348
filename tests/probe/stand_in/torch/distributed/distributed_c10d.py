import torch._C._distributed_c10d  # noqa: F401

_pg_map = {}
_pg_names = {}
_pg_group_ranks = {}
_group_count = 0


class ProcessGroup:
    def __init__(self, group_desc):
        self.group_desc = group_desc


class _World:
    pg_map = _pg_map
    pg_names = _pg_names
    pg_group_ranks = _pg_group_ranks


_world = _World()
