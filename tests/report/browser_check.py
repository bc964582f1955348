#!/usr/bin/env python3
"""Opens the HTML report in headless Chromium as a person would: on a laptop, on a phone, in the dark.

    browser_check.py [REPORT.html …] [--page ui/report.html] [--keep FOLDER]

Each page must load without a console error and without any request, must not scroll sideways, and must answer to
clicks and keys. Without arguments it checks sample documents in the page beside $EROICA (or build/release) and,
where that binary can write HTML, a report of a trace made here. Screenshots go to --keep (build/report-pages).
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from sample_documents import samples

ROOT = Path(__file__).resolve().parents[2]
PLACEHOLDER = "__EROICA_DOCUMENT__"
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--mute-audio", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
    "--disable-default-apps", "--disable-domain-reliability", "--disable-breakpad", "--no-pings", "--metrics-recording-only",
    "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr", "--v=0",
    "--virtual-time-budget=8000",
]

# Added to a copy of the page: uses it, then leaves what it found in the page's text.
PROBE = r"""
const out = { failures: [] };
const expect = (what, holds) => { if (!holds) out.failures.push(what); };
const frame = () => new Promise((done) => setTimeout(done, 60));
const fits = (when) => {
  const page = document.documentElement;
  expect(`scrolls sideways ${when}: ${page.scrollWidth} > ${page.clientWidth}`, page.scrollWidth <= page.clientWidth);
};
window.addEventListener("error", (event) => out.failures.push(`error: ${event.message}`));
async function probe() {
  await frame();
  const plots = [...document.querySelectorAll(".plot")];
  for (let i = 0; i < 50 && plots.some((plot) => !plot.querySelector("svg")); ++i) await frame();
  out.title = document.title;
  out.answer = document.querySelector("h1")?.textContent ?? "";
  out.sections = [...document.querySelectorAll("section")].map((section) => section.id);
  out.nodes = document.querySelectorAll("*").length;
  out.ready_ms = Math.round(performance.timing.domContentLoadedEventEnd - performance.timing.navigationStart);
  expect("has a headline", out.answer !== "");
  expect("injected no element", !document.querySelector("img, b, main script"));
  expect("asked for nothing", performance.getEntriesByType("resource").length === 0);
  expect("stays small", out.nodes < 12000);
  fits("at first");
  for (const plot of plots) {
    expect(`drew “${plot.getAttribute("aria-label")}”`, plot.querySelector("svg") !== null);
    plot.focus();
    plot.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
    expect("keys move the cursor and are spoken", plot.nextSibling.textContent !== "");
    const box = plot.querySelector(".cursor").getBoundingClientRect();
    plot.querySelector("svg").dispatchEvent(new PointerEvent("pointermove",
      { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2, bubbles: true }));
    expect("the pointer shows a tip", !document.querySelector(".tip").hidden);
    fits("with a tip");
    plot.blur();
    plot.querySelector("svg").dispatchEvent(new PointerEvent("pointerleave"));
  }
  const heat = document.querySelector("#ranks .plot");
  if (heat) {
    heat.focus();
    heat.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true }));
    heat.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
    await frame();
    expect("Enter opens a function", document.querySelector("dialog")?.open === true);
    document.querySelector("dialog").close();
  }
  for (const button of document.querySelectorAll("section .link")) {
    button.click();
    await frame();
    const dialog = document.querySelector("dialog");
    expect("a name opens its details", dialog.open);
    expect("the details fit", dialog.scrollWidth <= dialog.clientWidth);
    dialog.close();
  }
  for (const head of document.querySelectorAll("#functions thead button")) {
    head.click();
    head.click();
    expect("a heading sorts", head.closest("th").getAttribute("aria-sort") !== null);
  }
  const filter = document.querySelector("#functions input[type=search]");
  if (filter) {
    const rows = () => document.querySelectorAll("#functions tbody tr").length;
    const before = rows();
    filter.value = document.querySelector("#functions tbody .link").textContent.slice(0, 40);
    filter.dispatchEvent(new Event("input"));
    expect("the filter narrows", rows() < before && rows() > 0);
    filter.value = "";
    filter.dispatchEvent(new Event("input"));
  }
  for (const menu of document.querySelectorAll("select")) {
    for (const option of menu.options) {
      menu.value = option.value;
      menu.dispatchEvent(new Event("change"));
    }
  }
  fits("at last");
}
probe().catch((error) => out.failures.push(String(error.stack))).finally(() => {
  const result = document.createElement("pre");
  result.id = "probe";
  result.textContent = JSON.stringify(out);
  document.body.append(result);
});
"""


class Failed(Exception):
    pass


def run_once(command, timeout):
    """The finished process, or None where it hung; its children end with it."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen([*command, f"--user-data-dir={profile}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, start_new_session=True)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return None
        return subprocess.CompletedProcess(command, process.returncode, out, err)


def chromium(arguments, timeout=60):
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        raise Failed("chromium was not found; tools/setup.sh browser installs it")
    command = [browser, *FLAGS, *arguments]
    # Headless Chromium itself hangs once in some hundred starts; a page that hangs does so again.
    done = run_once(command, timeout) or run_once(command, timeout)
    if done is None:
        raise Failed(f"chromium hung: {' '.join(arguments)}")
    if done.returncode != 0:
        raise Failed(f"chromium ended with {done.returncode}: {done.stderr[-2000:]}")
    problems = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
    if problems:
        raise Failed("the console has messages:\n  " + "\n  ".join(problems))
    return done.stdout


def fill(page, document):
    """What the HTML writer does."""
    if page.count(PLACEHOLDER) != 1:
        raise Failed("the page has no single place for the document")
    return page.replace(PLACEHOLDER, json.dumps(document).replace("<", "\\u003c"))


def with_probe(html):
    without_policy = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", html, count=1)
    end = without_policy.rindex("</body>")
    return f"{without_policy[:end]}<script>{PROBE}</script>{without_policy[end:]}"


def framed(address, width, height):
    """A phone's width: the browser's own windows are no narrower than 500 pixels."""
    return (f'<!doctype html><body style="margin:0"><iframe src="{address}" width="{width}" height="{height}" '
            'style="border:0"></iframe>')


def check(name, html, folder):
    page = folder / f"{name}.html"
    page.write_text(html)
    shots = [("laptop", 1280, 800, []), ("dark", 1280, 2600, ["--blink-settings=preferredColorScheme=0"]), ("long", 1280, 3200, [])]
    for kind, width, height, more in shots:
        target = folder / f"{name}-{kind}.png"
        chromium([f"--window-size={width},{height}", f"--screenshot={target}", *more, page.as_uri()])
        if not target.exists() or target.stat().st_size < 5000:
            raise Failed(f"{target} is no picture of a page")
    phone = folder / f"{name}-phone-frame.html"
    phone.write_text(framed(page.as_uri(), 390, 3600))
    chromium(["--window-size=390,3600", f"--screenshot={folder / f'{name}-phone.png'}", phone.as_uri()])
    chromium([f"--print-to-pdf={folder / f'{name}.pdf'}", "--no-pdf-header-footer", page.as_uri()])

    probed = folder / f"{name}-probed.html"
    probed.write_text(with_probe(html))
    for width in (1280, 390):
        address = probed.as_uri()
        shown = chromium([f"--window-size={width},800", "--dump-dom", address]) if width > 500 else probe_in_frame(
            probed, folder, name, width)
        found = re.search(r'<pre id="probe">(.*?)</pre>', shown, re.DOTALL)
        if not found:
            raise Failed("the page did not finish")
        result = json.loads(found.group(1).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
        if result["failures"]:
            raise Failed("\n  ".join([f"at {width} pixels:", *sorted(set(result["failures"]))]))
    print(f"ok    {name}: {len(html) // 1024} KB, {result['nodes']} elements, ready in {result['ready_ms']} ms: {result['answer'][:100]}")


def probe_in_frame(probed, folder, name, width):
    """The frame hands its findings up, since only the outer page is printed."""
    inner = probed.read_text().replace("document.body.append(result);",
                                       "document.body.append(result); parent.postMessage(result.textContent, '*');")
    (folder / f"{name}-inner.html").write_text(inner)
    outer = folder / f"{name}-outer.html"
    outer.write_text(framed((folder / f"{name}-inner.html").as_uri(), width, 800) + """<script>
addEventListener("message", ({ data }) => {
  const result = document.createElement("pre");
  result.id = "probe";
  result.textContent = data;
  document.body.append(result);
});</script>""")
    return chromium(["--dump-dom", outer.as_uri()])


def real_report(eroica, folder):
    """A report by the binary itself, from a trace made here; None where there is no binary."""
    if not eroica.exists():
        return None
    traces = folder / "traces"
    traces.mkdir(exist_ok=True)
    for rank in range(2):
        events = []
        for step in range(8):
            start = 1000.0 + step * 10000
            length = 9000 + 500 * rank
            events += [
                {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1, "ts": start, "dur": 9990},
                {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": start + 10, "dur": length - 3000},
                {"ph": "X", "cat": "user_annotation", "name": "gloo:all_reduce", "pid": 1, "tid": 2, "ts": start + length - 2900, "dur": 2500},
            ]
        content = {"schemaVersion": 1, "distributedInfo": {"backend": "gloo", "rank": rank, "world_size": 2},
                   "baseTimeNanoseconds": 1700000000000000000, "traceEvents": events}
        (traces / f"rank{rank}.json").write_text(json.dumps(content))
    target = folder / "real-report.html"
    done = subprocess.run([eroica, "analyze", traces, "--format", "html", "-o", target], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise Failed(f"eroica analyze ended with {done.returncode}: {done.stderr}")
    return target.read_text()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", nargs="*", type=Path)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--keep", type=Path, default=ROOT / "build/report-pages")
    parser.add_argument("--only", help="a regular expression of sample names")
    arguments = parser.parse_args()
    eroica = Path(os.environ.get("EROICA", ROOT / "build/release/eroica")).resolve()
    page = arguments.page or eroica.parent / "ui/report.html"
    arguments.keep.mkdir(parents=True, exist_ok=True)
    folder = arguments.keep.resolve()

    pages = {path.stem: (lambda path=path: path.read_text()) for path in arguments.reports}
    if not pages:
        template = page.read_text()
        pages = {name: (lambda document=document: fill(template, document)) for name, document in samples().items()}
        pages["real"] = lambda: real_report(eroica, folder)
    failed = 0
    for name, make in pages.items():
        if arguments.only and not re.search(arguments.only, name):
            continue
        try:
            html = make()
            if html is None:
                print(f"skip  {name}: {eroica} is not built")
                continue
            check(name, html, folder)
        except Failed as failure:
            failed += 1
            print(f"FAIL  {name}: {failure}")
    print(f"screenshots: {folder}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
