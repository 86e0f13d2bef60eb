"""gRPC calls of all forms, with examples/grpc_echo and the client of grpcio."""

import collections
import queue
import signal
import subprocess
import sys
import threading

import pytest

from support import http2
from support.environment import LAST_RESORT_S, TOOLS, tool
from support.example import Example
from support.waiting import wait_until

sys.path += map(str, (TOOLS / "python/lib").glob("python*/site-packages"))
import grpc  # noqa: E402, scripts/setup installs it there

LIMIT_S = LAST_RESORT_S
MIB = 1 << 20
OPTIONS = [("grpc.max_receive_message_length", 8 * MIB)]


class EchoServer(Example):
    """examples/grpc_echo."""

    def __init__(self, folder, io="epoll", implementation="native", tls=False):
        self.tls = tls
        self.certificate = folder / "server.crt"
        files = []
        if tls:
            key = folder / "server.key"
            subprocess.run([tool("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt",
                            "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out",
                            self.certificate, "-subj", "/CN=localhost", "-addext",
                            "subjectAltName=DNS:localhost,IP:127.0.0.1"],
                           check=True, capture_output=True)
            files = [self.certificate, key]
        super().__init__("grpc_echo", 0, io, implementation, *files)

    def channel(self):
        target = f"localhost:{self.port}"
        if not self.tls:
            return grpc.insecure_channel(target, OPTIONS)
        credentials = grpc.ssl_channel_credentials(self.certificate.read_bytes())
        return grpc.secure_channel(target, credentials, OPTIONS)


class Echo:
    """The service's methods; messages are bytes."""

    def __init__(self, channel):
        self.channel = channel
        self.unary = channel.unary_unary("/echo.Echo/Unary")
        self.server_stream = channel.unary_stream("/echo.Echo/ServerStream")
        self.client_stream = channel.stream_unary("/echo.Echo/ClientStream")
        self.bidi = channel.stream_stream("/echo.Echo/Bidi")
        self.slow = channel.unary_unary("/echo.Echo/Slow")

    def stats(self):
        """Returns how many calls were cancelled, and how many were overdue."""
        words = self.channel.unary_unary("/echo.Echo/Stats")(b"", timeout=LIMIT_S).split()
        return int(words[0]), int(words[1])

    def stopped(self):
        return sum(self.stats())


CONFIGURATIONS = [("epoll", "native", False), ("io_uring", "native", True),
                  ("epoll", "nghttp2", True), ("io_uring", "nghttp2", False)]


@pytest.fixture(scope="module", params=CONFIGURATIONS,
                ids=lambda row: f"{row[0]}-{row[1]}-{'tls' if row[2] else 'cleartext'}")
def example(request, tmp_path_factory):
    with EchoServer(tmp_path_factory.mktemp("grpc"), *request.param) as running:
        yield running


@pytest.fixture
def echo(example):
    with example.channel() as channel:
        yield Echo(channel)


@pytest.fixture
def connection(tmp_path):
    """For frames that grpcio does not send."""
    with EchoServer(tmp_path) as running, http2.Connection(running) as connection:
        yield connection


def code_of(call):
    with pytest.raises(grpc.RpcError) as failure:
        call()
    return failure.value.code()


# --- the four forms -------------------------------------------------------------------------------

@pytest.mark.parametrize("message", [b"", b"a", bytes(range(256)), b"x" * 3 * MIB],
                         ids=["empty", "one", "256", "3 MiB"])
def test_forms(echo, message):
    assert echo.unary(message, timeout=LIMIT_S) == message
    times = [("times", "3")]
    assert list(echo.server_stream(message, metadata=times, timeout=LIMIT_S)) == [message] * 3
    told = echo.client_stream(iter([message] * 3), timeout=LIMIT_S)
    assert told == b"3 %d" % (3 * len(message))
    assert list(echo.bidi(iter([message] * 3), timeout=LIMIT_S)) == [message] * 3


def test_streams_without_messages(echo):
    assert list(echo.server_stream(b"a", metadata=[("times", "0")], timeout=LIMIT_S)) == []
    assert echo.client_stream(iter([]), timeout=LIMIT_S) == b"0 0"
    assert list(echo.bidi(iter([]), timeout=LIMIT_S)) == []


def test_bidi_answers_at_once(echo):
    messages = queue.SimpleQueue()
    call = echo.bidi(iter(messages.get, None), timeout=LIMIT_S)
    for number in range(100):
        messages.put(b"%d" % number)
        assert next(call) == b"%d" % number
    messages.put(None)
    assert list(call) == []
    assert call.code() == grpc.StatusCode.OK


# --- many -----------------------------------------------------------------------------------------

def test_many_calls(echo):
    for number in range(10_000):
        message = b"%d" % number
        assert echo.unary(message) == message


def test_many_messages(echo):
    messages = [b"%d" % number for number in range(10_000)]
    assert list(echo.bidi(iter(messages), timeout=LIMIT_S)) == messages
    times = [("times", "10000")]
    counted = collections.Counter(echo.server_stream(b"a", metadata=times, timeout=LIMIT_S))
    assert counted == {b"a": 10_000}
    assert echo.client_stream(iter(messages), timeout=LIMIT_S) == b"10000 38890"


def test_many_streams(echo):
    """More than the server's limit of concurrent streams, so that some wait."""
    calls = [echo.unary.future(b"%d" % number * 10_000) for number in range(300)]
    for number, call in enumerate(calls):
        assert call.result(timeout=LIMIT_S) == b"%d" % number * 10_000


def test_many_streams_stay_open(echo):
    messages = [queue.SimpleQueue() for _ in range(50)]
    calls = [echo.bidi(iter(source.get, None), timeout=LIMIT_S) for source in messages]
    for round_number in range(5):
        for number, source in enumerate(messages):
            source.put(b"%d %d" % (number, round_number))
        for number, call in enumerate(calls):
            assert next(call) == b"%d %d" % (number, round_number)
    for source in messages:
        source.put(None)
    assert [list(call) for call in calls] == [[]] * 50


# --- ends -----------------------------------------------------------------------------------------

def test_cancelled_by_the_client(echo):
    before = echo.stats()[0]
    call = echo.slow.future(b"")
    stream = echo.bidi(iter(threading.Event().wait, None), timeout=LIMIT_S)
    flood = echo.server_stream(b"x" * MIB, metadata=[("times", "1000000")], timeout=LIMIT_S)
    assert len(next(flood)) == MIB
    call.cancel()
    stream.cancel()
    flood.cancel()
    assert call.code() == stream.code() == flood.code() == grpc.StatusCode.CANCELLED
    # Slow and Bidi may be cancelled before they were sent.
    wait_until(lambda: echo.stats()[0] > before, "the handlers see that")
    assert echo.unary(b"goes on", timeout=LIMIT_S) == b"goes on"


def is_begun(echo, seconds):
    """Makes a call that lasts until its deadline. Returns true if its handler has answered."""
    messages = queue.SimpleQueue()
    messages.put(b"a")
    call = echo.bidi(iter(messages.get, None), timeout=seconds)
    answers = []
    with pytest.raises(grpc.RpcError):
        for answer in call:
            answers.append(answer)
    messages.put(None)
    assert call.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    return answers == [b"a"]


def test_deadline(echo):
    """Of a call whose deadline passes before it is sent, no handler knows."""
    before, begun, calls, seconds = echo.stopped(), 0, 0, 0.2
    while begun < 3:
        calls += 1
        if is_begun(echo, seconds):
            begun += 1
        else:
            assert seconds < LIMIT_S, "no handler begins"
            seconds *= 2
    wait_until(lambda: echo.stopped() >= before + begun, "the handlers stop")
    assert echo.stopped() <= before + calls
    assert code_of(lambda: echo.slow(b"", timeout=0.2)) == grpc.StatusCode.DEADLINE_EXCEEDED


def test_unknown_method(echo):
    for path in ("/echo.Echo/None", "/none.None/Unary"):
        call = echo.channel.unary_unary(path)
        with pytest.raises(grpc.RpcError) as failure:
            call(b"x" * MIB, timeout=LIMIT_S)
        assert failure.value.code() == grpc.StatusCode.UNIMPLEMENTED
        assert failure.value.details() == "no such method"


def test_compressed_message(echo):
    gzip = grpc.Compression.Gzip
    refused = code_of(lambda: echo.unary(b"x" * 1000, compression=gzip, timeout=LIMIT_S))
    assert refused == grpc.StatusCode.UNIMPLEMENTED


def test_too_large_message(echo):
    assert len(echo.unary(b"x" * 4 * MIB, timeout=LIMIT_S)) == 4 * MIB
    refused = code_of(lambda: echo.unary(b"x" * (4 * MIB + 1), timeout=LIMIT_S))
    assert refused == grpc.StatusCode.RESOURCE_EXHAUSTED


@pytest.mark.parametrize("signals", [1, 2])
@pytest.mark.parametrize("implementation", ["native", "nghttp2"])
def test_server_stops(tmp_path, implementation, signals):
    with EchoServer(tmp_path, implementation=implementation) as running, \
            running.channel() as channel:
        messages = queue.SimpleQueue()
        call = Echo(channel).bidi(iter(messages.get, None), timeout=LIMIT_S)
        messages.put(b"a")
        assert next(call) == b"a"
        for _ in range(signals):
            running.process.send_signal(signal.SIGTERM)
            wait_until(lambda: not accepts(running), "the listener closes")
        if signals == 1:  # what is in flight ends
            messages.put(b"b")
            assert next(call) == b"b"
            messages.put(None)
            assert list(call) == []
        else:
            assert code_of(lambda: next(call)) == grpc.StatusCode.UNAVAILABLE
            messages.put(None)
        assert running.process.wait(LIMIT_S) == 0


def accepts(running):
    try:
        http2.Connection(running).close()
    except OSError:
        return False
    return True


# --- frames that grpcio does not send -------------------------------------------------------------

HEAD = {"content-type": "application/grpc", "te": "trailers"}


def message_of(text, size=None, compressed=0):
    return bytes([compressed]) + (len(text) if size is None else size).to_bytes(4, "big") + text


def ends_with(connection, stream):
    """Returns the status and the message of the response, which may have a head only."""
    connection.answer(stream)
    fields = dict(stream.trailers or stream.fields)
    return int(fields["grpc-status"]), fields.get("grpc-message", "")


def call(connection, method, body=None, **changes):
    fields = {**HEAD, **{name.replace("_", "-"): value for name, value in changes.items()}}
    return connection.request("POST", f"/echo.Echo/{method}",
                              [(name, value) for name, value in fields.items() if value], body,
                              ends=body is not None)


@pytest.mark.parametrize("cut", [1, 2, 7, 100])
def test_cuts(connection, cut):
    texts = [b"", b"abc", b"", b"x" * 50, b"y"]
    body = b"".join(message_of(text) for text in texts)
    stream = call(connection, "Bidi")
    for start in range(0, len(body), cut):
        connection.send_data(stream, body[start:start + cut])
    connection.send_data(stream, b"", end=True)
    assert ends_with(connection, stream) == (0, "")
    assert stream.body == body
    assert dict(stream.fields)["content-type"] == "application/grpc"


REFUSED = {
    "cut in the prefix": (message_of(b"abc")[:3], {}, 13, "the last message is cut"),
    "cut in the message": (message_of(b"abc")[:-1], {}, 13, "the last message is cut"),
    "no message": (b"", {}, 13, "no message"),
    "two messages": (message_of(b"a") * 2, {}, 13, "more than one message"),
    "too large": (message_of(b"", 4 * MIB + 1), {}, 8, "the message is over 4 MiB"),
    "size of 32 bits": (message_of(b"", 2**32 - 1), {}, 8, "the message is over 4 MiB"),
    "compressed": (message_of(b"a", None, 1), {}, 12, "compressed messages are not supported"),
    "no te": (message_of(b"a"), {"te": None}, 13, "te: trailers is missing"),
    "timeout without unit": (message_of(b"a"), {"grpc_timeout": "5"}, 13, "malformed grpc-timeout"),
    "timeout too long": (message_of(b"a"), {"grpc_timeout": "123456789S"}, 13,
                         "malformed grpc-timeout"),
    "negative timeout": (message_of(b"a"), {"grpc_timeout": "-1S"}, 13, "malformed grpc-timeout"),
    "longest timeout": (message_of(b"a"), {"grpc_timeout": "99999999H"}, 0, ""),
}


@pytest.mark.parametrize("body, changes, status, text", REFUSED.values(), ids=REFUSED)
def test_refused(connection, body, changes, status, text):
    stream = call(connection, "Unary", body, **changes)
    assert ends_with(connection, stream) == (status, text)


def test_deadline_of_the_server(connection):
    for unit in ("50m", "50000u", "0S"):
        stream = call(connection, "Slow", message_of(b""), grpc_timeout=unit)
        assert ends_with(connection, stream) == (4, "the deadline has passed")


def test_message_is_percent_encoded(connection):
    stream = call(connection, "ServerStream", message_of(b"a"), times="é %")
    assert ends_with(connection, stream) == (3, "times is no number: %C3%A9 %25")


def test_trailers_only(connection):
    stream = call(connection, "None", message_of(b"a"))
    assert ends_with(connection, stream) == (12, "no such method")
    assert stream.trailers == [] and stream.body == b""


def test_not_grpc(connection):
    stream = call(connection, "Unary", b"{}", content_type="application/json")
    assert connection.answer(stream).status == 415
