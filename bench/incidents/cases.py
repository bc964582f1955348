"""The suite: cases/*.toml and the recorded incidents, as lists of what is to be run."""

import random
import tomllib
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

CASES = Path(__file__).resolve().parent / "cases"
RUN_KEYS = {"seed", "strength", "ranks", "layout", "steps", "faults"}
CASE_KEYS = {
    "name", "about", "faults", "runs", "accept", "drop_signals", "drop_ranks", "baseline", "healthy", "ranks", "scope",
    "hosts_any", "function_regex", "component", "may_be_silent",
}  # fmt: skip
EXPECT_KEYS = ("accept", "ranks", "scope", "hosts_any", "function_regex", "component", "may_be_silent")


@dataclass
class Case:
    id: str  # family/name/seed
    family: str
    arguments: list = field(default_factory=list)  # of `eroica simulate`; empty: recorded
    folder: Path | None = None  # of a recorded incident
    expect: dict = field(default_factory=dict)  # what takes the place of truth.json's
    baseline: bool = False
    baseline_arguments: list = field(default_factory=list)  # of another job, whose window is given as the baseline
    healthy: bool = False


def _checked(table, allowed, where):
    unknown = set(table) - allowed
    if unknown:
        raise ValueError(f"{where}: unknown {', '.join(sorted(unknown))}")
    return table


def _arguments(case, run, drop_signals, drop_ranks):
    arguments = ["--seed", str(run["seed"])]
    for fault in run.get("faults", case.get("faults", [])):
        arguments += ["--fault", fault]
    for key in ("strength", "ranks", "layout", "steps"):
        if key in run:
            arguments += [f"--{key}", str(run[key])]
    for glob in drop_signals:
        arguments += ["--drop-signal", glob]
    for rank in drop_ranks:
        arguments += ["--drop-rank", str(rank)]
    return arguments + (["--with-baseline"] if case.get("baseline") is True else [])


def _other_baseline(case):
    """`baseline` may be a run of its own: the window of another job."""
    run = case.get("baseline")
    return _arguments({}, _checked(run, RUN_KEYS, "baseline"), [], []) if isinstance(run, dict) else []


def read_cases(path):
    """The cases of one file, every run of a case one."""
    document = _checked(tomllib.loads(path.read_text()), {"about", "case"}, path.name)
    found = []
    for case in document["case"]:
        name = case.get("name") or case["faults"][0]
        _checked(case, CASE_KEYS, f"{path.name}: {name}")
        if not case.get("healthy") and not case.get("accept"):
            raise ValueError(f"{path.name}: {name} accepts no cause")
        for run in case["runs"]:
            _checked(run, RUN_KEYS, f"{path.name}: {name}")
            found.append(
                Case(
                    id=f"{path.stem}/{name}/{run['seed']}",
                    family=path.stem,
                    arguments=_arguments(case, run, case.get("drop_signals", []), case.get("drop_ranks", [])),
                    expect={key: case[key] for key in EXPECT_KEYS if key in case},
                    baseline=bool(case.get("baseline", False)),
                    baseline_arguments=_other_baseline(case),
                    healthy=case.get("healthy", False),
                )
            )
    return found


def suite():
    found = [case for path in sorted(CASES.glob("*.toml")) if path.stem != "calibration" for case in read_cases(path)]
    seen = set()
    for case in found:
        if case.id in seen:
            raise ValueError(f"{case.id} occurs twice")
        seen.add(case.id)
    return found


def recorded(shared, own):
    """Incidents of real jobs, and an independent simulator's: those at hand. `own`: the repository's copies."""
    found = {}
    for part in ("incidents", "megatron-cpu", "simulated"):
        for bundle in sorted((shared / "data" / part).glob("*/bundle.json")):
            found[bundle.parent.name] = Case(f"recorded/{part}/{bundle.parent.name}", "recorded", folder=bundle.parent)
    for bundle in sorted(own.glob("*/bundle.json")):
        found.setdefault(
            bundle.parent.name, Case(f"recorded/incidents/{bundle.parent.name}", "recorded", folder=bundle.parent)
        )
    return [case for case in found.values() if (case.folder / "truth.json").exists()]


def calibration(causes, path=CASES / "calibration.toml"):
    """The streams of small jobs by which confidence is judged. `causes`: what the simulator knows."""
    found = []
    for stream in tomllib.loads(path.read_text())["stream"]:
        chosen = [c for c in causes if any(fnmatch(c, glob) for glob in stream["faults"])]
        chosen = [c for c in chosen if not any(fnmatch(c, glob) for glob in stream.get("except", []))]
        generator = random.Random(stream["first_seed"])
        for i in range(stream["count"]):
            run = {"seed": stream["first_seed"] + i, "steps": stream["steps"]}
            run["ranks"] = generator.choice(stream["ranks"])
            run["strength"] = round(generator.uniform(*stream["strength"]), 3)
            cause = chosen[i % len(chosen)]
            dropped = generator.choice(stream["drop_signals"]) if "drop_signals" in stream else []
            found.append(
                Case(
                    id=f"calibration/{stream['name']}/{cause}/{run['seed']}",
                    family=stream["name"],
                    arguments=_arguments({"faults": [cause]}, run, dropped, []),
                    healthy=cause.startswith("benign.") or cause in ("healthy", "clock.drift"),
                )
            )
    return found
