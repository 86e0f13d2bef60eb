"""Clients of a cluster that check every byte, and the chaos that they live through.

What they find is counted (Counts) and judged by these rules:

- A body of a digest, a range or a rest other than what was stored is wrong, always.
- A GET or HEAD whose response has not begun may be sent again by the proxy. So a connection that ends
  before a response, and a status of 5xx, is a failure, always: the proxy could have saved it.
- A body that ends early is an abort. It is explained if a replica was killed (SIGKILL) since the request
  was sent; any other one is a failure, also while a replica drains after SIGTERM. The client asks for the
  rest by Range and If-Match.
- Through passthrough, HAProxy sees no requests, so it can't repeat one: a connection may end before a
  response, if a replica was killed.
"""

import collections
import contextlib
import dataclasses
import hashlib
import http.client
import random
import signal
import socket
import ssl
import threading
import time
import traceback

import h2.exceptions
import httpx

from support.environment import PATIENCE
from support.waiting import holds_within

TIMEOUT_S = 60 * PATIENCE


class Refused(Exception):
    """No response began."""


class Cut(Exception):
    """The body ended early."""


@dataclasses.dataclass(frozen=True)
class Stored:
    path: str
    content: bytes
    etag: str

    def digest(self, first=0):
        return hashlib.sha256(memoryview(self.content)[first:]).digest()


class Counts:
    """What all clients have seen. Any thread may call it."""

    def __init__(self):
        self._lock = threading.Lock()
        self.all = collections.Counter()
        self.failures = []

    def add(self, what, number=1):
        with self._lock:
            self.all[what] += number

    def fail(self, what, detail):
        with self._lock:
            self.all[what] += 1
            self.failures.append(f"{time.strftime('%H:%M:%S')} {what}: {detail}")

    def __str__(self):
        return ", ".join(f"{number} {what}" for what, number in sorted(self.all.items()))


# --- connections --------------------------------------------------------------------------------


class Http1:
    """HTTP/1.1 on a connection that is kept."""

    def __init__(self, cluster):
        self._port = cluster.port
        self._connection = None

    @contextlib.contextmanager
    def ask(self, method, path, fields, body=None):
        """Yields (status, fields with names in lower case, pieces)."""
        try:
            if self._connection is None:
                self._connection = http.client.HTTPConnection("127.0.0.1", self._port,
                                                              timeout=TIMEOUT_S)
            self._connection.request(method, path, body, dict(fields))
            response = self._connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Refused(repr(error)) from error
        try:
            yield response.status, {name.lower(): value for name, value in response.getheaders()}, \
                self._pieces(response)
        except Cut:
            self.close()
            raise
        finally:
            if not response.isclosed():
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

    def close(self):
        if self._connection is not None:
            self._connection.close()
            self._connection = None


# HAProxy 2.6 ends a stream that was cut off as if it were complete, which h2 finds out.
_HTTP2_ERRORS = (httpx.HTTPError, h2.exceptions.H2Error)


class Http2:
    """HTTP/2 over TLS on a connection that is kept."""

    def __init__(self, cluster):
        self._origin = f"https://localhost:{cluster.secure_port}"
        self._trusted = str(cluster.folder / "server.crt")
        self._client = self._fresh()

    def _fresh(self):
        return httpx.Client(http2=True, timeout=TIMEOUT_S, trust_env=False, verify=self._trusted)

    @contextlib.contextmanager
    def ask(self, method, path, fields, body=None):
        request = self._client.build_request(method, self._origin + path, headers=dict(fields),
                                             content=body)
        try:
            response = self._client.send(request, stream=True)
        except _HTTP2_ERRORS as error:
            raise Refused(repr(error)) from error
        assert response.http_version == "HTTP/2"
        try:
            yield response.status_code, dict(response.headers), self._pieces(response)
        except Cut:
            self.close()
            self._client = self._fresh()
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

    @contextlib.contextmanager
    def ask(self, method, path, fields, body=None):
        connection = http.client.HTTPConnection("localhost", timeout=TIMEOUT_S)
        try:
            plain = socket.create_connection(("127.0.0.1", self._port), TIMEOUT_S)
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


# --- chaos --------------------------------------------------------------------------------------


class Chaos:
    """Kills and starts replicas, and one node of the store at a time, until stop()."""

    def __init__(self, cluster, seed, counts):
        self._cluster = cluster
        self._seed = seed
        self._counts = counts
        self._kills = []  # when replicas had ended after SIGKILL, by the monotonic clock
        self._dying = set()
        self._stopping = threading.Event()
        self._threads = []
        self.errors = []

    def start(self):
        for number, work in enumerate((self._replicas, self._nodes)):
            chance = random.Random(self._seed + number)
            self._threads.append(threading.Thread(target=self._guard, args=(work, chance)))
            self._threads[-1].start()

    def stop(self):
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def explains(self, since):
        """Returns true if a replica was killed since that time."""
        return bool(self._dying) or any(end >= since for end in self._kills)

    def _guard(self, work, *arguments):
        try:
            work(*arguments)
        except Exception as error:  # else the test would pass without chaos
            self.errors.append(repr(error))

    def _pause(self, seconds):
        """Returns true if it is to stop."""
        return self._stopping.wait(seconds)

    def _end(self, victim, number):
        if number == signal.SIGKILL and victim in self._cluster.replicas:
            self._dying.add(victim)
        victim.signal(number)
        what = signal.Signals(number).name
        print(time.strftime("%H:%M:%S"), victim.name, what)
        self._counts.add(f"{victim.name.rstrip('1234')} got {what}")

    def _replicas(self, chance):
        while not self._pause(chance.uniform(0.5, 3)):
            victim = chance.choice(self._cluster.replicas)
            number = chance.choice([signal.SIGKILL, signal.SIGTERM])
            pause = chance.uniform(0, 3)
            if not victim.running or victim.ending or not self._cluster.spared_by(victim):
                continue
            victim.ending = True
            self._end(victim, number)
            self._threads.append(threading.Thread(
                target=self._guard, args=(self._start_again, victim, number, pause)))
            self._threads[-1].start()

    def _start_again(self, replica, number, pause):
        status = replica.wait()
        if number == signal.SIGKILL:
            self._kills.append(time.monotonic())
        self._dying.discard(replica)
        assert status == (0 if number == signal.SIGTERM else -number), f"{replica.name}: {status}"
        self._pause(pause)
        replica.start()
        # Before it catches signals, SIGTERM would kill it.
        assert holds_within(lambda: replica.ready, 60 * PATIENCE), replica.log[-2000:]
        replica.ending = False

    def _nodes(self, chance):
        """One at a time: two of four would leave no quorum to write."""
        whole = len(self._cluster.nodes)
        while not self._pause(chance.uniform(2, 6)):
            victim = chance.choice(self._cluster.nodes)
            self._end(victim, chance.choice([signal.SIGKILL, signal.SIGTERM]))
            victim.wait()
            self._pause(chance.uniform(0, 4))
            victim.start()
            assert holds_within(lambda one=victim: one.ready, 60 * PATIENCE), victim.log[-2000:]
            assert holds_within(lambda: len(self._cluster.proxy.up("minio")) == whole,
                                60 * PATIENCE), "HAProxy misses a node of MinIO"


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
        began = time.monotonic()
        try:
            with self._asked(method, stored, fields) as (got, head, pieces):
                for _ in pieces:
                    pass
        except (Refused, Cut) as error:
            self._refused(stored, began, error)
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
            began = time.monotonic()
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
                if not self._refused(stored, began, error):
                    return
            except Cut as error:
                self._aborted(stored, began, error)
        self.counts.add("bytes", end - first)
        if digest.digest() != hashlib.sha256(memoryview(stored.content)[first:end]).digest():
            self.counts.fail("wrong bytes", f"{stored.path} {first}-{end}")

    def _asked(self, method, stored, fields):
        self.counts.add("requests")
        return self.session.ask(method, stored.path, fields)

    def _refused(self, stored, began, error):
        """Returns true if the request may be made again."""
        if isinstance(self.session, Passthrough) and self.chaos.explains(began):
            self.counts.add("connections through TLS that a kill ended")
            return True
        self.counts.fail("failures that a retry could have saved", f"{stored.path}: {error}")
        return False

    def _aborted(self, stored, began, error):
        if self.chaos.explains(began):
            self.counts.add("bodies that a kill cut off")
        else:
            self.counts.fail("bodies cut off without a kill", f"{stored.path}: {error}")

    def _wrong_status(self, stored, fields, got, wanted, body=b""):
        self.counts.fail("failures that a retry could have saved",
                         f"{stored.path} {fields}: {got}, not {wanted}: {body[:300]}")
