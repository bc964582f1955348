"""The benchmark's judge: what counts as right, and what as a false accusation."""

import pytest

from judge import Fault, Truth, judge, statement_right, truth_of

HOST_OF = {0: "a", 1: "a", 2: "b", 3: "b"}


def claim(cause, ranks, hosts=(), scope="ranks", function=None, component=None, file=None, path=()):
    named = {"name": function, "kind": "python", "file": file, "line": None, "path": list(path)} if function else None
    return {
        "cause": cause,
        "ranks": list(ranks),
        "hosts": list(hosts),
        "scope": scope,
        "function": named,
        "component": component,
        "confidence": 0.8,
        "lost_ms_per_step": 3.0,
    }


def verdict(claims, *faults, **truth):
    for fault in faults:
        if fault.affects is None and fault.ranks is not None:
            fault.affects = fault.ranks
    return judge(claims, Truth(list(faults), **truth), HOST_OF)


def test_cause_and_ranks_together_are_right():
    v = verdict([claim("gpu.clock_locked", [2])], Fault(["gpu.clock_locked"], [2]))
    assert (v.right, v.first_right, v.located, v.why, v.false_accusations) == (True, True, True, "", [])


@pytest.mark.parametrize("ranks", [[1], [1, 2], []])
def test_ranks_must_be_exactly_these(ranks):
    v = verdict([claim("gpu.clock_locked", ranks)], Fault(["gpu.clock_locked"], [2]))
    assert (v.right, v.why) == (False, "wrong ranks")


def test_another_cause_on_the_right_rank_is_located_and_wrong():
    v = verdict([claim("gpu.power_cap", [2])], Fault(["gpu.clock_locked"], [2]))
    assert (v.right, v.located, v.why, v.false_accusations) == (False, True, "wrong cause", [])


def test_silence_is_wrong_unless_nothing_can_be_known():
    assert verdict([], Fault(["gpu.clock_locked"], [2])).why == "no claim"
    assert verdict([], Fault(["gpu.clock_locked"], [2]), may_be_silent=True).right
    assert not verdict([claim("gpu.power_cap", [2])], Fault(["gpu.clock_locked"], [2]), may_be_silent=True).right


def test_the_most_costly_claim_of_the_cause_speaks():
    fault = Fault(["gpu.clock_locked"], [2])
    assert verdict([claim("gpu.clock_locked", [0]), claim("gpu.clock_locked", [2])], fault).why == "wrong ranks"
    right = verdict([claim("gpu.clock_locked", [2]), claim("gpu.clock_locked", [0])], fault)
    assert right.right


def test_a_costlier_claim_of_another_cause_is_counted_apart():
    v = verdict([claim("cpu.contention", [0]), claim("gpu.clock_locked", [2])], Fault(["gpu.clock_locked"], [2]))
    assert (v.right, v.first_right, v.false_accusations) == (True, False, ["cpu.contention"])


def test_a_claim_about_the_whole_job_blames_everybody():
    fault = Fault(["gpu.clock_locked"], [2])
    v = verdict([claim("gpu.clock_locked", [2]), claim("code.device_sync", [], scope="all")], fault)
    assert v.false_accusations == ["code.device_sync"]


def test_where_everybody_is_slow_only_somebody_in_particular_is_blamed_falsely():
    fault = Fault(["code.device_sync"])
    claims = [claim("code.device_sync", [], scope="all"), claim("code.launch_bound", [], scope="all"), claim("gpu.shared", [1])]
    assert verdict(claims, fault).false_accusations == ["gpu.shared"]


@pytest.mark.parametrize("where", [{"function": "augment"}, {"function": "x", "file": "augment.py"}, {"function": "x", "path": ["augment"]}])
def test_function_is_looked_for_in_name_file_and_path(where):
    fault = Fault(["code.slow_function"], [1], function_regex="augment")
    assert verdict([claim("code.slow_function", [1], **where)], fault).right


@pytest.mark.parametrize("where", [{}, {"function": "collate", "file": "loader.py"}])
def test_another_function_is_wrong(where):
    fault = Fault(["code.slow_function"], [1], function_regex="augment")
    assert verdict([claim("code.slow_function", [1], **where)], fault).why == "wrong function"


def test_component_is_judged_where_it_is_named():
    fault = Fault(["cpu.cgroup_throttle"], [1], component="cgroup")
    assert verdict([claim("cpu.cgroup_throttle", [1], component="rank 1/cgroup app")], fault).right
    assert verdict([claim("cpu.cgroup_throttle", [1], component="rank 1")], fault).why == "wrong function"


def test_any_of_some_hosts():
    fault = Fault(["nic.slow_link"], hosts=["b"], affects=[2, 3])
    assert verdict([claim("nic.slow_link", [2, 3], hosts=["b"])], fault).right
    assert verdict([claim("nic.slow_link", [2, 3])], fault).right  # the host follows from the ranks
    assert verdict([claim("nic.slow_link", [0, 1, 2, 3], hosts=["a", "b"])], fault).why == "wrong ranks"


def test_two_faults_need_a_claim_each():
    a, b = Fault(["gpu.clock_locked"], [0]), Fault(["gpu.clock_locked", "gpu.thermal_throttle"], [3])
    both = [claim("gpu.clock_locked", [0]), claim("gpu.clock_locked", [3])]
    assert verdict(both, a, b).right
    assert verdict(both[:1], a, b).why == "wrong ranks"
    assert verdict([claim("gpu.power_cap", [0])], a, b).why == "wrong cause"


def test_one_claim_may_name_all_that_share_a_cause():
    parts = [{"cause": "gpu.clock_locked", "accept": ["gpu.clock_locked"], "ranks": [r], "scope": "ranks"} for r in (0, 3)]
    truth = truth_of({"faults": parts}, HOST_OF)
    assert judge([claim("gpu.clock_locked", [0, 3])], truth, HOST_OF).right
    assert judge([claim("gpu.clock_locked", [r]) for r in (0, 3)], truth, HOST_OF).right
    assert not judge([claim("gpu.clock_locked", [0])], truth, HOST_OF).right


def test_everybody_may_be_the_ranks_of_the_only_host():
    fault = Fault(["nvlink.fabric_fault"], [0, 1, 2, 3])
    assert verdict([claim("nvlink.fabric_fault", [], scope="all")], fault).right
    assert verdict([claim("gpu.sync_boost_drag", [], scope="all")], Fault(["gpu.sync_boost_drag"], hosts=["a", "b"])).right
    assert not verdict([claim("gpu.sync_boost_drag", [], scope="all")], Fault(["gpu.sync_boost_drag"], hosts=["a"])).right


def test_healthy_windows_allow_only_what_the_case_lists():
    assert verdict([]).right
    assert verdict([claim("work.pipeline_imbalance", [2])], benign_accept=["work.pipeline_imbalance"]).right
    v = verdict([claim("gpu.shared", [1])], benign_accept=["work.pipeline_imbalance"])
    assert (v.right, v.why, v.false_accusations) == (False, "false accusation", ["gpu.shared"])


def test_statements_are_judged_one_by_one():
    truth = Truth([Fault(["gpu.clock_locked"], [0]), Fault(["data.workers_starved"], [3])])
    assert statement_right(claim("data.workers_starved", [3]), truth, HOST_OF)
    assert not statement_right(claim("data.workers_starved", [0]), truth, HOST_OF)
    assert not statement_right(claim("gpu.clock_locked", [0]), Truth([]), HOST_OF)


def written(**keys):
    return {"cause": "nic.slow_link", "accept": ["nic.slow_link"], "ranks": [2, 3], "hosts": ["b"], "scope": "link"} | keys


def test_truth_of_a_simulated_bundle():
    (fault,) = truth_of(written(), HOST_OF).faults
    assert (fault.ranks, fault.affects, fault.function_regex) == ([2, 3], [2, 3], None)


def test_truth_that_holds_for_all_names_no_ranks():
    (fault,) = truth_of(written(scope="all", ranks=[]), HOST_OF).faults
    assert (fault.ranks, fault.hosts, fault.affects) == (None, None, None)


def test_hosts_stand_in_for_ranks_that_are_not_judged():
    (fault,) = truth_of(written(ranks=None, hosts=None, hosts_any=["a", "b"]), HOST_OF).faults
    assert (fault.ranks, fault.hosts, fault.affects) == (None, ["a", "b"], [0, 1, 2, 3])


def test_a_case_may_widen_what_is_accepted():
    truth = truth_of(written(), HOST_OF, {"accept": ["nic.slow_link", "net.congestion"], "may_be_silent": True})
    assert truth.faults[0].accept == ["nic.slow_link", "net.congestion"] and truth.may_be_silent


def test_benign_parts_are_no_faults():
    parts = [written(), {"cause": "benign.expert_skew", "accept": ["benign.expert_skew"], "ranks": None, "scope": "all"}]
    assert [f.accept for f in truth_of(written(faults=parts), HOST_OF).faults] == [["nic.slow_link"]]


def test_healthy_truth():
    truth = truth_of({"healthy": True, "fault": "", "ranks": []}, HOST_OF)
    assert truth.faults == [] and truth.benign_accept == []
    longer = {"cause": "benign.longer_last_stage", "accept": ["work.pipeline_imbalance"], "healthy": True, "scope": "all"}
    assert truth_of(longer, HOST_OF).benign_accept == ["work.pipeline_imbalance"]
