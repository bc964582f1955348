import os

from torch.distributed import distributed_c10d

_rank = None


def is_initialized():
    return _rank is not None


def get_rank():
    return _rank


def get_world_size():
    return len(distributed_c10d._world.pg_group_ranks[distributed_c10d._world.default])


def init_process_group(rank=None, world_size=None):
    global _rank
    _rank = int(os.environ["RANK"]) if rank is None else rank
    size = int(os.environ["WORLD_SIZE"]) if world_size is None else world_size
    distributed_c10d._world.default = new_group(range(size), "default_pg")


def new_group(ranks, group_desc=""):
    group = distributed_c10d.ProcessGroup(group_desc)
    name = str(distributed_c10d._group_count)
    distributed_c10d._group_count += 1
    world = distributed_c10d._world
    if _rank not in ranks:
        world.pg_group_ranks[-100] = {rank: place for place, rank in enumerate(ranks)}
        world.pg_names[-100] = name
        return -100
    world.pg_map[group] = ("gloo", None)
    world.pg_names[group] = name
    world.pg_group_ranks[group] = {rank: place for place, rank in enumerate(ranks)}
    return group
