#!/usr/bin/env python3
"""Uses the page of `eroica serve` in headless Chromium as people would, with a real server on a store of its own.

    browser_check.py [--keep FOLDER]

Jobs must change while one looks, an incident must be found, read and judged, a window asked for, by pointer and by keys; on
a laptop and on a phone, in light and dark; with a token, a wrong one, and while the server is away. Nothing may appear on
the console, scroll sideways or be asked of another server. Screenshots go to --keep (build/service-pages).
"""

import argparse
import functools
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from chromium import Chromium, Failed
from test_server import EROICA, ROOT, Server, tell, token

sys.path.insert(0, str(ROOT / "tests/report"))
from sample_documents import samples  # noqa: E402

SCRIPT = "<script>alert(1)</script>"
SCRIPT_JOB = "<script>alert(1)<script>"  # a job's id has no slash
SCRIPT_PLACE = "#/jobs//%3Cscript%3Ealert(1)%3Cscript%3E"
LAPTOP, PHONE = (1280, 800), (375, 720)
MINUTE_NS = 60 * 10**9


def expect(what, holds):
    if not holds:
        raise Failed(what)


def status(job, state="healthy", step=1200, step_ms=100.0, ranks=8, world=8):
    return {"kind": "status", "status": {"ok": True, "job": job, "state": state, "ranks": ranks, "world_size": world,
                                         "step": step, "step_ms": step_ms, "best_ms": 100.0}}


def ask(server, path, body, token=None):
    code, text = server.ask("POST", path, body, token)
    expect(f"{path}: {code} {text}", code in (201, 202))


def fill(server):
    """Four jobs: one well, one slow and diagnosed, one that stands still, one with an odd name and diagnosis."""
    now = time.time_ns()
    numbers = {"host": 0}

    def say(job, host, *whats):
        observations = []
        for what in whats:
            numbers["host"] += 1
            observations.append({"number": numbers["host"], "unix_ns": time.time_ns(), "job": job, "host": host, **what})
        code, text = server.ask("POST", "/api/v1/observations", {"sender": "hosts", "observations": observations})
        expect(text, code == 200)

    say("vision-9", "gpu-a", status("vision-9", step=90_311, step_ms=103.0, ranks=16, world=64))
    say("llama-7b", "gpu-a", status("llama-7b", world=16))
    ask(server, "/api/v1/changes", {"what": "new image with torch 2.9", "who": "ada", "jobs": ["llama-*"],
                                    "url": "https://tickets.example/81", "unix_ns": now - 12 * MINUTE_NS}, None)
    ask(server, "/api/v1/changes", {"what": "<b>driver</b> 570", "unix_ns": now - 40 * MINUTE_NS}, None)
    say("llama-7b", "gpu-a", status("llama-7b", "slow", 1300, 152.0, world=16),
        {"kind": "slow", "step": 1250, "level_ms": 152.0, "baseline_ms": 100.0, "onset_unix_ns": now - 2 * MINUTE_NS},
        {"kind": "window", "id": "w1", "ranks": 8, "length_s": 2.0, "interference_ms": 120.0},
        {"kind": "diagnosis", "document": samples()["diagnosed"]})
    say("llama-7b", "gpu-b", status("llama-7b", "slow", 1300, 151.0, world=16))
    say("mixtral", "gpu-c", status("mixtral", "blocked", 77), {"kind": "blocked", "step": 77})
    odd = {"schema": "eroica.diagnosis/1", "healthy": False, "diagnoses": [
        {"cause": "<b>", "title": SCRIPT, "summary": "<img src=x onerror=alert(1)>", "hosts": [SCRIPT], "confidence": 0.6}]}
    say(SCRIPT_JOB, "gpu-d", status(SCRIPT_JOB), {"kind": "slow", "step": 5, "level_ms": 300.0, "baseline_ms": 100.0},
        {"kind": "diagnosis", "document": odd})
    return say


def settled(page):
    page.until("!document.getElementById('loading') && document.querySelector('h1')?.textContent", "a first answer")
    page.until("[...document.querySelectorAll('.plot')].every((plot) => plot.querySelector('svg'))", "all charts")


def go(page, server, place):
    page.open(f"{server.url}/{place}")
    page.until(f"location.href === {server.url + '/' + place!r}")
    settled(page)


def check_shape(page, where):
    """Fits its width, names what can be used, runs nothing that came as data."""
    width, inner = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    expect(f"{where} scrolls sideways: {width} > {inner}", width <= inner)
    expect(f"{where}: an element was injected", page.evaluate("!document.querySelector('main script, main b, main img')"))
    used = {"button", "link", "textbox", "searchbox", "combobox", "spinbutton", "checkbox"}
    for node in page.call("Accessibility.getFullAXTree")["nodes"]:
        role = node.get("role", {}).get("value")
        if role in used and not node.get("ignored"):
            expect(f"{where}: a {role} without a name: {node}", node.get("name", {}).get("value", "").strip())
    expect(f"{where}: one heading of the first level", page.evaluate("document.querySelectorAll('h1').length") == 1)


def check_clean(page, server):
    expect(f"the console has messages: {page.problems()}", not page.problems())
    strangers = [url for url in page.requests() if not url.startswith((server.url, "data:", "about:"))]
    expect(f"asked others: {strangers}", not strangers)


def check_pictures(browser, server, folder):
    places = {"jobs": "#/jobs", "job": "#/jobs//llama-7b", "incidents": "#/incidents", "incident": "#/incidents/1",
              "undiagnosed": "#/incidents/2", "diagnosis": "#/diagnoses/1", "report": "#/report", "odd": SCRIPT_PLACE, "odd-incident": "#/incidents/3",
              "nowhere": "#/nowhere"}
    for kind, size, dark in (("laptop", LAPTOP, False), ("laptop-dark", LAPTOP, True), ("phone", PHONE, False), ("phone-dark", PHONE, True)):
        page = browser.page(*size, dark)
        for name, place in places.items():
            go(page, server, place)
            check_shape(page, f"{name} on a {kind}")
            page.screenshot(folder / f"{name}-{kind}.png")
        check_clean(page, server)
        page.close()


def check_jobs(browser, server, say):
    page = browser.page(*LAPTOP)
    go(page, server, "")
    page.until(f"[...document.querySelectorAll('#jobs td a')].some((link) => link.textContent === {SCRIPT_JOB!r})")
    expect("the worst job comes first", page.evaluate("document.querySelector('#jobs tbody a').textContent") == "mixtral")
    page.until("document.querySelector('.connection').textContent === 'live'")
    page.evaluate("[...document.querySelectorAll('#jobs td a')].find((link) => link.textContent === 'vision-9').focus()")
    say("vision-9", "gpu-a", status("vision-9", "slow", 90_400, 999.0, 16, 64))
    page.until("document.querySelector('#jobs').innerText.includes('999 ms')", "news of a job, without a reload")
    expect("the focus stays where it was", page.evaluate("document.activeElement.textContent") == "vision-9")
    expect("the focus can be seen", page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none")
    page.evaluate("scrollTo(0, 0)")
    page.enter()
    page.until("location.hash === '#/jobs//vision-9' && document.querySelector('h1')?.textContent.startsWith('vision-9')", "Enter opens a job")
    page.evaluate("document.querySelector('.headline a').focus()")
    say("vision-9", "gpu-a", status("vision-9", "slow", 90_500, 888.0, 16, 64))
    page.until("document.querySelector('.headline').innerText.includes('888 ms')", "news of the job that is shown")
    expect("the focus stays in the head", page.evaluate("document.activeElement === document.querySelector('.headline a')"))
    expect("asked for nothing twice", sum(url.endswith("/events") for url in page.requests()) == 1)
    check_clean(page, server)
    page.close()


def check_trigger(browser, server, say):
    page = browser.page(*LAPTOP)
    go(page, server, SCRIPT_PLACE)
    expect("the job's name is shown as it is", page.evaluate("document.querySelector('h1').textContent").startswith(SCRIPT_JOB))
    page.evaluate("document.querySelector('#windows input[name=window_s]').focus()")
    page.type("1.5")
    page.tab()
    page.type("what is <i>this</i>?")
    page.enter()
    page.until("document.querySelector('#windows').innerText.includes('Asked one host.')")
    page.until("document.querySelector('#windows tbody').innerText.includes('Waits for the host to ask')")
    (order,) = tell(server, {**status(SCRIPT_JOB), "host": "gpu-d"}, job=SCRIPT_JOB, sender="odd")["orders"]
    say(SCRIPT_JOB, "gpu-d", {"kind": "order", "id": order["id"], "refused": "<b>the budget is spent</b>"}, status(SCRIPT_JOB))
    page.until("document.querySelector('#windows tbody').innerText.includes('Refused: <b>the budget is spent</b>')")
    check_clean(page, server)
    page.close()


def check_incident(browser, server):
    page = browser.page(*LAPTOP)
    go(page, server, "#/incidents")
    page.evaluate("(() => { const menu = document.querySelector('select'); menu.value = 'closed'; menu.dispatchEvent(new Event('change')); })()")
    page.until("document.querySelector('#incidents tbody').innerText === 'No incident matches.'")
    expect("the filter is part of the address", page.evaluate("location.hash") == "#/incidents?state=closed")
    page.evaluate("(() => { const menu = document.querySelector('select'); menu.value = 'open'; menu.dispatchEvent(new Event('change')); })()")
    page.until("document.querySelectorAll('#incidents tbody tr').length === 3")
    page.evaluate("document.querySelectorAll('#incidents input')[0].focus()")
    page.type("llama-7b")
    page.until("document.querySelectorAll('#incidents tbody tr').length === 1 && location.hash.includes('job=llama-7b')")
    # Both boxes within one pause of typing count, and none after one has left.
    for box, text in enumerate(("mixtral", "nobody")):
        page.evaluate(f"(() => {{ const box = document.querySelectorAll('#incidents input')[{box}]; box.focus(); box.select(); }})()")
        page.type(text)
    page.until("location.hash.includes('job=mixtral') && location.hash.includes('tenant=nobody')", "both filters")
    page.evaluate("document.querySelectorAll('#incidents input')[1].select()")
    page.type("x")
    page.evaluate("location.hash = '#/report'")
    page.until("document.querySelector('#weeks')")
    time.sleep(0.6)
    expect("a filter left behind changes no other address", page.evaluate("location.hash") == "#/report")
    page.evaluate("location.hash = '#/incidents?job=llama-7b'")
    page.until("document.querySelectorAll('#incidents tbody tr').length === 1")
    page.click("document.querySelector('#incidents tbody a')")
    page.until("location.hash === '#/incidents/1' && document.querySelector('#evidence .card')")
    title = samples()["diagnosed"]["diagnoses"][0]["title"]
    expect("the answer comes first", page.evaluate("document.querySelector('h1').textContent").startswith("llama-7b is slow since step 1250: "))
    text = page.evaluate("document.querySelector('main').innerText")
    for part in (title, "Peers’ median", "Ruled out by", "Do next:", "lost a step", "sure, ", "new image with torch 2.9", "before the onset"):
        expect(f"the incident's page says “{part}”", part in text)
    expect("it says when it began", re.search(r"Began [2-9] min ago", text))
    expect("only addresses of the web are links", page.evaluate("[...document.querySelectorAll('#changes a')].map((link) => link.href).join()") ==
           "https://tickets.example/81")
    page.click("[...document.querySelectorAll('#feedback button')].find((each) => each.textContent === 'Right')")
    page.until("document.querySelector('#feedback tbody')?.innerText.includes('right')", "the verdict in the list")
    page.evaluate("document.querySelector('#feedback button[aria-expanded]').focus()")
    page.enter()
    page.until("document.activeElement.list", "the place for another cause has the focus")
    page.type("gpu.<u>ecc</u>")
    page.enter()
    page.until("document.querySelector('#feedback tbody')?.innerText.includes('another cause: gpu.<u>ecc</u>')")
    page.until("document.activeElement.getAttribute('aria-expanded') === 'false'", "the form is folded, and its button has the focus")
    noted = server.get("/api/v1/incidents/1")["feedback"]
    expect(f"the server has both verdicts: {noted}", [each["verdict"] for each in noted] in (["right", "other_cause"], ["other_cause", "right"]))
    page.click("document.querySelector('#evidence .card a')")
    page.until("document.querySelector('#functions') && document.querySelector('#ranks svg')", "the whole diagnosis as in the report")
    page.click("document.querySelector('main nav a[href=\"#functions\"]')")
    expect("links within a diagnosis leave its address alone", page.evaluate("location.hash").startswith("#/diagnoses/"))
    expect("they take the focus along", page.evaluate("document.activeElement.id") == "functions")
    page.click("document.querySelector('#functions .link')")
    page.until("document.querySelector('dialog').open")
    page.evaluate("history.back()")
    page.until("location.hash === '#/incidents/1' && !document.querySelector('dialog[open]')", "a drawer does not outlast its view")
    check_clean(page, server)
    page.close()
    page = browser.page(*LAPTOP)
    page.call("Network.setBlockedURLs", urls=["*/api/v1/diagnoses/*"])
    go(page, server, "#/incidents/1")
    page.until("document.querySelectorAll('#evidence .card').length === 2", "claims without their documents")
    expect("what the incident keeps of a claim", title in page.evaluate("document.querySelector('#evidence').innerText"))
    expect("and no more", "Peers’ median" not in page.evaluate("document.querySelector('#evidence').innerText"))
    expect("which is no reason to complain", page.evaluate("document.querySelector('.notice').hidden"))
    page.close()


def check_absence(browser, server, store, folder):
    """The server goes away and comes back; the console has the browser's own word of it."""
    page = browser.page(*LAPTOP)
    is_away = "!document.querySelector('.notice').hidden && document.querySelector('.notice').innerText.includes('cannot be reached')"
    is_back = "document.querySelector('.notice').hidden && document.querySelector('.connection').textContent === 'live'"
    go(page, server, "#/incidents/1")
    page.until(is_back)
    server.kill()
    page.until(is_away, "a view that does not ask by itself tells that the server is gone")
    expect("from when the figures are", "What stands below is as of 20" in page.evaluate("document.querySelector('.notice').innerText"))
    again = Server(store, listen=f"127.0.0.1:{server.port}")
    try:
        page.until(is_back, "it comes back by itself")
        go(page, again, "#/jobs")
        again.kill()
        page.until(is_away)
        expect("what was known stays", page.evaluate("document.querySelectorAll('#jobs tbody a').length") >= 4)
        page.screenshot(folder / "away-laptop.png")
        again = Server(store, listen=f"127.0.0.1:{server.port}")
        page.click("document.querySelector('.notice button')")
        page.until(is_back)
        page.open(f"{again.url}/#/incidents/999")
        page.until("document.querySelector('.notice').innerText.includes('There is no incident 999')")
        page.until("document.querySelector('.connection').textContent === 'live'", "that one thing is missing does not mean that the server is")
    finally:
        again.kill()
    page.close()


def check_tokens(browser, store, folder):
    admin, viewer = token(store, "root", "admin"), token(store, "eyes", "viewer")
    agent = token(store, "hosts", "agent", "--tenant", "vision@co")
    owner = token(store, "gpu-c", "agent")
    inside = token(store, "inside", "viewer", "--tenant", "vision@co")
    server = Server(store)
    try:
        page = browser.page(*PHONE)
        page.open(server.url)
        page.until("document.querySelector('.sign-in input') === document.activeElement")
        check_shape(page, "the form for a token")
        page.screenshot(folder / "sign-in-phone.png")
        page.type("eroica-made-up")
        page.enter()
        page.until("document.querySelector('.sign-in')?.innerText.includes('does not know this token')")
        page.type(viewer)
        page.enter()
        page.until("document.querySelector('#jobs tbody') && document.querySelector('.connection').textContent === 'live'")
        page.evaluate("window.before = true")
        page.call("Page.reload")
        page.until("!window.before && document.querySelector('#jobs tbody') && document.querySelector('.connection')?.textContent === 'live'")
        expect("a new load keeps the token", page.evaluate("sessionStorage.length") == 1)
        page.open(f"{server.url}/#/jobs//mixtral")
        page.until("document.querySelector('#windows form button')")
        page.click("document.querySelector('#windows form button')")
        page.until("document.querySelector('#windows').innerText.includes('the token does not allow this')")
        page.click("[...document.querySelectorAll('.bar button')].find((each) => each.textContent === 'Sign out')")
        page.until("document.querySelector('.sign-in input')")
        expect("signing out forgets the token", page.evaluate("sessionStorage.length") == 0)
        tell(server, status("mixtral", "blocked", 77), job="mixtral", sender="gpu-c", token=owner)  # it may be silent by now
        page.type(admin)
        page.enter()
        page.until("document.querySelector('h1')?.textContent.startsWith('mixtral')", "the place that was asked for")
        page.click("document.querySelector('#windows form button')")
        page.until("document.querySelector('#windows').innerText.includes('Asked one host.')")
        # Two tenants may have a job of one name.
        tell(server, status("mixtral", "slow", 9, 250.0), job="mixtral", sender="vision", token=agent)
        page.open(f"{server.url}/#/jobs")
        page.until("[...document.querySelectorAll('#jobs tbody tr')].some((row) => row.innerText.includes('vision@co'))")
        page.click("document.querySelector('#jobs a[href=\"#/jobs/vision%40co/mixtral\"]')")
        page.until("document.querySelector('h1')?.textContent === 'mixtral is slow: a step takes 250 ms instead of 100 ms.'")
        page.evaluate("location.hash = '#/jobs//nobody'")
        page.until("document.querySelector('h1')?.textContent === 'Nothing was heard of nobody for a day.'")
        # Who sees one tenant alone is told of no other's job what belongs to the own one.
        page.evaluate(f"sessionStorage.setItem('eroica-token', {inside!r}), location.hash = '#/jobs/other/mixtral'")
        page.until("document.querySelector('.notice').innerText.includes('There is no job mixtral of tenant other')")
        page.evaluate("location.hash = '#/incidents?tenant=other'")
        page.until("document.querySelector('#incidents tbody')?.innerText === 'No incident matches.'")
        page.evaluate("location.hash = '#/jobs/vision%40co/mixtral'")
        page.until("document.querySelector('h1')?.textContent.startsWith('mixtral is slow')")
        # A token that is taken back ends the stream, and with it what stands here.
        remove = [EROICA, "token", "remove", "--store", str(store)]
        expect("the tokens are gone", all(subprocess.run([*remove, name]).returncode == 0 for name in ("inside", "root")))
        page.until("document.querySelector('.sign-in')?.innerText.includes('does not know this token')")
        page.close()
    finally:
        server.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, default=ROOT / "build/service-pages")
    folder = parser.parse_args().keep.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    with tempfile.TemporaryDirectory() as home, Chromium() as browser:
        store = Path(home) / "eroica.db"
        server = Server(store)
        say = fill(server)
        checks = {
            "pictures": functools.partial(check_pictures, browser, server, folder),
            "jobs": functools.partial(check_jobs, browser, server, say),
            "trigger": functools.partial(check_trigger, browser, server, say),
            "incident": functools.partial(check_incident, browser, server),
            "absence": functools.partial(check_absence, browser, server, store, folder),
            "tokens": functools.partial(check_tokens, browser, store, folder),
        }
        for name, check in checks.items():
            start = time.monotonic()
            try:
                check()
                print(f"ok    {name}: {time.monotonic() - start:.1f} s")
            except (Failed, AssertionError) as failure:
                failed += 1
                print(f"FAIL  {name}: {failure}")
        server.kill()
    print(f"screenshots: {folder}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
