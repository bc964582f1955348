"""Headless Chromium, spoken to over its DevTools pipe: real pages of a real server, which events keep alive."""

import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

DEADLINE_S = 30
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--mute-audio", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
    "--disable-default-apps", "--disable-domain-reliability", "--disable-breakpad", "--no-pings", "--metrics-recording-only",
    "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--remote-debugging-pipe",
]


class Failed(Exception):
    pass


class Chromium:
    def __init__(self):
        program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
        if program is None:
            raise Failed("chromium was not found; tools/setup.sh browser installs it")
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        read_end, self.write_fd = os.pipe()
        self.read_fd, write_end = os.pipe()
        # It reads commands from descriptor 3 and answers on 4.
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$0" "$@" 3<&{read_end} 4>&{write_end}', program, *FLAGS,
             f"--user-data-dir={self.profile.name}", "about:blank"],
            pass_fds=(read_end, write_end), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(read_end)
        os.close(write_end)
        self.buffer = b""
        self.number = 0
        self.events = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.read_fd)
        os.close(self.write_fd)
        self.profile.cleanup()

    def message(self):
        while b"\0" not in self.buffer:
            signal.alarm(DEADLINE_S)  # its default action ends a check that hangs
            piece = os.read(self.read_fd, 1 << 20)
            signal.alarm(0)
            if not piece:
                raise Failed("chromium has ended")
            self.buffer += piece
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, session=None, **parameters):
        self.number += 1
        command = {"id": self.number, "method": method, "params": parameters}
        if session:
            command["sessionId"] = session
        os.write(self.write_fd, json.dumps(command).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise Failed(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def page(self, width, height, dark=False):
        return Page(self, width, height, dark)


class Page:
    """One tab, of its own session storage."""

    def __init__(self, browser, width, height, dark):
        self.browser = browser
        context = browser.call("Target.createBrowserContext")["browserContextId"]
        self.target = browser.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)

    def open(self, url):
        self.call("Page.navigate", url=url)

    def evaluate(self, script):
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise Failed(f"{script}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def until(self, script, what=None):
        """Waits until the script is true, and returns what it gives."""
        deadline = time.monotonic() + DEADLINE_S
        while not (value := self.evaluate(f"(value => value instanceof Node || value)({script})")):
            if time.monotonic() > deadline:
                text = self.evaluate("document.body.innerText.slice(0, 1500)")
                raise Failed(f"never: {what or script}; the page says:\n{text}")
            time.sleep(0.05)
        return value

    def key(self, key, code=0, text=""):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code,
                      **({"text": text} if text and kind == "keyDown" else {}))

    def tab(self):
        self.key("Tab", 9)

    def enter(self):
        self.key("Enter", 13, "\r")

    def type(self, text):
        self.call("Input.insertText", text=text)

    def click(self, script):
        """Clicks into the (first line of the) element that the script names, as a pointer does."""
        self.until(f"({script})?.getClientRects().length")
        box = self.evaluate(f"(() => {{ const e = {script}; e.scrollIntoView({{block: 'center'}}); "
                            "const b = e.getClientRects()[0]; return [b.left + b.width / 2, b.top + b.height / 2]; })()")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def screenshot(self, path):
        """Of the whole page, however long."""
        height = self.evaluate("document.documentElement.scrollHeight")
        width = self.evaluate("innerWidth")
        picture = self.call("Page.captureScreenshot", captureBeyondViewport=True,
                            clip={"x": 0, "y": 0, "width": width, "height": min(height, 6000), "scale": 1})
        path.write_bytes(base64.b64decode(picture["data"]))

    def problems(self):
        """What the console says: errors, warnings, broken policies, uncaught exceptions."""
        found = []
        for event in self.browser.events:
            if event.get("sessionId") != self.session:
                continue
            of = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                found.append(of["exceptionDetails"].get("exception", {}).get("description", of["exceptionDetails"]["text"]))
            elif event["method"] == "Log.entryAdded" and of["entry"]["level"] in ("error", "warning"):
                found.append(f"{of['entry']['text']} {of['entry'].get('url', '')}")
            elif event["method"] == "Runtime.consoleAPICalled":
                found.append(" ".join(str(each.get("value", each.get("description"))) for each in of["args"]))
        return found

    def requests(self):
        return [event["params"]["request"]["url"] for event in self.browser.events
                if event.get("sessionId") == self.session and event["method"] == "Network.requestWillBeSent"]
