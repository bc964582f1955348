"""Judges what was said about a window by what is known to be true. Pure: documents in, verdict out."""

import re
from dataclasses import asdict, dataclass, field

# Parts of a two-fault window that slow nothing down.
BENIGN = re.compile(r"^(healthy|clock\.drift|benign\..+)$")


@dataclass
class Fault:
    """One thing that is wrong, and what counts as having found it."""

    accept: list  # causes that count as right
    ranks: list | None = None  # exactly these; None: not judged
    hosts: list | None = None  # judged where ranks are not: some of these, and no other
    function_regex: str | None = None  # must match the function's name, file or path; None: not judged
    component: str | None = None  # must stand in the component's name; None: not judged
    affects: list | None = None  # ranks that may be blamed without it being false; None: any
    together: list | None = None  # where several ranks have the same fault, all of them: one claim may name them at once


@dataclass
class Truth:
    faults: list  # of Fault; empty: nothing is wrong
    may_be_silent: bool = False  # no claim is right as well
    benign_accept: list = field(default_factory=list)  # work.* causes that are true, though nothing is wrong


@dataclass
class Verdict:
    right: bool  # every fault is named with its ranks and its function, or nothing is claimed of a healthy window
    first_right: bool  # so is the most costly claim of all
    located: bool  # every fault's ranks are those of some claim, whatever its cause
    why: str  # "" where right, else "no claim", "wrong cause", "wrong ranks", "wrong function", "false accusation"
    said: list  # causes that were claimed, most costly first
    false_accusations: list  # causes of claims that blame somebody who has no part in it

    def as_json(self):
        return asdict(self)


def _ranks(claim, host_of):
    """Whom the claim is about: everybody where it is about the whole job."""
    return set(claim["ranks"]) or (set(host_of) if claim["scope"] == "all" else set())


def ranks_right(claim, fault, host_of):
    ranks = _ranks(claim, host_of)
    if fault.ranks is not None:
        return ranks in (set(fault.ranks), set(fault.together or fault.ranks))
    if fault.hosts:
        hosts = set(claim["hosts"]) or {host_of[r] for r in ranks if r in host_of}
        return bool(hosts) and hosts <= set(fault.hosts)
    return True


def function_right(claim, fault):
    if fault.function_regex:
        function = claim["function"] or {}
        texts = [function.get("name"), function.get("file"), *function.get("path", [])]
        if not any(re.search(fault.function_regex, text) for text in texts if text):
            return False
    return not fault.component or fault.component in (claim["component"] or "")


def names(claim, fault, host_of):
    """Whether the claim names this fault: cause, ranks, and function or component."""
    return claim["cause"] in fault.accept and ranks_right(claim, fault, host_of) and function_right(claim, fault)


def _accuses_falsely(claim, truth, host_of, all_ranks):
    """Blames a rank that has no part in any fault. A claim about the whole job blames every rank."""
    blamed = set(claim["ranks"]) or all_ranks
    allowed = set()
    for fault in truth.faults:
        if claim["cause"] in fault.accept and (fault.ranks is None or set(fault.ranks) & blamed):
            return False  # about the right thing; whether its ranks are right is judged elsewhere
        if fault.affects is None:
            allowed = None
        elif allowed is not None:
            allowed |= set(fault.affects)
    if allowed is None:  # the whole job is affected: only somebody in particular can be blamed falsely
        return claim["scope"] != "all" and blamed != all_ranks
    return not blamed <= allowed


def judge(claims, truth, host_of):
    """`claims`: the document's diagnoses, most costly first. `host_of`: host of each rank."""
    said = [claim["cause"] for claim in claims]
    all_ranks = set(host_of)
    if not truth.faults:
        false = [c for c in said if c not in truth.benign_accept]
        return Verdict(not false, not false, not false, "false accusation" if false else "", said, false)

    false = [c["cause"] for c in claims if _accuses_falsely(c, truth, host_of, all_ranks)]
    if not claims and truth.may_be_silent:
        return Verdict(True, True, False, "", said, false)
    why = ""
    for fault in truth.faults:
        about = [c for c in claims if c["cause"] in fault.accept]
        # The most costly one speaks; of two faults that may share a cause each has its own.
        matching = next((c for c in about if len(truth.faults) > 1 and names(c, fault, host_of)), about[0] if about else None)
        if matching is None:
            why = why or ("wrong cause" if claims else "no claim")
        elif not ranks_right(matching, fault, host_of):
            why = why or "wrong ranks"
        elif not function_right(matching, fault):
            why = why or "wrong function"
    located = all(any(ranks_right(c, fault, host_of) for c in claims) for fault in truth.faults)
    first = bool(claims) and any(names(claims[0], fault, host_of) for fault in truth.faults)
    return Verdict(not why, not why and first, located, why, said, false)


def statement_right(claim, truth, host_of):
    """Whether one statement, claim or hint, is true."""
    if not truth.faults:
        return claim["cause"] in truth.benign_accept
    return any(names(claim, fault, host_of) for fault in truth.faults)


def truth_of(written, host_of, expect=None):
    """The truth as a bundle's truth.json has it; what a case's `expect` names takes its place."""
    expect = expect or {}
    parts = written.get("faults") or [written]
    faults, benign = [], []
    for part in parts:
        if BENIGN.match(part.get("cause") or "") or (part is written and written.get("healthy")):
            benign += part.get("accept") or []
            continue
        fault = Fault(list(part["accept"]))
        everywhere = part.get("scope") == "all"
        fault.ranks = None if everywhere else part.get("ranks")
        fault.hosts = None if everywhere else part.get("hosts_any") or part.get("hosts")
        fault.function_regex = part.get("function_regex")
        fault.component = part.get("component")
        faults.append(fault)
    accept = expect.get("accept")
    if accept and isinstance(accept[0], list):
        for fault, causes in zip(faults, accept, strict=True):
            fault.accept = causes
    elif len(faults) == 1:
        for key in ("accept", "ranks", "hosts", "function_regex", "component"):
            if key in expect:
                setattr(faults[0], key, expect[key])
        if "hosts_any" in expect:
            faults[0].ranks, faults[0].hosts = None, expect["hosts_any"]
        if expect.get("scope") == "all":
            faults[0].ranks = faults[0].hosts = None
    for fault in faults:
        # A recorded imbalance that moves names no rank: none can be judged.
        if fault.ranks == []:
            fault.ranks = None
        if fault.ranks is not None:
            fault.affects = fault.ranks
        elif fault.hosts:
            fault.affects = [rank for rank, host in host_of.items() if host in fault.hosts]
    for fault in faults:
        alike = [f for f in faults if f.accept == fault.accept and f.ranks is not None]
        if fault.ranks is not None and len(alike) > 1:
            fault.together = sorted({rank for f in alike for rank in f.ranks})
    silent = bool(expect.get("may_be_silent", written.get("accept_healthy", False)))
    return Truth(faults, silent, [] if faults else expect.get("accept", benign))
