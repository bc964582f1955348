"""Documents of schema eroica.diagnosis/1 for looking at the report page: small, large, diagnosed, damaged."""

import random
import statistics

CLASSES = ["compute", "memory", "communication", "dataloader", "python", "launch", "sync", "idle"]

FUNCTIONS = [
    ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "collective", "", 0, 30.0),
    ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", "compute", "", 0, 44.0),
    ("flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4>>", "compute", "", 0, 21.0),
    ("vectorized_elementwise_kernel<4, CUDAFunctor_add<bf16>>", "compute", "", 0, 12.0),
    ("multi_tensor_apply_kernel<FusedAdamMathFunctor>", "compute", "", 0, 9.0),
    ("Memcpy HtoD (Pinned -> Device)", "memory", "", 0, 2.1),
    ("_next_data", "fetch", "torch/utils/data/dataloader.py", 631, 3.4),
    ("tokenize_batch", "python", "train/data.py", 88, 1.9),
    ("clip_grad_norm_", "python", "torch/nn/utils/clip_grad.py", 21, 0.9),
    ("cudaStreamSynchronize", "sync", "", 0, 2.4),
    ("aten::linear", "operator", "", 0, 0.7),
]


def quantile(values, q):
    values = sorted(values)
    position = (len(values) - 1) * q
    low = int(position)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (position - low)


def rank_functions(rng, world, slow):
    """Per function its exposed ms a step on each rank; what the slow ranks lose, the others wait for."""
    tables = []
    for name, kind, file, line, base in FUNCTIONS:
        values = []
        for rank in range(world):
            value = base * rng.gauss(1, 0.02)
            if rank in slow and name == "tokenize_batch":
                value = base + 38 * rng.gauss(1, 0.05)
            if rank in slow and kind == "collective":
                value = base * 0.25
            if rank not in slow and slow and kind == "collective":
                value += 24
            values.append(max(0.0, value))
        tables.append((name, kind, file, line, values))
    return tables


def budget(tables, rank):
    classes = dict.fromkeys(CLASSES, 0.0)
    place = {"collective": "communication", "fetch": "dataloader", "operator": "launch"}
    for _, kind, _, _, values in tables:
        classes[place.get(kind, kind)] += values[rank]
    classes["idle"] += 1.7
    return classes


def document(world=4, steps=20, slow=(2,), seed=1, job="llama-7b-pretrain", diagnosed=False, stopped=False):
    rng = random.Random(seed)
    slow = set(slow)
    tables = rank_functions(rng, world, slow)
    budgets = [budget(tables, rank) for rank in range(world)]
    totals = [sum(each.values()) for each in budgets]

    pace = [rng.gauss(1, 0.015) for _ in range(steps)]
    if steps > 12:
        pace[11] = 1.9
    rank_steps = []
    for rank in range(world):
        start, own = 0.0, []
        for number in range(steps):
            duration = totals[rank] * pace[number] * rng.gauss(1, 0.004)
            complete = number > 0
            if not complete:
                duration *= 0.4
            own.append({"number": number + 100, "start_ms": start, "duration_ms": duration, "complete": complete,
                        "irregular": number == 11, "fetch_ms": abs(rng.gauss(3.4, 0.4))})
            start += duration
        rank_steps.append({"rank": rank, "steps": own})
    counted = [(s["duration_ms"], s["number"], r["rank"]) for r in rank_steps for s in r["steps"] if s["complete"]]
    durations = [each[0] for each in counted]
    slowest = max(counted)

    def functions():
        for i, (name, kind, file, line, values) in enumerate(tables):
            runs = {"collective": 24, "compute": 320, "operator": 900}.get(kind, 1)
            top = max(range(world), key=lambda rank: values[rank])
            yield {
                "id": f"{i:016x}", "name": name, "full": name, "kind": kind, "file": file, "line": line,
                "path": ["train/main.py: main", "train/loop.py: train_step"] if kind == "python" else [],
                "issuer": None if kind in ("python", "fetch") else {"name": "forward", "file": "train/model.py", "line": 212},
                "executions_per_step": runs,
                "exposed_ms_per_step": {"median": statistics.median(values), "max": values[top], "max_rank": top},
                "total_ms_per_step": {"median": 1.3 * statistics.median(values), "max": 1.3 * values[top]},
                "self_ms_per_step": {"median": statistics.median(values), "max": values[top]},
                "share": statistics.median(values) / statistics.median(totals),
                "duration_us": {"p50": 1e3 * statistics.median(values) / runs, "p99": 2.2e3 * values[top] / runs,
                                "max": 3e3 * values[top] / runs},
                "ranks": [{"rank": rank, "exposed_ms_per_step": values[rank], "total_ms_per_step": 1.3 * values[rank],
                           "self_ms_per_step": values[rank], "executions": runs * steps,
                           "p50_us": 1e3 * values[rank] / runs, "p99_us": 2.2e3 * values[rank] / runs}
                          for rank in range(world)],
                "hardware": [{"rank": rank, "entity": f"rank {rank}", "metric": "cpu.run", "unit": "cores",
                              "mean": 0.31 if rank in slow else 0.97, "deviation": 0.04}
                             for rank in range(min(world, 64))] if kind == "python" else [],
            }

    over_ranks = {}
    for name in CLASSES:
        values = [each[name] for each in budgets]
        over_ranks[name] = {
            "median_ms_per_step": statistics.median(values), "min_ms_per_step": min(values), "max_ms_per_step": max(values),
            "max_rank": values.index(max(values)), "share": sum(values) / sum(totals)}

    waits = tables[0][4]
    return {
        "schema": "eroica.diagnosis/1",
        "job": {"id": job, "world_size": world},
        "healthy": not diagnosed and not stopped,
        "window": {"start_unix_ns": 1790000000123456789, "duration_ms": statistics.median(totals) * steps, "steps": steps,
                   "step_ms": {"median": statistics.median(durations), "p95": quantile(durations, 0.95)}},
        "coverage": {"ranks_expected": world, "ranks_seen": world, "hosts_seen": (world + 7) // 8,
                     "signals_missing": ["gpu.sm_active", "net.retransmits"]},
        "import": {"events": 183204 * world, "bytes": 61234567 * world, "defects": {"truncated": 1, "bad_event": 17, "nesting": 0}},
        "profile": {
            "steps": {"source": "profiler_step", "note": "the first step is cut by the window's edge", "count": steps,
                      "complete": steps - 1, "median_ms": statistics.median(durations), "p95_ms": quantile(durations, 0.95),
                      "slowest_ms": slowest[0], "slowest_step": slowest[1], "slowest_rank": slowest[2], "ranks": rank_steps},
            "time": {"classes": CLASSES, "over_ranks": over_ranks, "ranks": [
                {"rank": rank, "host": f"node{rank // 8}", "device": "NVIDIA H100 80GB HBM3", "steps": steps,
                 "window_ms": totals[rank] * steps,
                 "step_ms": {"median": totals[rank], "p95": totals[rank] * 1.04, "slowest": totals[rank] * 1.9},
                 "ms_per_step": budgets[rank], "share": {n: budgets[rank][n] / totals[rank] for n in CLASSES},
                 "fetch_ms_per_step": {"median": 3.4, "max": 5.1}} for rank in range(world)]},
            "functions": list(functions()),
            "collectives": [
                {"kind": "all_reduce", "group": "0", "group_desc": "default_pg", "group_size": world, "dtype": "BFloat16",
                 "count_per_step": 24, "bytes_per_step": 13.4e9, "duration_us": {"p50": 1250, "p99": 4100, "max": 9700},
                 "exposed_ms_per_step": statistics.median(waits), "gigabytes_per_s": 182.4,
                 "ranks": [{"rank": rank, "count": 24 * steps, "bytes": 13.4e9 * steps, "total_ms_per_step": waits[rank],
                            "p50_us": 1e3 * waits[rank] / 24} for rank in range(world)]},
                {"kind": "all_gather", "group": "3", "group_desc": "tp:0", "group_size": 8, "dtype": "BFloat16",
                 "count_per_step": 64, "bytes_per_step": 2.1e9, "duration_us": {"p50": 210, "p99": 480, "max": 900},
                 "exposed_ms_per_step": 1.2, "gigabytes_per_s": 240.1, "ranks": []}],
            "notes": ["rank 1: 17 events had no duration and were left out"]},
        "budget": {"coverage": 1, "resolution": "function and component" if diagnosed else None, "interference_ms": None,
                   "yield": 1 if diagnosed else None},
        "what_if": {"slowdown": 1.27, "slowdown_even": 1.34,
                    "step_ms_without_findings": statistics.median(durations) - 37.9,
                    "step_ms": statistics.fmean(durations)} if diagnosed else
                   {"slowdown": None, "slowdown_even": None, "step_ms_without_findings": None, "step_ms": None},
        "peer_groups": peer_groups(world),
        "victims": [rank for rank in range(world) if rank not in slow and not (stopped and rank == world - 1)]
                   if diagnosed or stopped else [],
        "diagnoses": [diagnosis(), link()] if diagnosed else [process_stopped(world - 1)] if stopped else [],
        "hints": [hint()] if diagnosed else [],
        **({"blocked": blocked(world)} if stopped else {}),
    }


def peer_groups(world):
    if world < 2:
        return []
    half = world // 2
    return [{"name": "stage 0", "why": "the same pipeline stage: the same functions with the same shapes", "ranks": list(range(half))},
            {"name": "stage 1", "why": "the same pipeline stage", "ranks": list(range(half, world))}]


def blocked(world):
    return {"group": "dp", "sequence": 48213, "operation": "all_reduce", "waiting": list(range(world - 1)), "missing": [world - 1],
            "stacks": [f"rank {world - 1}: train/data.py:88 tokenize_batch < train/loop.py:40 train_step < train/main.py:12 main"],
            "process_state": [f"rank {world - 1}: stopped by a signal (T)"]}


def process_stopped(rank):
    return {**hint(), "cause": "blocked.process_stopped", "title": "A process is stopped", "ranks": [rank], "confidence": 0.99,
            "component": f"rank {rank}", "lost_ms_per_step": 0, "lost_gpu_seconds_per_hour": 0, "marginal_ms_per_step": 0,
            "summary": f"The process of rank {rank} was stopped by a signal; all others wait for it.",
            "action": "Continue it (kill -CONT), and find out who stopped it."}


def diagnosis():
    return {
        "cause": "cpu.cgroup_throttle", "title": "The container’s CPU quota stops a rank",
        "summary": "Rank 2 waits for its CPU quota while it tokenises; the other ranks wait for it in every all-reduce.",
        "scope": "ranks", "ranks": [2], "hosts": ["node0"], "component": "rank 2/cgroup /kubepods/pod42",
        "function": {"name": "tokenize_batch", "kind": "python", "file": "train/data.py", "line": 88, "path": []},
        "confidence": 0.93, "confidence_why": ["throttled time explains 36 of 38 ms", "3 peers agree within 2 %"],
        "lost_ms_per_step": 37.9, "lost_gpu_seconds_per_hour": 2871.0, "marginal_ms_per_step": 31.2,
        "evidence": [
            {"what": "tokenize_batch, exposed a step", "value": 39.9, "unit": "ms", "peers_median": 1.9, "peers_mad": 0.04, "ranks": [2]},
            {"what": "cpu.throttled", "value": 0.36, "unit": "share", "peers_median": 0, "peers_mad": 0, "ranks": [2]},
            {"what": "all_reduce, shortest wait", "value": 7.5, "unit": "ms", "peers_median": 54, "peers_mad": 0.6, "ranks": [2]}],
        "alternatives": [{"cause": "cpu.contention", "confidence": 0.06, "ruled_out_by": "no other thread ran on its cores"},
                         {"cause": "work.uneven", "confidence": 0.01, "ruled_out_by": "same shapes on all ranks"}],
        "action": "Raise the CPU limit of pod42, or give the dataloader fewer workers.",
    }


def link():
    return {**hint(), "cause": "nic.slow_link", "title": "A link moves bytes slower than the others", "scope": "link", "ranks": [0, 1],
            "hosts": ["node0", "node1"], "component": "host node1/nic eth0", "confidence": 0.64, "lost_ms_per_step": 6.2,
            "lost_gpu_seconds_per_hour": 288.4, "marginal_ms_per_step": 0,
            "summary": "Between node0 and node1 0.8 GB/s flow, elsewhere 11 GB/s.",
            "evidence": [{"what": "sent over the link while collectives run", "value": 8.1e8, "unit": "bytes_per_s",
                          "peers_median": 1.1e10, "peers_mad": 2e8, "ranks": [1]}],
            "action": "Check cable and port of eth0 on node1."}


def hint():
    return {"cause": "gpu.clock_locked", "title": "One GPU runs at a lower clock", "summary": "", "ranks": [3], "hosts": [],
            "component": "host node0/gpu 3", "function": None, "scope": "ranks", "confidence": 0.31, "confidence_why": [],
            "lost_ms_per_step": 0.8, "lost_gpu_seconds_per_hour": 14.2, "marginal_ms_per_step": 0.8,
            "evidence": [{"what": "clock", "value": 1.2e9, "unit": "hz", "peers_median": None, "peers_mad": None, "ranks": [3]}],
            "alternatives": [{"cause": "gpu.power_cap", "confidence": 0.2, "ruled_out_by": None}], "action": "Watch its temperature."}


def ugly():
    """Long names, markup in them, nothing measured, wrong types, missing fields."""
    long = "at::native::vectorized_elementwise_kernel<" + ", ".join(f"std::array<char*, {i}ul>" for i in range(40)) + ">"
    return {
        "schema": "eroica.diagnosis/1", "job": {"id": "</script><img src=x onerror=alert(1)>" + "x" * 180, "world_size": None},
        "window": None, "coverage": {"ranks_expected": 8, "ranks_seen": 1, "signals_missing": "none"},
        "import": {"events": 0, "defects": {"no_json_at_all_in_this_file": 3, "odd": "many"}},
        "profile": {
            "steps": {"source": "window", "note": "nothing repeats: the whole window is one step", "ranks": [
                {"rank": 5, "steps": [{"number": 0, "start_ms": 0, "duration_ms": 812.5, "complete": False}, None, 3]}, "x", {}]},
            "time": {"over_ranks": {"compute": None, "idle": {"median_ms_per_step": 0.00001}},
                     "ranks": [{"rank": 5}, {"rank": "x"}, None, {"rank": 7, "host": long, "ms_per_step": {"compute": -4, "idle": 812}}]},
            "functions": [None, {}, {"name": long, "full": long, "kind": "compute", "path": [long, None, 4],
                                     "issuer": {"name": "<b>bold</b>", "file": "/".join(["deep"] * 60), "line": 1},
                                     "ranks": [{"rank": 5, "exposed_ms_per_step": 0.00002}, {"rank": 7}],
                                     "hardware": [{}]},
                          {"name": "", "file": "a.py"}],
            "collectives": [{}, {"kind": "all_reduce", "group_desc": "y" * 300, "ranks": [{"rank": 1}]}],
            "notes": ["<script>alert(2)</script>", "z" * 400]},
        "diagnoses": [{}, {"title": "t" * 200, "ranks": list(range(0, 4000, 3)), "evidence": [{}, None, {"value": "text"}],
                           "confidence": 7, "function": {"name": long}, "hosts": ["h" * 90] * 9}],
        "hints": None, "blocked": {"group": "<i>" * 90, "waiting": list(range(0, 4000, 3)), "stacks": ["s" * 400, None]},
        "peer_groups": [None, {"name": "g" * 200, "ranks": list(range(0, 4000, 2))}], "what_if": {"slowdown": "x"}, "victims": 3,
    }


def samples():
    return {
        "four": document(),
        "many": document(world=512, steps=40, slow=(77, 300), seed=2, job="moe-512"),
        "diagnosed": document(diagnosed=True),
        "blocked": document(world=8, slow=(), seed=5, job="hangs", stopped=True),
        "many_diagnosed": document(world=1000, steps=12, slow=range(0, 1000, 7), seed=6, job="one in seven", diagnosed=True),
        "ugly": ugly(),
        "empty": {},
        "single": document(world=1, steps=6, slow=(), seed=3, job="one rank"),
        "huge": document(world=4096, steps=60, slow=(1234,), seed=4, job="four thousand ranks"),
    }
