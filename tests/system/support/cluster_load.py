"""Clients of a cluster that check every byte, while the processes behind it end (cluster_chaos.py).

What they find is counted (Counts) and judged by these rules:

- A body of a digest, a range or a rest other than what was stored is wrong, always.
- A GET or HEAD whose response has not begun may be sent again by the proxy. So a connection that ends
  before a response, and a status of 5xx, is a failure, always: the proxy could have saved it.
- A body that ends early is an abort. It is excused if the replica that sent it was killed (SIGKILL)
  meanwhile; any other one is a failure, also while a replica drains after SIGTERM. The client asks for
  the rest by Range and If-Match.
- Through passthrough, HAProxy sees no requests, so it can't repeat one: a connection may end before a
  response, if the replica that had it was killed.
"""

import collections
import contextlib
import dataclasses
import hashlib
import http.client
import itertools
import random
import socket
import ssl
import threading
import time
import traceback

import h2.exceptions
import httpx

from support.environment import LAST_RESORT_S

TIMEOUT_S = LAST_RESORT_S


class Refused(Exception):
    """No response began."""


class Cut(Exception):
    """The body ended early."""


@dataclasses.dataclass(frozen=True)
class Stored:
    path: str
    content: bytes
    etag: str


@dataclasses.dataclass(frozen=True)
class Asked:
    """A request: what HAProxy's log calls it, and when it was sent."""

    tag: str
    began: float



_tags = itertools.count(100_000)  # more than a port


def next_asked(tag=None):
    return Asked(tag or str(next(_tags)), time.monotonic())


class Counts:
    """What all clients have seen. Any thread may call it."""

    def __init__(self):
        self._lock = threading.Lock()
        self.all = collections.Counter()
        self.longest = collections.Counter()  # seconds
        self.failures = []

    def add(self, what, number=1):
        with self._lock:
            self.all[what] += number

    def took(self, what, seconds):
        """Keeps the longest time."""
        with self._lock:
            self.longest[what] = max(self.longest[what], seconds)

    def fail(self, what, detail):
        with self._lock:
            self.all[what] += 1
            self.failures.append(f"{time.strftime('%H:%M:%S')} {what}: {detail}")
            print(self.failures[-1])

    def __str__(self):
        return ", ".join([f"{number} {what}" for what, number in sorted(self.all.items())] +
                         [f"{what} {seconds:.1f} s" for what, seconds in self.longest.items()])


# --- connections --------------------------------------------------------------------------------


class _Response(http.client.HTTPResponse):
    """Keeps the fields of the interim responses that precede it."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.interim = []

    def _read_status(self):
        line = super()._read_status()
        while 101 < line[1] < 200:
            self.interim.append(http.client.parse_headers(self.fp))
            line = super()._read_status()
        return line


class _Connection(http.client.HTTPConnection):
    response_class = _Response


class Http1:
    """HTTP/1.1 on a connection that is kept. `asked`: the last request. `interim`: the fields of the
    interim responses that came with the last response."""

    def __init__(self, cluster):
        self._port = cluster.port
        self._connection = None
        self.asked = None
        self.interim = []

    @contextlib.contextmanager
    def ask(self, method, path, fields, body=None):
        """Yields (status, fields with names in lower case, pieces). `body`: bytes, or an iterable of
        such with a Content-Length among the fields."""
        self.asked = next_asked()
        self.interim = []
        sent = True
        try:
            if self._connection is None:
                self._connection = _Connection("127.0.0.1", self._port, timeout=TIMEOUT_S)
            fields = {**dict(fields), "X-Test-Request": self.asked.tag}
            try:
                self._connection.request(method, path, body, fields)
            except (BrokenPipeError, ConnectionResetError):
                sent = False  # there may be a response nevertheless
            response = self._connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Refused(repr(error)) from error
        self.interim = response.interim
        try:
            yield response.status, {name.lower(): value for name, value in response.getheaders()}, \
                self._pieces(response)
        except Cut:
            self.close()
            raise
        finally:
            if not sent or not response.isclosed():
                self.close()

    @staticmethod
    def _pieces(response):
        try:
            while piece := response.read(65536):
                yield piece
        except (OSError, http.client.HTTPException) as error:
            raise Cut(repr(error)) from error
        if response.length:  # read(n) does not complain about a body that is too short
            raise Cut(f"{response.length} bytes are missing")

    def reset(self):
        """The next request has a new connection."""
        self.close()

    def close(self):
        if self._connection is not None:
            self._connection.close()
            self._connection = None


# HAProxy 2.6 ends a stream that was cut off as if it were complete, which h2 finds out.
_HTTP2_ERRORS = (httpx.HTTPError, h2.exceptions.H2Error)


class Http2:
    """HTTP/2 over TLS on a connection that is kept. `asked`: see Http1."""

    def __init__(self, cluster):
        self._origin = f"https://localhost:{cluster.secure_port}"
        self._trusted = str(cluster.folder / "server.crt")
        self._client = self._fresh()
        self.asked = None

    def _fresh(self):
        return httpx.Client(http2=True, timeout=TIMEOUT_S, trust_env=False, verify=self._trusted)

    @contextlib.contextmanager
    def ask(self, method, path, fields, body=None):
        self.asked = next_asked()
        fields = {**dict(fields), "X-Test-Request": self.asked.tag}
        request = self._client.build_request(method, self._origin + path, headers=fields,
                                             content=body)
        try:
            response = self._client.send(request, stream=True)
        except _HTTP2_ERRORS as error:
            raise Refused(repr(error)) from error
        assert response.http_version == "HTTP/2"
        try:
            yield response.status_code, dict(response.headers), self._pieces(response)
        except Cut:
            self.reset()
            raise
        finally:
            with contextlib.suppress(*_HTTP2_ERRORS):
                response.close()

    @staticmethod
    def _pieces(response):
        try:
            yield from response.iter_raw()
        except _HTTP2_ERRORS as error:
            raise Cut(repr(error)) from error

    def reset(self):
        """The next request has a new connection."""
        self.close()
        self._client = self._fresh()

    def close(self):
        with contextlib.suppress(*_HTTP2_ERRORS):
            self._client.close()


class Passthrough:
    """HTTP/1.1 over TLS that a replica ends. Each request has a new connection, which resumes the
    session of the last one, at whichever replica that was."""

    def __init__(self, cluster, counts):
        self._port = cluster.passthrough_port
        self._context = ssl.create_default_context(cafile=cluster.folder / "server.crt")
        self._session = None
        self._counts = counts
        self.asked = None

    @contextlib.contextmanager
    def ask(self, method, path, fields, body=None):
        self.asked = next_asked("none")
        connection = http.client.HTTPConnection("localhost", timeout=TIMEOUT_S)
        try:
            plain = socket.create_connection(("127.0.0.1", self._port), TIMEOUT_S)
            self.asked = dataclasses.replace(self.asked, tag=str(plain.getsockname()[1]))
            connection.sock = self._context.wrap_socket(plain, server_hostname="localhost",
                                                        session=self._session)
            self._counts.add("TLS sessions resumed" if connection.sock.session_reused
                             else "full TLS handshakes")
            connection.request(method, path, body, {"Connection": "close", **dict(fields)})
            plain = connection.sock
            response = connection.getresponse()
            self._session = plain.session  # its tickets came with the head
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise Refused(repr(error)) from error
        try:
            yield response.status, {name.lower(): value for name, value in response.getheaders()}, \
                Http1._pieces(response)
        finally:
            response.close()
            connection.close()

    def close(self):
        pass


# --- clients ------------------------------------------------------------------------------------


class Client:
    """One thread that does steps until stop(). Subclasses have step()."""

    def __init__(self, session, counts, chaos, seed):
        self.session = session
        self.counts = counts
        self.chaos = chaos
        self.random = random.Random(seed)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def start(self):
        self._thread.start()

    def stop(self):
        self._stopping.set()
        self._thread.join()

    def _run(self):
        try:
            while not self._stopping.is_set():
                self.step()
        except Exception:
            self.counts.fail("clients that broke", traceback.format_exc())
        finally:
            self.session.close()


class Downloader(Client):
    """Whole objects, ranges, conditions; interrupted bodies are completed."""

    def __init__(self, session, counts, chaos, seed, objects):
        super().__init__(session, counts, chaos, seed)
        self._objects = objects

    def step(self):
        stored = self.random.choice(self._objects)
        kind = self.random.choices([self._whole, self._range, self._conditional, self._head],
                                   [5, 3, 1, 1])[0]
        kind(stored)

    def _whole(self, stored):
        self._fetch(stored, 0, len(stored.content), [])

    def _range(self, stored):
        first = self.random.randrange(len(stored.content))
        end = self.random.randrange(first, len(stored.content)) + 1
        self._fetch(stored, first, end, [("Range", f"bytes={first}-{end - 1}")])

    def _conditional(self, stored):
        self._without_body("GET", stored, [("If-None-Match", stored.etag)], 304)
        self._without_body("GET", stored, [("If-Match", '"another"')], 412)

    def _head(self, stored):
        self._without_body("HEAD", stored, [], 200)

    def _without_body(self, method, stored, fields, status):
        try:
            with self._asked(method, stored, fields) as (got, head, pieces):
                for _ in pieces:
                    pass
        except (Refused, Cut) as error:
            self._refused(stored, error)
            return
        if got != status:
            self._wrong_status(stored, fields, got, status)
        elif status == 200 and int(head["content-length"]) != len(stored.content):
            self.counts.fail("wrong bytes", f"HEAD of {stored.path}")

    def _fetch(self, stored, first, end, fields):
        """Gets these bytes, in several requests if a body breaks."""
        digest, position = hashlib.sha256(), first
        pace = self.random.choice([0, 0, 0.002])  # some are slow, so that kills hit them
        while position < end:
            if position > first:
                fields = [("Range", f"bytes={position}-{end - 1}"), ("If-Match", stored.etag)]
            status = 206 if fields else 200
            try:
                with self._asked("GET", stored, fields) as (got, head, pieces):
                    if got != status or head.get("etag") != stored.etag:
                        self._wrong_status(stored, fields, got, status, b"".join(pieces))
                        return
                    for piece in pieces:
                        digest.update(piece)
                        position += len(piece)
                        if pace:
                            time.sleep(pace)
            except Refused as error:
                if not self._refused(stored, error):
                    return
            except Cut as error:
                self._aborted(stored, error)
        self.counts.add("bytes", end - first)
        if digest.digest() != hashlib.sha256(memoryview(stored.content)[first:end]).digest():
            self.counts.fail("wrong bytes", f"{stored.path} {first}-{end}")

    def _asked(self, method, stored, fields):
        self.counts.add("requests")
        return self.session.ask(method, stored.path, fields)

    def _refused(self, stored, error):
        """Returns true if the request may be made again."""
        entry, killed = self.chaos.judge(self.session.asked)
        if isinstance(self.session, Passthrough) and killed:
            self.counts.add("connections through TLS that a kill ended")
            return True
        self.counts.fail("failures that a retry could have saved", f"{stored.path}: {error}, {entry}")
        return False

    def _aborted(self, stored, error):
        entry, killed = self.chaos.judge(self.session.asked)
        if killed:
            self.counts.add("bodies that a kill cut off")
        else:
            self.counts.fail("bodies cut off without a kill", f"{stored.path}: {error}, {entry}")

    def _wrong_status(self, stored, fields, got, wanted, body=b""):
        self.counts.fail("failures that a retry could have saved",
                         f"{stored.path} {fields}: {got}, not {wanted}: {body[:300]}")
