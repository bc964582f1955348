#!/usr/bin/env python3
"""The open benchmark: makes incidents whose truth is known, has them diagnosed, and judges what was said.

bench/incidents/run.sh calls this; --help lists the options. Every bundle is deleted when it has been judged.
"""

import argparse
import datetime
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import cases  # noqa: E402
import judge  # noqa: E402
import setting  # noqa: E402

METHODS = ("full", "eroica", "largest-total", "longest-collective")
QUICK_EVERY = 8
TIMEOUT_S = 300
FAINT = 1.02  # a fault that makes steps longer by less need not be found, and its loss is not compared


class Failed(Exception):
    pass


def run(command):
    try:
        done = subprocess.run(
            list(map(str, command)), capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise Failed(f"{command[1]}: took more than {TIMEOUT_S} s") from error
    return done.returncode, done.stdout, done.stderr.strip()[-400:]


class Bench:
    """The binary under test, as it was at the start: a rebuild in between changes nothing."""

    def __init__(self, work, methods):
        self.work = work
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        self.binary = shutil.copy(setting.BINARY, work / "eroica")
        # Who simulates may differ from who analyses, for comparing versions on the same incidents.
        self.simulator = shutil.copy(os.environ.get("EROICA_SIMULATOR") or setting.BINARY, work / "simulator")
        self.digest = hashlib.sha256(Path(self.binary).read_bytes()).hexdigest()[:12]
        _, options, _ = run([self.binary, "analyze", "--help"])
        self.knows_methods, self.knows_baseline = "--method" in options, "--baseline" in options
        wanted = methods or METHODS
        self.streams = set()  # families of cases by which confidence is judged
        self.methods = [m for m in wanted if m == "full" or self.knows_methods]
        for missing in sorted(set(wanted) - set(self.methods)):
            print(f"skipped: this binary has no --method {missing}", file=sys.stderr)
        if not self.knows_baseline:
            print("skipped: this binary has no --baseline; cases with one are analysed without", file=sys.stderr)

    def causes(self):
        status, out, error = run([self.simulator, "simulate", "--list-faults"])
        if status != 0:
            raise SystemExit(f"{setting.BINARY} cannot simulate: {error}")
        return [line.split()[0] for line in out.splitlines() if line.strip()]

    def _document(self, folder, method, baseline):
        command = [self.binary, "analyze", folder, "--format", "json", "--top", "1", "--jobs", "1", "--quiet"]
        if self.knows_methods:
            command += ["--method", method]
        if baseline and self.knows_baseline and method == "full" and baseline.is_dir():
            command += ["--baseline", baseline]
        started = time.monotonic()
        status, out, error = run(command)
        if status not in (0, 1):
            raise Failed(f"analyze ended with {status}: {error}")
        return json.loads(out), time.monotonic() - started

    def play(self, case, number):
        """One incident, all methods; never raises: what failed is part of the result."""
        result = {"id": case.id, "family": case.family, "arguments": case.arguments, "methods": {}}
        scratch = self.work / f"bundle-{number}"
        try:
            folder = case.folder or scratch
            if case.folder is None:
                status, _, error = run([self.simulator, "simulate", *case.arguments, "--out", scratch])
                if status == 0 and case.baseline_arguments:
                    status, _, error = run(
                        [self.simulator, "simulate", *case.baseline_arguments, "--out", scratch / "baseline"]
                    )
                if status != 0:
                    raise Failed(f"simulate ended with {status}: {error}")
            written = json.loads((folder / "truth.json").read_text())
            bundle = json.loads((folder / "bundle.json").read_text())
            host_of = {r["rank"]: r["host"] for r in bundle["ranks"]}
            truth = judge.truth_of(written, host_of, case.expect)
            if truth.faults and not written.get("blocked") and 0 < written.get("slowdown", 9) < FAINT:
                # Steps that are repeated last as long as ever.
                result["faint"] = written.get("case") != "work.step_repeated"
                truth.may_be_silent = truth.may_be_silent or result["faint"]
            result |= describe(written, truth)
            # The other methods' confidences mean nothing: their streams are not played.
            for method in self.methods[:1] if case.family in self.streams else self.methods:
                document, seconds = self._document(folder, method, folder / "baseline" if case.baseline else None)
                result["methods"][method] = verdict_on(document, truth, host_of, written, seconds)
        except Failed as failure:
            result["failed"] = str(failure)
        except Exception as problem:  # the benchmark's own
            result["failed"] = f"{type(problem).__name__}: {problem}"
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        return result


def describe(written, truth):
    parts = [p for p in written.get("faults") or [written] if not judge.BENIGN.match(p.get("cause") or "")]
    causes = [part.get("cause") or fault.accept[0] for part, fault in zip(parts, truth.faults, strict=False)]
    return {
        "cause": "+".join(causes) or "nothing wrong",
        "healthy": not truth.faults,
        "blocked": bool(written.get("blocked")),
        "strength": written.get("strength"),
        "slowdown": written.get("slowdown"),
        "lost_ms": written.get("lost_ms_per_step"),
        "truth": {"accept": [f.accept for f in truth.faults], "ranks": [f.ranks for f in truth.faults]},
    }


def short(claim):
    function = claim["function"] or {}
    return {
        "cause": claim["cause"],
        "ranks": claim["ranks"],
        "scope": claim["scope"],
        "component": claim["component"],
        "function": function.get("name"),
        "confidence": claim["confidence"],
        "lost_ms": claim["lost_ms_per_step"],
    }


def said_loss(document, truth, host_of):
    """What was said to be lost: by the claim that names the fault, or by all claims together where there are two."""
    claims = document["diagnoses"]
    if len(truth.faults) > 1:
        what_if = document.get("what_if") or {}
        if not what_if.get("slowdown") or not what_if.get("step_ms_without_findings"):
            return None
        return (what_if["slowdown"] - 1) * what_if["step_ms_without_findings"]
    for claim in claims:
        if judge.names(claim, truth.faults[0], host_of):
            return claim["lost_ms_per_step"]
    return None


def verdict_on(document, truth, host_of, written, seconds):
    claims, hints = document["diagnoses"], document["hints"]
    verdict = judge.judge(claims, truth, host_of)
    result = verdict.as_json() | {"claims": [short(c) for c in claims], "seconds": round(seconds, 3)}
    result["hints"] = [short(c) for c in hints]
    ordered = claims + sorted(hints, key=lambda c: -c["confidence"])
    result["statements"] = [(c["confidence"], int(judge.statement_right(c, truth, host_of))) for c in ordered]
    lost = written.get("lost_ms_per_step")
    comparable = lost and not written.get("blocked") and written.get("slowdown", 0) >= FAINT and truth.faults
    if comparable and verdict.right and claims:
        said = said_loss(document, truth, host_of)
        result["lost_error"] = abs(said - lost) / lost if said is not None else None
        result["lost_said"] = said
    return result


def play_all(bench, chosen, jobs, label):
    results, started = [], time.monotonic()
    with ThreadPoolExecutor(jobs) as pool:
        for result in pool.map(bench.play, chosen, range(len(chosen))):
            results.append(result)
            if sys.stderr.isatty() or len(results) % 100 == 0 or len(results) == len(chosen):
                end = "\r" if sys.stderr.isatty() and len(results) < len(chosen) else "\n"
                print(f"{label}: {len(results)} of {len(chosen)}, {time.monotonic() - started:.0f} s", end=end, file=sys.stderr)
    return results


def print_failures(results, method):
    for r in results:
        if "failed" in r:
            print(f"  {r['id']}: {r['failed']}")
        elif not r["methods"][method]["right"]:
            v = r["methods"][method]
            said = ", ".join(f"{c['cause']} {c['ranks']}" for c in v["claims"]) or "nothing"
            print(f"  {r['id']}: {v['why']}; is {r['cause']} {r['truth']['ranks']}, said {said}")


def options(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], prog="bench/incidents/run.sh")
    parser.add_argument("--quick", action="store_true", help=f"every {QUICK_EVERY}th case; writes no page")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="cases at once (2)")
    parser.add_argument("--method", action="append", choices=METHODS, help="only this one; may be repeated")
    parser.add_argument("--only", metavar="REGEX", help="cases whose family/name/seed matches; writes no page")
    parser.add_argument("--first", type=int, metavar="N", help="the first N of what is left; writes no page")
    parser.add_argument("--no-calibration", action="store_true", help="the suite alone; writes no page")
    parser.add_argument("--list", action="store_true", help="say which cases there are")
    parser.add_argument("--rewrite", action="store_true", help="run nothing: the page anew from build/bench/incidents.json")
    parser.add_argument("--dry-run", action="store_true", help="do not write docs/benchmark.md")
    return parser.parse_args(arguments)


def chosen_cases(bench_causes, o):
    own = setting.ROOT / "tests" / "data" / "incidents"
    recorded = cases.recorded(setting.SHARED, own)
    if not (setting.SHARED / "data" / "incidents").is_dir():
        print(f"skipped: no recorded incidents in {setting.SHARED / 'data'} (set EROICA_SHARED)", file=sys.stderr)
    suite = cases.suite() + recorded
    streams = [] if o.no_calibration or o.first else cases.calibration(bench_causes())
    if o.only:
        suite = [c for c in suite if re.search(o.only, c.id)]
        streams = [c for c in streams if re.search(o.only, c.id)]
    if o.quick:
        suite, streams = suite[::QUICK_EVERY], streams[::QUICK_EVERY]
    return suite[: o.first] if o.first else suite, streams


def main(arguments=None):
    o = options(arguments)
    if o.list:
        for case in cases.suite() + cases.recorded(setting.SHARED, setting.ROOT / "tests" / "data" / "incidents"):
            print(case.id, *case.arguments)
        return 0
    if o.rewrite:
        import report

        report.write_page(json.loads((setting.WORK / "incidents.json").read_text()))
        return 0
    started = time.monotonic()
    bench = Bench(setting.WORK / f"incidents-{os.getpid()}", o.method)
    try:
        suite, streams = chosen_cases(bench.causes, o)
        bench.streams = {case.family for case in streams}
        results = {"suite": play_all(bench, suite, o.jobs, "suite")}
        results["calibration"] = play_all(bench, streams, o.jobs, "calibration") if streams else []
    finally:
        shutil.rmtree(bench.work, ignore_errors=True)
    whole = not (o.quick or o.only or o.first or o.no_calibration or o.method)
    results["setting"] = {
        "machine": setting.machine(),
        "command": " ".join(["bench/incidents/run.sh", *(sys.argv[1:] if arguments is None else arguments)]),
        "date": datetime.date.today().isoformat(),
        "binary": bench.digest,
        "methods": bench.methods,
        "baseline": bench.knows_baseline,
        "jobs": o.jobs,
        "minutes": round((time.monotonic() - started) / 60, 1),
    }
    setting.save("incidents" if whole else "incidents-part", results)
    import report

    print(report.text(results))
    print(f"\nNot right ({bench.methods[0]}):")
    print_failures(results["suite"], bench.methods[0])
    if whole and not o.dry_run:
        report.write_page(results)
    failed = [r for part in ("suite", "calibration") for r in results[part] if "failed" in r]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
