"""The page of `eroica serve`, as it comes over the wire; browser_check.py uses it."""

import base64
import hashlib
import http.client
import re

from test_server import DEADLINE_S, serve, token  # noqa: F401


def fetch(server, method, path, headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=DEADLINE_S)
    try:
        connection.request(method, path, headers=headers or {})
        response = connection.getresponse()
        return response, response.read().decode()
    finally:
        connection.close()


def test_the_page_is_one_file_that_asks_nobody_else(serve):
    response, page = fetch(serve(), "GET", "/")
    assert (response.status, response.getheader("Content-Type")) == (200, "text/html; charset=utf-8")
    assert page.startswith("<!doctype html>") and page.endswith("</html>\n")
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert not re.search(r"<(?:script|img|iframe|link|object|embed)\b[^>]*\b(?:src|href|data)=\"(?!data:)", page.replace(script, ""))
    assert "@import" not in page and not re.search(r"url\((?!#|data:)", page)
    # Names of XML's namespaces, and of the licences' authors: nothing that is ever asked for.
    code = re.sub(r"<!--.*?-->", "", page, flags=re.DOTALL)
    assert {re.sub(r"https?://", "", url) for url in re.findall(r"https?://[\w./-]+", code)} <= {
        "www.w3.org/2000/svg", "www.w3.org/1999/xhtml", "www.w3.org/1999/xlink", "www.w3.org/XML/1998/namespace",
        "www.w3.org/2000/xmlns/"}


def test_its_policy_lets_its_own_script_run_and_nothing_else(serve):
    response, page = fetch(serve(), "GET", "/")
    policy = dict(each.strip().split(" ", 1) for each in response.getheader("Content-Security-Policy").split(";"))
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy["script-src"] == f"'sha256-{digest}'"
    assert policy["default-src"] == policy["form-action"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert policy["connect-src"] == "'self'"
    assert response.getheader("X-Content-Type-Options") == "nosniff"
    assert response.getheader("Referrer-Policy") == "no-referrer"


def test_head_and_other_methods(serve):
    server = serve()
    response, body = fetch(server, "HEAD", "/")
    _, page = fetch(server, "GET", "/?anything=else")
    assert (response.status, body) == (200, "")
    assert int(response.getheader("Content-Length")) == len(page.encode())
    response, _ = fetch(server, "POST", "/")
    assert (response.status, response.getheader("Allow")) == (405, "GET")
    for path in ("//", "/index.html", "/./", "/%2f"):
        assert fetch(server, "GET", path)[0].status == 404, path


def test_everybody_gets_the_page_and_nobody_the_data(serve, tmp_path):
    secret = token(tmp_path / "eroica.db", "root", "admin")
    server = serve()
    response, page = fetch(server, "GET", "/")
    assert response.status == 200 and secret not in page
    for path in ("/api/v1/jobs", "/api/v1/incidents", "/api/v1/report", "/api/v1/events", "/metrics", "/nowhere"):
        response, _ = fetch(server, "GET", path)
        assert (response.status, response.getheader("WWW-Authenticate")) == (401, "Bearer"), path
    assert fetch(server, "GET", "/api/v1/jobs", {"Authorization": f"Bearer {secret}"})[0].status == 200


def test_without_tokens_other_names_get_no_data(serve):
    server = serve()
    assert fetch(server, "GET", "/", {"Host": "evil.example"})[0].status == 200
    assert fetch(server, "GET", "/api/v1/jobs", {"Host": "evil.example"})[0].status == 401
