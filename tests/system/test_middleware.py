"""The middleware of the library, with examples/middleware and curl over HTTP/1.1 and HTTP/2."""

import re
import subprocess

import pytest

from support.environment import BUILD, LAST_RESORT_S, tool
from support.server import without_held_turns

APP = "https://app.example"
USER = ["-u", "alice:secret"]
PREFLIGHT = ["-X", "OPTIONS", "-H", f"Origin: {APP}", "-H", "Access-Control-Request-Method: GET"]
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


class Answer:
    def __init__(self, text):
        head, self.body = text.replace("\r\n", "\n").split("\n\n", 1)
        first, *lines = head.split("\n")
        self.version, self.status = first.split()[0], int(first.split()[1])
        self.fields = [tuple(line.split(": ", 1)) for line in lines]

    def values(self, name):
        return [value for field, value in self.fields if field.lower() == name]


@pytest.fixture(scope="module", params=["--http1.1", "--http2-prior-knowledge"])
def ask(request):
    """A function that asks for a path with curl, which gets further arguments."""
    with subprocess.Popen([BUILD / "examples/middleware", "0"], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        try:
            port = int(re.search(r":(\d+)/", process.stdout.readline())[1])

            def run(path, *arguments):
                done = subprocess.run(
                    [tool("curl"), "-sSi", request.param, *arguments,
                     f"http://127.0.0.1:{port}{path}"],
                    capture_output=True, text=True, check=True, timeout=LAST_RESORT_S)
                answer = Answer(done.stdout)
                assert answer.version == ("HTTP/1.1" if "1.1" in request.param else "HTTP/2")
                return answer

            yield run
        finally:
            process.terminate()
            output, errors = process.communicate(timeout=LAST_RESORT_S)
    assert process.returncode == 0
    assert re.search(r"^/private 401 \d+ us$", output, re.MULTILINE)
    assert re.search(r"^/slow 503 \d+ us$", output, re.MULTILINE)
    assert without_held_turns(errors) == ""  # a deadline is not logged


def test_authentication(ask):
    missing = ask("/private")
    assert missing.status == 401
    assert missing.values("www-authenticate") == ['Basic realm="private", charset="UTF-8"']
    assert missing.body == "<h1>Who are you?</h1>\n"
    assert ask("/private", "-u", "alice:wrong").status == 401
    assert ask("/private", "-H", "Authorization: Basic " + "A" * 20_000).status == 401
    passed = ask("/private", *USER)
    assert (passed.status, passed.body) == (200, "hello, alice\n")
    assert ask("/public").status == 200


def test_cors(ask):
    preflight = ask("/private", *PREFLIGHT)
    assert (preflight.status, preflight.body) == (204, "")
    assert preflight.values("access-control-allow-origin") == [APP]
    assert preflight.values("access-control-allow-credentials") == ["true"]
    assert preflight.values("access-control-allow-headers") == ["Authorization"]
    assert preflight.values("vary") == ["Origin"]
    allowed = ask("/private", *USER, "-H", f"Origin: {APP}")
    assert allowed.values("access-control-allow-origin") == [APP]
    # Pages may read errors, too.
    for path, status in [("/private", 401), ("/missing", 404)]:
        answer = ask(path, "-H", f"Origin: {APP}")
        assert answer.status == status
        assert answer.values("access-control-allow-origin") == [APP]
    other = ask("/private", *USER, "-H", "Origin: https://evil.example")
    assert other.status == 200
    assert other.values("access-control-allow-origin") == []
    assert other.values("vary") == ["Origin"]


def test_rate_limit(ask):
    key = ["-H", "X-Api-Key: one"]
    assert [ask("/limited", *key).status for _ in range(3)] == [200] * 3
    refused = ask("/limited", *key)
    assert refused.status == 429
    assert 0 < int(refused.values("retry-after")[0]) <= 100
    assert ask("/limited", "-H", "X-Api-Key: two").status == 200


def test_timeout(ask):
    assert ask("/slow").status == 503


def test_error_pages(ask):
    assert ask("/missing").values("content-type") == ["text/html; charset=utf-8"]
    problem = ask("/missing", "-H", "Accept: application/json")
    assert problem.values("content-type") == ["application/problem+json"]
    assert '"status":404' in problem.body


def test_fields(ask):
    answer = ask("/public", "-H", f"traceparent: 00-{TRACE}-00f067aa0ba902b7-01")
    assert answer.values("x-request-id") == [TRACE]
    assert answer.values("x-content-type-options") == ["nosniff"]
    assert answer.values("x-frame-options") == ["DENY"]
    assert answer.values("strict-transport-security") == []
    ids = [ask("/missing").values("x-request-id")[0] for _ in range(2)]
    assert len(set(ids)) == 2 and all(re.fullmatch("[0-9a-f]{32}", one) for one in ids)
