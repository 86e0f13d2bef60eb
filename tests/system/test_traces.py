"""Spans of requests, as a collector gets them: OTLP over HTTP, decoded by opentelemetry-proto."""

import http.server
import sys
import threading
import time

import pytest

from support.environment import TOOLS
from support.http1 import Connection
from support.server import Server
from support.waiting import wait_until

sys.path += map(str, (TOOLS / "python/lib").glob("python*/site-packages"))
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2  # noqa: E402, as above
from opentelemetry.proto.trace.v1 import trace_pb2  # noqa: E402

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"
SAMPLED = ("traceparent", f"00-{TRACE}-{PARENT}-01")
NOT_SAMPLED = ("traceparent", f"00-{TRACE}-{PARENT}-00")


def value_of(any_value):
    return getattr(any_value, any_value.WhichOneof("value"))


def attributes(message):
    found = {pair.key: value_of(pair.value) for pair in message.attributes}
    assert len(found) == len(message.attributes), "an attribute occurs twice"
    return found


class Collector:
    """A collector on loopback. `statuses`: those of the first answers; later ones are 200."""

    def __init__(self, statuses=()):
        self.requests = []  # (fields, ExportTraceServiceRequest)
        statuses = list(statuses)
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):  # noqa: N802, http.server's name
                body = self.rfile.read(int(self.headers["Content-Length"]))
                message = trace_service_pb2.ExportTraceServiceRequest.FromString(body)
                collector.requests.append((self.path, dict(self.headers), message))
                self.send_response(statuses.pop(0) if statuses else 200)
                self.send_header("Content-Type", "application/x-protobuf")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1/traces"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def spans(self):
        return [span for _, _, message in list(self.requests) for part in message.resource_spans
                for scope in part.scope_spans for span in scope.spans]

    def wait_for(self, count):
        """Returns the spans once there are `count`; more are an error."""
        wait_until(lambda: len(self.spans()) >= count, f"{count} spans arrive")
        spans = self.spans()
        assert len(spans) == count
        return spans


def traced(collector, sample, **options):
    return Server("--trace-endpoint", collector.url, "--trace-sample", str(sample), **options)


@pytest.fixture
def collector():
    with Collector() as running:
        yield running


def check_valid(span, begun, ended):
    """What the protocol demands of every span."""
    assert len(span.trace_id) == 16 and any(span.trace_id)
    assert len(span.span_id) == 8 and any(span.span_id)
    assert span.kind == trace_pb2.Span.SPAN_KIND_SERVER
    slack = 1e9  # between the clock of a tick and this one
    assert begun * 1e9 - slack <= span.start_time_unix_nano <= span.end_time_unix_nano
    assert span.end_time_unix_nano <= ended * 1e9 + slack


def test_spans_of_requests(collector):
    begun = time.time()
    with traced(collector, 1) as server:
        (server.root / "page.txt").write_text("0123456789")
        with Connection(server) as client:
            fields = [SAMPLED, ("tracestate", "vendor=1"), ("User-Agent", "test/1")]
            client.request("GET", "/page.txt?a=b", fields)
            assert client.answer().status == 200
            client.request("GET", "/missing")
            assert client.answer().status == 404
        spans = collector.wait_for(2)
        port = server.port
    for span in spans:
        check_valid(span, begun, time.time())
    child, root = spans
    assert child.trace_id.hex() == TRACE and child.parent_span_id.hex() == PARENT
    assert child.trace_state == "vendor=1"
    assert child.span_id.hex() != PARENT
    assert child.name.split()[0] == "GET"
    assert child.status.code == trace_pb2.Status.STATUS_CODE_UNSET
    expected = {
        "http.request.method": "GET", "url.scheme": "http", "url.path": "/page.txt",
        "url.query": "a=b", "server.address": "localhost", "client.address": "127.0.0.1",
        "network.peer.address": "127.0.0.1", "network.protocol.version": "1.1",
        "user_agent.original": "test/1", "http.response.status_code": 200,
        "http.response.body.size": 10,
    }
    found = attributes(child)
    assert {name: found.get(name) for name in expected} == expected
    assert "error.type" not in found and found.get("server.port", port) == port
    assert root.trace_id != child.trace_id and root.parent_span_id == b""
    # The client's failure is not the server's.
    assert root.status.code == trace_pb2.Status.STATUS_CODE_UNSET
    assert attributes(root)["http.response.status_code"] == 404


def test_resource(collector):
    with traced(collector, 1) as server, Connection(server) as client:
        client.request("GET", "/")
        client.answer()
        collector.wait_for(1)
    (path, fields, message), = collector.requests
    assert path == "/v1/traces"
    assert fields["Content-Type"] == "application/x-protobuf"
    (part,) = message.resource_spans
    assert attributes(part.resource)["service.name"] == "h2server"
    (scope,) = part.scope_spans
    assert scope.scope.name == "h2server"


def test_sampling(collector):
    """Without a sampled parent, the share says; a sampled parent is followed."""
    with traced(collector, 0) as server:
        with Connection(server) as client:
            for fields in ([], [NOT_SAMPLED], [SAMPLED], [("traceparent", "nonsense")]):
                client.request("GET", "/", fields)
                client.answer()
        (span,) = collector.wait_for(1)
        assert span.trace_id.hex() == TRACE
    assert len(collector.spans()) == 1


def test_cut_off_response(collector):
    with traced(collector, 1) as server:
        with open(server.root / "large", "wb") as large:
            large.truncate(1 << 30)
        with Connection(server, receive_buffer=4096) as client:
            client.request("GET", "/large")
            assert client.answer_head().status == 200
            client.reset()
        (span,) = collector.wait_for(1)
    assert span.status.code == trace_pb2.Status.STATUS_CODE_ERROR
    assert span.status.message == attributes(span)["error.type"] == "client_left"


def test_collector_that_refuses_for_a_while():
    with Collector([503, 429]) as collector:
        with traced(collector, 1, quiet=False) as server, Connection(server) as client:
            client.request("GET", "/", [SAMPLED])
            client.answer()
            wait_until(lambda: len(collector.requests) >= 3, "it is tried again")
            server.wait_for_message("503")
    assert {span.span_id for span in collector.spans()} == {collector.spans()[0].span_id}


def test_rest_is_sent_when_the_server_stops(collector):
    with traced(collector, 1) as server, Connection(server) as client:
        for _ in range(20):
            client.request("GET", "/")
            client.answer()
    assert len(collector.spans()) == 20


def test_collector_that_is_gone():
    """Costs no request, and the server ends in time."""
    with Collector() as collector:
        pass
    with traced(collector, 1, quiet=False) as server, Connection(server) as client:
        for _ in range(10):
            client.request("GET", "/")
            assert client.answer().status in (200, 404)
