#!/usr/bin/env python3
"""Writes docs/performance.md's tables and docs/img's plot from build/bench/*.json, and prints the tables.

    write_report.py [--dry-run]

Only what stands between the markers in docs/performance.md is replaced. Runs in build/venv-bench (matplotlib).
"""

import json
import re
import sys

import setting

PAGE = setting.ROOT / "docs" / "performance.md"
PLOT = setting.ROOT / "docs" / "img" / "growth.svg"

GOALS = {"plain": 0.8, "gz": 0.6, "faster": 100, "memory": 0.1}


def load(name):
    path = setting.WORK / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def table(head, rows):
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def verdict(reached):
    return "yes" if reached else "**no**"


def rate(r):
    return r["bytes"] / 1e9 / r["core_seconds"]


def mib(n):
    return f"{n / (1 << 20):,.0f} MiB"


def speed_tables(s):
    rows = []
    for form, label in (("plain", "plain file"), ("gz", "`.gz`, decompressed text")):
        r = s[form]
        rows.append(
            [
                label,
                f"{r['bytes'] / 1e9:.2f} GB",
                f"{rate(r):.2f} GB/s",
                f"{GOALS[form]} GB/s",
                verdict(rate(r) >= GOALS[form]),
                f"{r['events'] / r['core_seconds'] / 1e6:.2f} M/s",
                mib(r["peak_bytes"]),
                mib(r["memory_bound"]),
                verdict(r["peak_bytes"] <= r["memory_bound"]),
            ]
        )
    head = ["`analyze --jobs 1`", "text", "per core", "wanted", "reached", "events", "peak memory", "bound", "within"]
    sizes = [
        [
            f"{r['bytes'] / 1e9:.2f} GB",
            f"{r['events'] / 1e6:.2f} M",
            f"{r['core_seconds']:.2f} s",
            f"{1e9 * r['core_seconds'] / r['events']:.0f} ns",
            mib(r["peak_bytes"]),
            mib(r["memory_bound"]),
        ]
        for r in s["sizes"]
    ]
    ranks = [
        [
            r["ranks"],
            f"{r['bytes'] / 1e9:.2f} GB",
            f"{r['core_seconds']:.2f} s",
            f"{r['core_seconds'] / r['ranks']:.3f} s",
            mib(r["peak_bytes"]),
        ]
        for r in s["ranks"]
    ]
    every = s["ranks_every_core"]
    return "\n\n".join(
        [
            table(head, rows),
            f"Source: {s['source']}, repeated with shifted times. Spread of the runs: plain "
            f"{s['plain']['fastest']:.2f} to {s['plain']['slowest']:.2f} s, `.gz` {s['gz']['fastest']:.2f} to "
            f"{s['gz']['slowest']:.2f} s.",
            f"Growth with events (time grows with their {s['growth_events']:.2f}th power, memory with their "
            f"{s['growth_memory']:.2f}th):",
            table(["text", "events", "time", "per event", "peak memory", "bound"], sizes),
            f"Growth with ranks (power {s['growth_ranks']:.2f}); on every core eight take {every['wall_seconds']:.2f} s "
            f"and {mib(every['peak_bytes'])}:",
            table(["ranks", "text", "time", "per rank", "peak memory"], ranks),
            "![Time and memory against events and ranks](img/growth.svg)",
        ]
    )


def hta_tables(h):
    rows = []
    for form in ("gz", "plain"):
        r = h[form]
        rows.append(
            [
                f"8 × `{'.json.gz' if form == 'gz' else '.json'}`",
                f"{r['product']['seconds']:.3f} s",
                f"{r['hta']['process_seconds']:.2f} s",
                f"{r['faster']:.0f}×",
                verdict(r["faster"] >= GOALS["faster"]),
                f"{r['faster_without_start']:.0f}×",
                f"{r['less_cpu']:.0f}×",
                mib(r["product"]["peak_bytes"]),
                mib(r["hta"]["peak_bytes"]),
                f"1/{1 / r['memory']:.1f}",
                verdict(r["memory"] <= GOALS["memory"]),
            ]
        )
    head = [
        "eight ranks",
        "`eroica analyze`",
        "HTA 0.5.0",
        "faster",
        "≥ 100×",
        "without HTA's start",
        "less processor time",
        "memory",
        "HTA's memory",
        "ratio",
        "≤ 1/10",
    ]
    agreement = [
        [what, f"{a:.3f} ms", f"{b:.3f} ms", f"{100 * (b / a - 1) if a else 0:+.2f} %"]
        for what, a, b in h["agreement"]["sums"] + h["agreement"]["unions"]
    ]
    return "\n\n".join(
        [
            table(head, rows),
            f"Source: {h['source']}, renumbered as ranks 0 to 7. The same quantities from both, rank 0:",
            table(["rank 0", "HTA", "`eroica`", "difference"], agreement),
        ]
    )


def plot(s):
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update(
        {"svg.hashsalt": "eroica", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    )
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(10, 3), constrained_layout=True)
    events = [r["events"] / 1e6 for r in s["sizes"]]
    ranks = [r["ranks"] for r in s["ranks"]]

    def line(axis, x, y, xlabel, ylabel):
        axis.plot(x, y, "o-", color="#1f5fa8")
        axis.plot([0, x[-1]], [0, y[-1]], ":", color="#888888", label="proportional")
        axis.set(xlabel=xlabel, ylabel=ylabel, xlim=(0, None), ylim=(0, None))

    line(axes[0], events, [r["core_seconds"] for r in s["sizes"]], "timed events (millions)", "seconds on one core")
    line(axes[1], ranks, [r["core_seconds"] for r in s["ranks"]], "ranks", "seconds on one core")
    axes[0].legend(frameon=False)
    axes[2].plot(events, [r["peak_bytes"] / (1 << 20) for r in s["sizes"]], "o-", color="#1f5fa8", label="peak memory")
    axes[2].plot(
        events,
        [r["memory_bound"] / (1 << 20) for r in s["sizes"]],
        "--",
        color="#b03030",
        label="64 B an event + 64 MiB",
    )
    axes[2].set(xlabel="timed events (millions)", ylabel="MiB", xlim=(0, None), ylim=(0, None))
    axes[2].legend(frameon=False)
    PLOT.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(PLOT, metadata={"Date": None})


def main():
    dry = "--dry-run" in sys.argv[1:]
    parts = {}
    speed, hta = load("speed"), load("hta")
    if speed:
        parts["speed"] = f"Machine: {speed['machine']}.\n\n" + speed_tables(speed)
    if hta:
        parts["hta"] = f"Machine: {hta['machine']}.\n\n" + hta_tables(hta)
    page = PAGE.read_text()
    for name, text in parts.items():
        print(text, end="\n\n")
        page, found = re.subn(
            rf"(<!-- {name}: .*?-->\n).*?(<!-- end -->)", lambda m, text=text: f"{m[1]}\n{text}\n\n{m[2]}", page, flags=re.S
        )
        assert found == 1, f"{PAGE} has no place for {name}"
    if not dry:
        PAGE.write_text(page)
        if speed:
            plot(speed)


if __name__ == "__main__":
    main()
