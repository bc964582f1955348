"""Tables, plots and docs/benchmark.md out of the results of run.py. Needs matplotlib for the plots alone."""

import re
import statistics
from collections import Counter, defaultdict

import metrics
import setting

PAGE = setting.ROOT / "docs" / "benchmark.md"
IMAGES = setting.ROOT / "docs" / "img"
BINS = 10
FORMS = {
    "first": "first statement of a window",
    "claims": "all claims",
    "all": "all claims and hints",
}
LABELS = {"full": "`full`", "eroica": "`eroica`", "largest-total": "`largest-total`", "longest-collective": "`longest-collective`"}


def table(head, rows):
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def percent(value, digits=0):
    return "–" if value is None else f"{100 * value:.{digits}f} %"


def share(right, count):
    return f"{right} of {count}" if count else "–"


def played(results, part="suite"):
    return [r for r in results[part] if "failed" not in r]


def faulty(rows):
    return [r for r in rows if not r["healthy"]]


def healthy(rows):
    return [r for r in rows if r["healthy"]]


def right(rows, method, what="right"):
    return sum(r["methods"][method][what] for r in rows)


def cause_rows(rows):
    """{cause: its windows}; two at once and nothing wrong have rows of their own."""
    groups = defaultdict(list)
    for r in rows:
        groups["nothing wrong" if r["healthy"] else "two at once" if "+" in r["cause"] else r["cause"]].append(r)
    special = ["two at once", "nothing wrong"]
    return {name: groups[name] for name in sorted(set(groups) - set(special)) + [s for s in special if s in groups]}


# What is counted


def method_summary(results, method):
    rows = played(results)
    bad, good = faulty(rows), healthy(rows)
    n = right(bad, method)
    low, high = metrics.wilson(n, len(bad))
    accusations = sum(len(r["methods"][method]["false_accusations"]) for r in bad)
    alarms = len(good) - right(good, method)
    seconds = [r["methods"][method]["seconds"] for r in rows]
    return {
        "faults": len(bad),
        "right": n,
        "interval": (low, high),
        "first_right": right(bad, method, "first_right"),
        "located": right(bad, method, "located"),
        "accusations": accusations,
        "accused_windows": sum(bool(r["methods"][method]["false_accusations"]) for r in bad),
        "healthy": len(good),
        "alarms": alarms,
        "seconds": statistics.median(seconds) if seconds else None,
    }


def lost_errors(rows, method):
    return [e for r in rows if (e := r["methods"][method].get("lost_error")) is not None]


def clusters(results, method, form):
    """Pairs of confidence and outcome, a list for each window."""
    found = []
    for r in played(results, "calibration"):
        statements = [tuple(s) for s in r["methods"][method]["statements"]]
        if form == "first":
            statements = statements[:1]
        elif form == "claims":
            statements = statements[: len(r["methods"][method]["claims"])]
        found.append(statements)
    return found


def calibrations(results):
    if "calibrations" not in results:
        results["calibrations"] = {
            method: {form: metrics.calibration(clusters(results, method, form), BINS) for form in FORMS}
            for method in results["setting"]["methods"][:1]
        }
    return results["calibrations"]


# Tables


def setting_text(results):
    s = results["setting"]
    rows, streams = played(results), played(results, "calibration")
    failed = sum("failed" in r for part in ("suite", "calibration") for r in results[part])
    recorded = sum(r["family"] == "recorded" for r in rows)
    faint = sum(bool(r.get("faint")) for r in rows)
    lines = [
        f"Machine: {s['machine']}. Command: `{s['command']}`, {s['minutes']} minutes, on {s['date']}; "
        f"binary {s['binary']} (first digits of its SHA-256).",
        f"{len(rows)} windows in the suite: {len(faulty(rows))} with a fault or uneven work, {len(healthy(rows))} healthy or "
        f"benign; {recorded} of them recorded, the others simulated. {len(streams)} simulated windows more for "
        f"confidence. {failed} could not be made or read."
        + (f" {faint} faults of the suite make steps longer by less than 2 %: there silence is right as well." if faint else ""),
    ]
    if not recorded:
        lines.append("The recorded incidents were not at hand.")
    if not s["baseline"]:
        lines.append("This binary compares with no earlier window (`--baseline`): cases that need one fail for that.")
    return "\n\n".join(lines)


def methods_table(results):
    rows = []
    for method in results["setting"]["methods"]:
        m = method_summary(results, method)
        low, high = m["interval"]
        rows.append(
            [
                LABELS[method],
                share(m["right"], m["faults"]),
                f"{percent(m['right'] / m['faults'] if m['faults'] else None)} ({100 * low:.0f}–{100 * high:.0f})",
                percent(m["first_right"] / m["faults"] if m["faults"] else None),
                percent(m["located"] / m["faults"] if m["faults"] else None),
                f"{m['accusations']} in {m['accused_windows']}",
                share(m["alarms"], m["healthy"]),
                f"{m['seconds']:.2f} s" if m["seconds"] is not None else "–",
            ]
        )
    head = ["method", "right", "accuracy (95 %)", "first claim right", "ranks right", "false accusations", "false alarms", "median time"]
    return table(head, rows)


def causes_table(results):
    methods = results["setting"]["methods"]
    own = methods[0]
    rows = []
    for name, group in cause_rows(played(results)).items():
        why = Counter(r["methods"][own]["why"] for r in group if not r["methods"][own]["right"])
        lost = metrics.summary(lost_errors(group, own))
        rows.append(
            [
                f"`{name}`" if "." in name else name,
                *(share(right(group, m), len(group)) for m in methods),
                ", ".join(f"{n} {w}" for w, n in why.most_common()),
                percent(lost["median"]) if lost else "–",
            ]
        )
    return table(["cause", *(LABELS[m] for m in methods), f"what goes wrong ({LABELS[own]})", "error of lost time"], rows)


def families_table(results):
    methods = results["setting"]["methods"]
    own = methods[0]
    groups = defaultdict(list)
    for r in played(results):
        groups[r["family"]].append(r)
    rows = []
    for name, group in groups.items():
        lost = metrics.summary(lost_errors(group, own))
        rows.append(
            [
                name,
                *(share(right(group, m), len(group)) for m in methods),
                lost["count"] if lost else 0,
                percent(lost["median"]) if lost else "–",
                percent(lost["p90"]) if lost else "–",
            ]
        )
    everything = metrics.summary(lost_errors(played(results), own))
    if everything:
        totals = [share(right(played(results), m), len(played(results))) for m in methods]
        rows.append(["all", *totals, everything["count"], percent(everything["median"]), percent(everything["p90"])])
    return table(["file of cases", *(LABELS[m] for m in methods), "lost time compared", "median error", "90th percentile"], rows)


def span(interval, digits=3):
    return f" ({interval[0]:.{digits}f}–{interval[1]:.{digits}f})" if interval else ""


def calibration_table(results):
    rows = []
    for method, forms in calibrations(results).items():
        for form, c in forms.items():
            if c is None:
                rows.append([LABELS[method], FORMS[form], 0, *["–"] * 5])
                continue
            skill = c["brier_skill"]
            rows.append(
                [
                    LABELS[method],
                    FORMS[form],
                    c["statements"],
                    f"{c['base_rate']:.2f}",
                    f"{c['mean_confidence']:.2f}",
                    f"{c['brier']:.3f}" + span(c["brier_interval"]),
                    "–" if skill is None else f"{skill:.2f}" + span(c["brier_skill_interval"], 2),
                    f"{c['ece']:.3f}" + span(c["ece_interval"]),
                ]
            )
    head = ["method", "of", "statements", "right", "mean confidence", "Brier score", "skill", "calibration error"]
    return table(head, rows)


def streams_table(results):
    own = results["setting"]["methods"][0]
    groups = defaultdict(list)
    for r in played(results, "calibration"):
        groups[r["family"]].append(r["methods"][own])
    rows = []
    for name, group in groups.items():
        first = [m["statements"][0] for m in group if m["statements"]]
        rows.append(
            [
                name,
                len(group),
                len(group) - len(first),
                percent(statistics.mean(r for _, r in first)) if first else "–",
                f"{statistics.mean(c for c, _ in first):.2f}" if first else "–",
            ]
        )
    return table(["stream", "windows", "nothing said", "first statement right", "its mean confidence"], rows)


def failures_table(results):
    own = results["setting"]["methods"][0]
    rows = []
    for r in played(results):
        v = r["methods"][own]
        if not v["right"]:
            said = ", ".join(f"`{c['cause']}`" for c in v["claims"][:3]) + (" …" if len(v["claims"]) > 3 else "")
            rows.append([f"`{r['id']}`", v["why"], said or "nothing"])
    return table(["window", "what goes wrong", "said"], rows) if rows else "None."


SECTIONS = {
    "setting": setting_text,
    "methods": methods_table,
    "causes": lambda r: "![Accuracy by cause and method](img/incidents-accuracy.svg)\n\n" + causes_table(r),
    "families": lambda r: families_table(r) + "\n\n![Error of lost time](img/incidents-lost-time.svg)",
    "calibration": lambda r: calibration_table(r)
    + "\n\n"
    + streams_table(r)
    + "\n\n![Reliability](img/incidents-reliability.svg)",
    "failures": failures_table,
}


def text(results):
    """For the terminal."""
    parts = [setting_text(results), methods_table(results), causes_table(results), families_table(results)]
    if results["calibration"]:
        parts += [calibration_table(results), streams_table(results)]
    return "\n\n".join(parts)


# Plots


def pyplot():
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update(
        {"svg.hashsalt": "eroica", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    )
    from matplotlib import pyplot as plt

    return plt


def save(figure, name):
    IMAGES.mkdir(parents=True, exist_ok=True)
    figure.savefig(IMAGES / f"incidents-{name}.svg", metadata={"Date": None})
    # What matplotlib writes has blanks at the ends of lines.
    path = IMAGES / f"incidents-{name}.svg"
    path.write_text(re.sub(r"[ \t]+$", "", path.read_text(), flags=re.M))


def plot_accuracy(results):
    plt = pyplot()
    methods = results["setting"]["methods"]
    groups = cause_rows(played(results))
    columns = 3
    per_column = -(-len(groups) // columns)
    names = list(groups)
    figure, axes = plt.subplots(1, columns, figsize=(11, 0.19 * per_column + 1.1), constrained_layout=True)
    for k, axis in enumerate(axes):
        part = names[k * per_column : (k + 1) * per_column]
        shares = [[right(groups[n], m) / len(groups[n]) for m in methods] for n in part]
        if not part:
            axis.axis("off")
            continue
        image = axis.imshow(shares, vmin=0, vmax=1, cmap="RdYlGn", aspect="auto")
        axis.set_yticks(range(len(part)), part, fontsize=7)
        axis.set_xticks(range(len(methods)), methods, rotation=25, ha="right", fontsize=7)
        axis.tick_params(length=0)
        for spine in axis.spines.values():
            spine.set_visible(False)
        for y, n in enumerate(part):
            for x, m in enumerate(methods):
                axis.text(x, y, f"{right(groups[n], m)}/{len(groups[n])}", ha="center", va="center", fontsize=6)
    figure.colorbar(image, ax=axes, shrink=0.6, label="share right")
    save(figure, "accuracy")


def plot_reliability(results):
    plt = pyplot()
    methods = list(calibrations(results))
    figure, axes = plt.subplots(
        1, len(methods), figsize=(2.7 * len(methods) + 0.4, 3.1), constrained_layout=True, squeeze=False
    )
    for axis, method in zip(axes[0], methods, strict=True):
        axis.plot([0, 1], [0, 1], ":", color="#888888")
        for form, colour in (("first", "#1f5fa8"), ("all", "#c07020")):
            c = calibrations(results)[method][form]
            if c is None:
                continue
            x, y, low, high = [], [], [], []
            for size, confidence, share_right in c["bins"]:
                a, b = metrics.wilson(share_right * size, size)
                x.append(confidence)
                y.append(share_right)
                low.append(max(0, share_right - a))
                high.append(max(0, b - share_right))
            axis.errorbar(x, y, yerr=[low, high], fmt="o-", ms=3.5, lw=1, color=colour, label=FORMS[form])
        axis.set(xlim=(0, 1), ylim=(0, 1), xlabel="confidence", title=method)
        axis.set_aspect("equal")
    axes[0][0].set_ylabel("share right")
    axes[0][0].legend(frameon=False, fontsize=7, loc="upper left")
    save(figure, "reliability")


def plot_lost_time(results):
    plt = pyplot()
    own = results["setting"]["methods"][0]
    groups = defaultdict(list)
    for r in played(results):
        groups[r["family"]] += lost_errors([r], own)
    groups = {name: values for name, values in groups.items() if values}
    figure, axis = plt.subplots(figsize=(8, 0.24 * len(groups) + 0.9), constrained_layout=True)
    for y, values in enumerate(groups.values()):
        axis.plot([100 * min(v, 2) for v in values], [y] * len(values), "o", ms=3.5, alpha=0.45, color="#1f5fa8", mew=0)
        axis.plot(100 * min(statistics.median(values), 2), y, "|", ms=13, mew=2, color="#b03030")
    axis.set_yticks(range(len(groups)), groups, fontsize=8)
    axis.invert_yaxis()
    axis.set_xscale("symlog", linthresh=10, linscale=1)
    axis.set_xticks([0, 5, 10, 20, 50, 100, 200], ["0", "5", "10", "20", "50", "100", "≥ 200"])
    axis.set(xlabel="relative error of the lost time of right diagnoses, % (bar: median)", xlim=(-0.5, 230))
    save(figure, "lost-time")


def write_page(results):
    page = PAGE.read_text()
    for name, section in SECTIONS.items():
        page, found = re.subn(
            rf"(<!-- {name}: .*?-->\n).*?(<!-- end -->)",
            lambda m, body=section(results): f"{m[1]}\n{body}\n\n{m[2]}",
            page,
            flags=re.S,
        )
        assert found == 1, f"{PAGE} has no place for {name}"
    PAGE.write_text(page)
    plot_accuracy(results)
    plot_reliability(results)
    plot_lost_time(results)
