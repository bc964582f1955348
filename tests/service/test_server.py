"""`eroica serve` as people and machines meet it: a real server, over real connections."""

import contextlib
import hashlib
import hmac
import http.client
import http.server
import json
import os
import queue
import random
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.parse
from pathlib import Path

import jsonschema
import pytest

ROOT = Path(__file__).resolve().parents[2]
EROICA = os.environ.get("EROICA") or str(ROOT / "build/release/eroica")
OPENAPI = json.loads((ROOT / "docs/openapi.json").read_text())
DEADLINE_S = 60


class Server:
    def __init__(self, store, *options, listen="127.0.0.1:0"):
        self.store = store
        self.process = subprocess.Popen([EROICA, "serve", "--listen", listen, "--store", str(store), *options],
                                        stderr=subprocess.PIPE, text=True)
        self.first = self.process.stderr.readline()
        match = re.search(r"serving http://([\d.]+):(\d+)", self.first)
        assert match, self.first + self.process.stderr.read()
        self.port = int(match[2])
        self.url = f"http://127.0.0.1:{self.port}"

    def ask(self, method, path, body=None, token=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)
        headers = dict(headers or {})
        if token:
            headers["Authorization"] = "Bearer " + token
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
            body = body if isinstance(body, (str, bytes)) else json.dumps(body)
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def get(self, path, token=None):
        status, text = self.ask("GET", path, token=token)
        assert status == 200, (path, status, text)
        return json.loads(text)

    def cli(self, *arguments, token=None):
        environment = {**os.environ, "EROICA_SERVER": self.url, "LC_ALL": "C.UTF-8"}
        if token:
            environment["EROICA_TOKEN"] = token
        return subprocess.run([EROICA, *arguments], env=environment, capture_output=True, text=True, timeout=DEADLINE_S)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=DEADLINE_S)


@pytest.fixture
def serve(tmp_path):
    servers = []

    def start(*options, store=None, **more):
        servers.append(Server(store or tmp_path / "eroica.db", *options, **more))
        return servers[-1]

    yield start
    for server in servers:
        server.kill()
        server.process.stderr.close()


def token(store, name, role, *options):
    result = subprocess.run([EROICA, "token", "add", "--store", str(store), "--role", role, *options, name],
                            capture_output=True, text=True, timeout=DEADLINE_S)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def until(condition, what):
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


DOCUMENT = {"schema": "eroica.diagnosis/1", "job": {"id": "job7", "world_size": 8}, "healthy": False,
            "diagnoses": [{"cause": "data.loader_slow", "title": "\x1b[31m<script>alert(1)</script>", "summary": "rank 3 waits",
                           "scope": "ranks", "ranks": [3], "hosts": ["h1"], "component": "", "confidence": 0.9,
                           "action": "more workers", "lost_gpu_seconds_per_hour": 100}]}


def batch(*whats, first=1, sender="s1", job="job7"):
    return {"sender": sender, "observations": [
        {"number": first + i, "unix_ns": time.time_ns(), "job": job, "host": "h1", **what} for i, what in enumerate(whats)]}


def status(state, job="job7"):
    return {"kind": "status", "status": {"ok": True, "job": job, "state": state, "ranks": 8, "world_size": 8,
                                         "step": 100, "step_ms": 200.0, "best_ms": 100.0}}


SLOW = {"kind": "slow", "step": 50, "level_ms": 200.0, "baseline_ms": 100.0}
DIAGNOSIS = {"kind": "diagnosis", "document": DOCUMENT}


def tell(server, *whats, token=None, **more):
    code, text = server.ask("POST", "/api/v1/observations", batch(*whats, **more), token)
    assert code == 200, text
    return json.loads(text)


# -- the contract


def schema_of(method, pattern, code, kind):
    content = OPENAPI["paths"][pattern][method.lower()]["responses"][str(code)]["content"]
    assert kind in content, (method, pattern, code, kind)
    return {**content[kind]["schema"], "components": OPENAPI["components"]}


def test_answers_are_as_the_openapi_document_says(serve):
    server = serve()
    jsonschema.Draft202012Validator.check_schema({"$defs": OPENAPI["components"]["schemas"]})
    seen = set()

    def check(method, path, body=None, code=200):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=DEADLINE_S)
        connection.request(method, path, None if body is None else json.dumps(body),
                           {} if body is None else {"Content-Type": "application/json"})
        response = connection.getresponse()
        kind = response.getheader("Content-Type").split(";")[0]
        text = response.read().decode() if kind != "text/event-stream" else ""
        connection.close()
        assert response.status == code, (method, path, response.status, text)
        bare = path.split("?")[0]
        patterns = [p for p in OPENAPI["paths"] if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", p), bare)]
        pattern = min(patterns, key=lambda p: p.count("{"))
        schema = schema_of(method, pattern, code, kind)
        if kind == "application/json":
            jsonschema.Draft202012Validator(schema).validate(json.loads(text))
        if body is not None and code < 300:
            asked = OPENAPI["paths"][pattern][method.lower()]["requestBody"]["content"]["application/json"]["schema"]
            jsonschema.Draft202012Validator({**asked, "components": OPENAPI["components"]}).validate(body)
        seen.add((method, pattern))

    check("POST", "/api/v1/observations", batch(status("healthy"), SLOW, {"kind": "window", "id": "w1", "ranks": 8},
                                                DIAGNOSIS, {"kind": "recovered"}, {"kind": "blocked"}))
    check("GET", "/")
    check("GET", "/healthz")
    check("GET", "/metrics")
    check("GET", "/api/v1/jobs")
    check("POST", "/api/v1/jobs/job7/trigger", {"window_s": 1.5}, 202)
    check("GET", "/api/v1/jobs/job7")
    check("GET", "/api/v1/jobs/none", code=404)
    check("GET", "/api/v1/jobs/job7/diagnoses")
    check("GET", "/api/v1/incidents?state=open&limit=5")
    check("GET", "/api/v1/incidents?state=odd", code=400)
    check("POST", "/api/v1/changes", {"what": "a driver", "jobs": ["job*"], "unix_ns": time.time_ns() - 10**9 * 60}, 201)
    check("POST", "/api/v1/changes", {"what": "less load", "incident": 1, "url": "https://tickets/1"}, 201)
    check("POST", "/api/v1/changes", {"what": ""}, 400)
    check("POST", "/api/v1/changes", {"what": "x", "incident": 99}, 404)
    check("GET", "/api/v1/changes")
    check("POST", "/api/v1/incidents/1/feedback", {"verdict": "other_cause", "cause": "gpu.ecc"}, 201)
    check("GET", "/api/v1/incidents/1")
    check("GET", "/api/v1/incidents/1/document")
    check("GET", "/api/v1/incidents/9", code=404)
    check("GET", "/api/v1/diagnoses/1")
    check("GET", "/api/v1/report")
    check("GET", "/api/v1/report?format=csv")
    check("GET", "/api/v1/policy")
    policy = json.loads(server.ask("GET", "/api/v1/policy")[1])["toml"]
    check("PUT", "/api/v1/policy", {"toml": policy})
    check("PUT", "/api/v1/policy", {"toml": "[slow]\nodd = 1\n"}, 422)
    check("POST", "/api/v1/policy/check", {"toml": "= 1"})
    steps = [0.1] * 300 + [0.2] * 300
    check("POST", "/api/v1/policy/replay", {"toml": policy, "steps": {"step_seconds": [steps], "onset_step": 300}})
    check("POST", "/api/v1/policy/replay", {"toml": policy, "steps": {}}, 400)
    check("GET", "/api/v1/audit")
    check("GET", "/api/v1/events")
    every = {(method.upper(), path) for path, methods in OPENAPI["paths"].items() for method in methods}
    assert seen == every


def test_a_replay_tells_what_the_policy_would_have_said(serve):
    server = serve()
    policy = server.get("/api/v1/policy")["toml"]
    draw = random.Random(1)
    steps = [0.1 * (1 + 0.02 * draw.random()) for _ in range(400)] + [0.15] * 400
    code, text = server.ask("POST", "/api/v1/policy/replay",
                            {"toml": policy, "steps": {"step_seconds": [steps], "onset_step": 400}})
    assert code == 200
    assert json.loads(text)["alarms"] >= 1
    assert json.loads(text)["false_alarms"] == 0
    code, text = server.ask("POST", "/api/v1/policy/replay", {"toml": policy, "steps": {"step_seconds": [[1e6] * 2000]}})
    assert code == 400
    assert "too long" in text


# -- what survives


def test_what_was_acknowledged_survives_kill(serve):
    server = serve()
    assert tell(server, status("healthy"), SLOW, DIAGNOSIS)["acknowledged"] == 3
    server.kill()
    server = serve()
    incident = server.get("/api/v1/incidents/1")
    assert incident["state"] == "open"
    assert incident["claims"][0]["cause"] == "data.loader_slow"
    # The sender that heard no answer sends it all again.
    assert tell(server, status("slow"), SLOW, DIAGNOSIS, {"kind": "recovered"})["acknowledged"] == 4
    assert server.get("/api/v1/incidents/1")["documents_count"] == 1
    assert len(server.get("/api/v1/incidents")["incidents"]) == 1
    assert server.stop() == 0


def test_an_orderly_end_answers_what_was_asked(serve):
    server = serve()
    tell(server, status("healthy"))
    stream = socket.create_connection(("127.0.0.1", server.port))
    stream.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert b"200" in stream.recv(100)
    assert server.stop() == 0
    while stream.recv(4096):
        pass
    stream.close()


def test_one_store_has_one_server(serve, tmp_path):
    serve()
    second = subprocess.run([EROICA, "serve", "--listen", "127.0.0.1:0", "--store", str(tmp_path / "eroica.db")],
                            capture_output=True, text=True, timeout=DEADLINE_S)
    assert second.returncode == 2
    assert "another 'eroica serve' uses it" in second.stderr


def test_a_store_that_is_none_is_told(tmp_path):
    (tmp_path / "diary").write_text("dear diary, today I was no database\n" * 100)
    result = subprocess.run([EROICA, "serve", "--listen", "127.0.0.1:0", "--store", str(tmp_path / "diary")],
                            capture_output=True, text=True, timeout=DEADLINE_S)
    assert result.returncode == 2
    assert "no database of eroica" in result.stderr


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("no small disk can be made")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_degrades_and_recovers(serve, small_disk):
    server = serve(store=small_disk / "eroica.db")
    assert tell(server, status("healthy"), SLOW)["acknowledged"] == 2
    ballast = small_disk / "ballast"
    with open(ballast, "wb") as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(65536))
            file.flush()
    noise = "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=300_000))
    large = {"kind": "diagnosis", "document": {**DOCUMENT, "noise": noise}}
    code, text = server.ask("POST", "/api/v1/observations", batch(large, first=3))
    assert code == 503 and "full" in text, text
    assert server.get("/healthz") == {"state": "degraded"}
    assert server.get("/api/v1/incidents/1")["documents_count"] == 0  # it is still read
    ballast.unlink()
    assert tell(server, large, first=3)["acknowledged"] == 3
    assert server.get("/healthz") == {"state": "ok"}
    assert server.get("/api/v1/incidents/1")["documents_count"] == 1
    assert server.stop() == 0


# -- who may


def test_without_tokens_it_serves_this_machine_alone(serve, tmp_path):
    refused = subprocess.run([EROICA, "serve", "--listen", "0.0.0.0:0", "--store", str(tmp_path / "eroica.db")],
                             capture_output=True, text=True, timeout=DEADLINE_S)
    assert refused.returncode == 64
    assert "token" in refused.stderr
    server = serve()
    assert "no tokens" in server.process.stderr.readline()
    assert server.ask("GET", "/api/v1/jobs", headers={"Host": "evil.example"})[0] == 401


def test_tokens_are_given_and_taken_back_while_it_serves(serve, tmp_path):
    store = tmp_path / "eroica.db"
    admin = token(store, "root", "admin")
    server = serve(listen="0.0.0.0:0")
    agent = token(store, "hosts", "agent", "--tenant", "vision")
    other = token(store, "other", "viewer", "--tenant", "speech")
    until(lambda: server.ask("GET", "/api/v1/policy", token=other)[0] == 200, "the new token")
    tell(server, status("healthy"), SLOW, token=agent)
    assert server.ask("GET", "/api/v1/jobs")[0] == 401
    assert server.ask("GET", "/api/v1/jobs", token="eroica-made-up")[0] == 401
    assert server.ask("GET", "/api/v1/jobs", token=agent)[0] == 403
    assert server.get("/api/v1/jobs", admin)["jobs"][0]["tenant"] == "vision"
    assert server.get("/api/v1/jobs", other)["jobs"] == []
    assert server.ask("GET", "/api/v1/incidents/1", token=other)[0] == 404
    assert server.cli("jobs", token=admin).stdout.startswith("job7")
    assert admin.encode() not in b"".join(p.read_bytes() for p in tmp_path.glob("eroica.db*"))
    listed = subprocess.run([EROICA, "token", "list", "--store", str(store)], capture_output=True, text=True)
    assert "hosts" in listed.stdout and agent not in listed.stdout
    assert subprocess.run([EROICA, "token", "remove", "--store", str(store), "other"]).returncode == 0
    until(lambda: server.ask("GET", "/api/v1/jobs", token=other)[0] == 401, "the token's end")


# -- bad input


def raw(server, data):
    with socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_S) as connection:
        with contextlib.suppress(OSError):
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
        answer = b""
        with contextlib.suppress(OSError):
            while chunk := connection.recv(65536):
                answer += chunk
        return answer


def test_what_is_too_large_or_no_http_is_refused(serve):
    server = serve()
    assert server.ask("GET", "/" + "x" * 20_000)[0] == 431
    assert server.ask("POST", "/api/v1/changes", "x" * 100_000)[0] == 413
    head = b"POST /api/v1/observations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    assert b" 413 " in raw(server, head + b"Content-Length: 99999999999\r\n\r\n")
    assert b" 413 " in raw(server, head + b"Transfer-Encoding: chunked\r\n\r\n2000000\r\n" + b"x" * 100)
    assert b" 400 " in raw(server, b"\x16\x03\x01 this is TLS\r\n\r\n")
    assert b" 400 " in raw(server, head + b"Content-Length: 3\r\n\r\n[[[")
    assert b" 400 " in raw(server, head + b"Content-Length: 90000\r\n\r\n" + b"[" * 90_000)
    assert server.get("/healthz") == {"state": "ok"}


def test_a_slow_sender_is_let_go(serve):
    server = serve()
    with socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_S) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHo")
        assert connection.recv(100) == b""


def test_no_path_leads_out(serve):
    server = serve()
    for path in ("/../../etc/passwd", "/api/v1/jobs/..%2f..%2fetc", "/api/v1/jobs/%00", "//", "/%2e%2e/", "/api/v1/incidents/-1",
                 "/api/v1/incidents/1e9", "/api/v1/diagnoses/99999999999999999999999", "/api/v1/jobs/%3Cscript%3E"):
        code, text = server.ask("GET", path)
        assert code in (400, 404), (path, code)
        assert "root:" not in text


def test_whatever_is_asked_it_stays(serve):
    server = serve()
    tell(server, status("healthy"), SLOW, DIAGNOSIS)
    draw = random.Random(7)
    values = [None, True, -1, 0, 1, 2**63, 1e308, "", "x" * 300, "job7", "<b>", [], [1], {}, {"a": {"b": []}}, "\ud800"]
    keys = ["what", "who", "jobs", "url", "incident", "verdict", "toml", "steps", "window_s", "sender", "observations",
            "number", "kind", "job", "host", "status", "document", "unix_ns"]
    for _ in range(400):
        path, methods = draw.choice(list(OPENAPI["paths"].items()))
        if path == "/api/v1/events":
            continue
        path = re.sub(r"\{\w+\}", lambda _: urllib.parse.quote(draw.choice(["1", "job7", "0", "x", "%", "é"])), path)
        query = "?" + "&".join(f"{k}={urllib.parse.quote(str(draw.choice(values[:8])))}"
                               for k in draw.sample(["limit", "before", "from_unix_ns", "to_unix_ns", "state", "tenant"], 2))
        method = draw.choice(list(methods)).upper()
        body = None if method == "GET" else {k: draw.choice(values) for k in draw.sample(keys, 4)}
        if draw.random() < 0.3 and body is not None:
            text = json.dumps(body)
            cut = draw.randrange(len(text))
            body = text[:cut] + draw.choice('{}[]",\\0') + text[cut + 1:]
        code, answer = server.ask(method, path + query, body)
        assert code in (200, 201, 202, 400, 404, 413, 422), (method, path, query, body, code, answer)
        json.loads(answer) if answer.startswith("{") else None
    assert server.get("/healthz") == {"state": "ok"}
    assert server.stop() == 0


# -- events and commands


def test_events_come_as_they_happen(serve):
    server = serve()
    with socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_S) as stream:
        stream.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        told = b""
        while b": eroica" not in told:
            told += stream.recv(4096)
        tell(server, status("healthy"), SLOW)
        while b'"event":"opened"' not in told:
            chunk = stream.recv(4096)
            assert chunk, told
            told += chunk
    assert b"event: incident\ndata: {" in told


def test_the_commands_tell_what_the_server_knows(serve):
    server = serve()
    assert server.cli("jobs").stdout == "no jobs\n"
    tell(server, status("healthy"), SLOW, DIAGNOSIS)
    assert re.match(r"job7 +slow +8 ranks.*incident 1", server.cli("jobs").stdout)
    listed = server.cli("incidents").stdout
    assert "job7 is slow since step 50" in listed
    assert "\x1b" not in listed
    added = server.cli("changes", "--add", "more workers", "--who", "ada", "--against", "1", "--url", "https://t/1")
    assert (added.returncode, added.stdout) == (0, "noted as change 1\n")
    assert server.cli("feedback", "1", "right", "--text", "it was").returncode == 0
    shown = server.cli("show", "1").stdout
    for part in ("data.loader_slow", "200 ms instead of 100 ms", "next: more workers", "ada: more workers (https://t/1)",
                 "local says: right, it was"):
        assert part in shown, shown
    document = json.loads(server.cli("show", "1", "--format", "json").stdout)
    assert document["documents"][0]["diagnoses"][0]["cause"] == "data.loader_slow"
    assert "more workers" in server.cli("changes").stdout
    assert "incidents 1: 1 diagnosed, 1 unresolved" in server.cli("report").stdout
    assert "measure,category,value" in server.cli("report", "--csv").stdout


def test_commands_say_why_they_cannot(serve):
    server = serve()
    missing = server.cli("show", "9")
    assert missing.returncode == 2 and "there is no incident 9" in missing.stderr
    wrong = server.cli("show", "x")
    assert wrong.returncode == 64
    server.kill()
    dead = server.cli("jobs")
    assert dead.returncode == 2 and "refused" in dead.stderr
    nowhere = subprocess.run([EROICA, "jobs"], env={k: v for k, v in os.environ.items() if k != "EROICA_SERVER"},
                             capture_output=True, text=True)
    assert nowhere.returncode == 64 and "--server" in nowhere.stderr


# -- told to others


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.put((self.path, dict(self.headers), body))
        self.send_response(self.server.answer)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def receiver():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    server.got = queue.Queue()
    server.answer = 200
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_webhooks_are_signed_and_alerts_are_raised(serve, receiver, tmp_path):
    (tmp_path / "secret").write_text("key\n")
    url = f"http://127.0.0.1:{receiver.server_port}"
    server = serve("--webhook", url + "/hook", "--webhook-secret-file", str(tmp_path / "secret"), "--alertmanager", url)
    tell(server, status("healthy"), SLOW)
    got = dict()
    while not {"/hook", "/api/v2/alerts"} <= got.keys():
        path, headers, body = receiver.got.get(timeout=DEADLINE_S)
        got[path] = headers, body
    headers, body = got["/hook"]
    moment, signature = re.fullmatch(r"t=(\d+),v1=(\w+)", headers["Eroica-Signature"]).groups()
    assert signature == hmac.new(b"key", moment.encode() + b"." + body, hashlib.sha256).hexdigest()
    event = json.loads(body)
    assert (event["schema"], event["event"]) == ("eroica.event/1", "opened")
    schema = {"$ref": "#/components/schemas/IncidentSummary", "components": OPENAPI["components"]}
    jsonschema.Draft202012Validator(schema).validate(event["incident"])
    (alert,) = json.loads(got["/api/v2/alerts"][1])
    assert alert["labels"] == {"alertname": "EroicaIncident", "tenant": "", "job": "job7", "incident": "1"}
    assert server.stop() == 0


def test_a_webhook_that_was_down_is_told_by_the_next_server(serve, receiver):
    receiver.answer = 500
    options = ("--webhook", f"http://127.0.0.1:{receiver.server_port}/")
    server = serve(*options)
    tell(server, status("healthy"), SLOW)
    first = receiver.got.get(timeout=DEADLINE_S)
    server.kill()
    receiver.answer = 200
    serve(*options)
    second = receiver.got.get(timeout=DEADLINE_S)
    assert (second[1]["Eroica-Delivery"], second[2]) == (first[1]["Eroica-Delivery"], first[2])


def test_the_dashboard_shows_what_is_measured(serve):
    server = serve()
    tell(server, status("healthy"), {"kind": "window", "id": "w1", "ranks": 8}, SLOW, DIAGNOSIS)
    measured = set(re.findall(r"^# TYPE (\w+) ", server.ask("GET", "/metrics")[1], re.MULTILINE))
    dashboard = json.loads((ROOT / "deploy/grafana/eroica.json").read_text())
    shown = set()
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            shown |= set(re.findall(r"eroica_\w+", target["expr"]))
    assert shown and shown <= measured, shown - measured
