"""Trailer fields of requests and responses (RFC 9110, 6.5), with examples/trailers."""

import json
import os
import subprocess

import pytest

from support import http1, http2
from support.environment import CLIENTS, LAST_RESORT_S, tool
from support.example import Example


@pytest.fixture(scope="module")
def example():
    with Example("trailers", 0) as running:
        yield running


def test_go(example, tmp_path):
    program = tmp_path / "client"
    subprocess.run([tool("go"), "build", "-o", program, CLIENTS / "trailers_client.go"], check=True,
                   env={"HOME": str(tmp_path), **os.environ, "GOFLAGS": "-mod=mod",
                        "GOPROXY": "off", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"})
    done = subprocess.run([program, str(example.port)], capture_output=True, text=True,
                          check=True, timeout=LAST_RESORT_S)
    texts = ["abc", "", "hello, world"]
    assert json.loads(done.stdout) == [
        {"body": text, "announced": {"Size": None},
         "trailers": {"Size": [str(len(text))], "Echo-Sum": ["6"], "Echo-X-Empty": [""]}}
        for text in texts]


def test_http2(example):
    with http2.Connection(example) as connection:
        stream = connection.request("POST", "/echo", [("te", "trailers")], b"abc", ends=False)
        fields = [("sum", "6"), ("x-empty", ""), ("authorization", "none")]
        connection.protocol.send_headers(stream.number, fields, end_stream=True)
        connection.flush()
        assert connection.answer(stream).body == b"abc"
        assert stream.trailers == [("size", "3"), ("echo-sum", "6"), ("echo-x-empty", "")]


# Trailer section of the chunked request → trailer section of the chunked response.
SECTIONS = {
    "none": (b"", b"size: 3\r\n"),
    "two": (b"Sum: \t6 \r\nX-Empty:\r\n", b"size: 3\r\necho-sum: 6\r\necho-x-empty: \r\n"),
    "a field that frames": (b"Content-Length: 1\r\nSum: 6\r\n", b"size: 3\r\necho-sum: 6\r\n"),
    "one that authenticates": (b"Authorization: none\r\n", b"size: 3\r\n"),
}


@pytest.mark.parametrize("sent, received", SECTIONS.values(), ids=SECTIONS)
@pytest.mark.parametrize("slowly", [False, True], ids=["whole", "bytewise"])
def test_http1(example, sent, received, slowly):
    request = (b"POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
               b"Connection: close\r\n\r\n3\r\nabc\r\n0\r\n" + sent + b"\r\n")
    with http1.Connection(example) as connection:
        (connection.send_slowly if slowly else connection.send)(request)
        assert connection.answer_head().field("transfer-encoding") == "chunked"
        assert connection.rest() == b"3\r\nabc\r\n0\r\n" + received + b"\r\n"


def test_http10_gets_none(example):
    with http1.Connection(example) as connection:
        connection.send(b"POST /echo HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc")
        assert connection.answer().body == b"abc"
