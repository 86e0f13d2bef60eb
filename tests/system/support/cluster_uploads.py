"""Clients of a cluster that upload, by PUT, a form, tus and the IETF's draft, while the processes behind
it end (cluster_chaos.py). cluster_audit.py looks at what is in the store.

What holds, always:

- An upload that was acknowledged is there, with the bytes that were sent.
- An offset is never below one that was acknowledged.
- Of two uploads of one name, one gets it.
- Who looks at an upload that is not acknowledged finds the whole of it, or nothing.
- 423 ends when the lease of the killed replica does.

A request that gets no response, or 5xx, is a failure unless

- it is no HEAD, so that the proxy must not send it again, and the replica that had it was killed, or
- the store has failed a replica meanwhile.

Each request has a connection of its own. HAProxy ends a kept one of HTTP/1.1 without a response and without
an entry in its log if a server fails in a request that is not the first, for the client to try again.
"""

import collections
import contextlib
import dataclasses
import hashlib
import re
import secrets
import subprocess
import tempfile
import threading
import time

from support.cluster_load import Client, Cut, Http1, Refused, next_asked
from support.contents import form, form_type, noise
from support.environment import LAST_RESORT_S, tool
from support.resumable import DRAFT, DRAFT_TYPE, TUS, TUS_TYPE, tus_name

MEBIBYTE = 1024 * 1024
SIZES = [1, 20_000, 300_000, 3 * MEBIBYTE, 8 * MEBIBYTE + 1, 20 * MEBIBYTE]
WEIGHTS = [1, 4, 4, 3, 2, 2]
_NOISE = noise(SIZES[-1] + 65536)
_ONLY_NEW = ("If-None-Match", "*")
LEASE_S = 20
TRIES = 40
PIECE = 64 * 1024


class Left(Exception):
    """The client has left in the middle of its request."""


def content_of(name, variant=0):
    """What is uploaded by that name: its size is in the name."""
    size = int(name.rsplit("-", 1)[1])
    start = int.from_bytes(hashlib.sha256(f"{name}/{variant}".encode()).digest()[:2], "big")
    return memoryview(_NOISE)[start:start + size]


class Ledger:
    """Which uploads there are. Any thread may call it."""

    def __init__(self, counts):
        self._counts = counts
        self._lock = threading.Lock()
        self.prefix = secrets.token_hex(4)  # of names
        self.stored = collections.OrderedDict()  # name: variant, of those that were acknowledged
        self.open = {}  # name: variants that may be there, or not
        self.removed = set()  # that cluster_audit.py has verified and removed
        self.places = {}  # of resumable uploads that are stored: their lengths
        self.bytes = 0  # in self.stored

    def begin(self, name, variants=(0,)):
        with self._lock:
            self.open[name] = variants

    def won(self, name, variant=0):
        with self._lock:
            self.open.pop(name, None)
            if self.stored.setdefault(name, variant) != variant:
                self._counts.fail("names that two uploads got", name)
                return
            self.bytes += len(content_of(name))
        self._counts.add("uploads acknowledged")

    def take_oldest(self, bytes_max):
        """Returns the name and the variant of an upload that may be removed, since there are more bytes
        than that, or None."""
        with self._lock:
            if self.bytes <= bytes_max:
                return None
            name, variant = self.stored.popitem(last=False)
            self.bytes -= len(content_of(name))
            self.removed.add(name)
            return name, variant

    def put_back(self, name, variant):
        """Of one that take_oldest() has returned."""
        with self._lock:
            self.stored[name] = variant
            self.bytes += len(content_of(name))
            self.removed.discard(name)

    def an_open_one(self, chance):
        with self._lock:
            return chance.choice(list(self.open)) if self.open else None

    def remember_place(self, place, length):
        with self._lock:
            self.places[place] = length

    def forget_place(self, place):
        with self._lock:
            self.places.pop(place, None)


@dataclasses.dataclass
class Answer:
    status: int  # 0: none could be read
    fields: dict = dataclasses.field(default_factory=dict)
    interim: list = dataclasses.field(default_factory=list)
    body: bytes = b""


class CurlHttp2:
    """HTTP/2 over TLS by curl, which reads the response to a request whose body it can't send, as httpx
    does not. See Http1."""

    def __init__(self, cluster):
        self._origin = f"https://localhost:{cluster.secure_port}"
        self._command = [tool("curl"), "-sS", "--http2", "--noproxy", "*", "--cacert",
                         cluster.folder / "server.crt", "--max-time", str(LAST_RESORT_S)]
        self.asked = None
        self.interim = []

    @contextlib.contextmanager
    def ask(self, method, path, fields, body=None):
        self.asked = next_asked()
        # With -T, curl sends while it reads. Content-Length is among the fields.
        command = [*self._command, *(["-I"] if method == "HEAD" else ["-i", "-X", method]),
                   *(["-T", "-"] if body else [])]
        for name, value in (*fields, ("X-Test-Request", self.asked.tag)):
            command += ["-H", f"{name}: {value}"]
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as said, \
                subprocess.Popen([*command, self._origin + path], stdin=subprocess.PIPE,
                                 stdout=output, stderr=said) as process:
            try:
                with contextlib.suppress(BrokenPipeError):
                    for piece in body or ():
                        process.stdin.write(piece)
                with contextlib.suppress(BrokenPipeError):
                    process.stdin.close()
            except BaseException:
                process.kill()
                raise
            failed = process.wait() != 0
            output.seek(0)
            said.seek(0)
            yield self._answer(output.read(), failed, said.read().decode().strip())

    def _answer(self, text, failed, said):
        self.interim = []
        while True:
            head, _, text = text.partition(b"\r\n\r\n")
            lines = head.decode("latin-1").split("\r\n")
            status = re.match(r"HTTP/2 (\d{3})", lines[0])
            if not status:
                raise Refused(said)
            fields = {line.partition(": ")[0].lower(): line.partition(": ")[2]
                      for line in lines[1:]}
            if int(status[1]) >= 200:
                break
            self.interim.append(fields)
        if failed and int(status[1]) < 400:
            raise Cut(said)
        return int(status[1]), fields, [text]

    def reset(self):
        pass

    close = reset


class UploadingClient(Client):
    """Makes requests, and judges what fails."""

    def ask(self, method, path, *fields, content=b"", pace=0.0, leaves_after=None):
        """Returns the answer. `pace`: seconds between pieces. `leaves_after`: so many bytes."""
        self.counts.add(f"{method} requests of uploads")
        if method not in ("HEAD", "GET"):
            fields = (*fields, ("Content-Length", str(len(content))))
        body = self._pieces(content, pace, leaves_after) if content else None
        self.session.reset()
        try:
            with self.session.ask(method, path, fields, body) as (status, head, pieces):
                got = b"".join(pieces)
                answer = Answer(status, head, list(self.session.interim), got)
        except Left:
            self.session.reset()
            self.counts.add("requests of uploads that the client cut off")
            return Answer(0)
        except (Refused, Cut) as error:
            answer = Answer(0, interim=list(self.session.interim))
            return self._judge(method, path, answer, repr(error))
        return answer if status < 500 else self._judge(method, path, answer, answer.body[:200])

    def _pieces(self, content, pace, leaves_after):
        for first in range(0, len(content), PIECE):
            if leaves_after is not None and first >= leaves_after:
                raise Left
            yield bytes(content[first:first + PIECE])
            if pace:
                time.sleep(pace)

    def _judge(self, method, path, answer, detail):
        """Returns the answer, or what HAProxy has seen if the client could not read it: libraries do not
        read the response to a request whose body they could not send."""
        asked = self.session.asked
        entry, killed = self.chaos.judge(asked)
        if entry is not None and answer.status == 0 and entry.state == "----" and \
                entry.status // 100 == 4:
            self.counts.add("responses that only HAProxy could read")
            return Answer(entry.status)
        if method in ("HEAD", "GET"):  # a retry could have saved it, unless the response had begun
            killed = killed and entry is not None and answer.status == 0 and entry.status == 200
        if killed:
            self.counts.add(f"{method} requests of uploads that a kill ended" +
                            (", by HAProxy's silence" if entry is None else ""))
        elif self.chaos.store_failed(asked, entry):
            self.counts.add(f"{method} requests of uploads that the store failed")
        else:
            self.counts.fail("requests of uploads that failed",
                             f"{method} {path} {answer.status} after "
                             f"{time.monotonic() - asked.began:.1f} s: {detail}; {entry}")
        return answer

    def read(self, name):
        """Returns the content of an upload, or None: there is none now."""
        for _ in range(TRIES):
            answer = self.ask("GET", f"/files/{name}")
            if answer.status == 200:
                return answer.body
            if answer.status == 404:
                return None
        return None

    def read_stored(self, name):
        """The same of one that is stored. That there was none is remembered for a second or two."""
        until = time.monotonic() + LAST_RESORT_S
        while (content := self.read(name)) is None and time.monotonic() < until:
            time.sleep(0.2)
        return content


class Watcher(UploadingClient):
    """Looks at uploads that are not acknowledged."""

    def __init__(self, session, counts, chaos, seed, ledger):
        super().__init__(session, counts, chaos, seed)
        self._ledger = ledger

    def step(self):
        time.sleep(0.05)
        name = self._ledger.an_open_one(self.random)
        variants = self._ledger.open.get(name, ()) if name else ()
        content = self.read(name) if variants else None
        self.counts.add("looks at uploads that are not acknowledged")
        if content is not None and content not in [content_of(name, one) for one in variants]:
            self.counts.fail("uploads that are half there", f"{name}: {len(content)} bytes")


class Uploader(UploadingClient):
    """One upload after another. `cluster`: for a second client that uploads the same names."""

    def __init__(self, session, counts, chaos, seed, ledger, number, cluster):
        super().__init__(session, counts, chaos, seed)
        self._ledger = ledger
        self._number = number
        self._count = 0
        self._cluster = cluster
        self._ways = {"PUT": self._put, "tus": self._tus, "draft": self._draft,
                      "draft by PUT": self._draft_put}

    def step(self):
        kind = self.random.choice([self._one, self._one, self._one, self._form, self._race])
        kind()

    def new_name(self):
        self._count += 1
        size = self.random.choices(SIZES, WEIGHTS)[0]
        return f"{self._ledger.prefix}-{self._number}x{self._count}-{size}"

    def _one(self):
        way, name = self.random.choice(list(self._ways)), self.new_name()
        self._ledger.begin(name)
        if self.upload(way, name, 0) is False:
            self.counts.fail("names that somebody else has", name)

    def _race(self):
        """Another client uploads other content by the same name."""
        name = self.new_name()
        self._ledger.begin(name, (0, 1))
        rival = Uploader(Http1(self._cluster), self.counts, self.chaos, self.random.random(),
                         self._ledger, self._number, self._cluster)
        got = {}

        def upload(client, variant, way):
            got[variant] = client.upload(way, name, variant)

        ways = self.random.choices(["PUT", "PUT", "tus", "draft"], k=2)
        other = threading.Thread(target=upload, args=(rival, 1, ways[1]))
        other.start()
        upload(self, 0, ways[0])
        other.join()
        rival.session.close()
        outcome = sorted(map(str, got.values()))
        if outcome in (["False", "True"], ["None", "True"]):
            self.counts.add("races for a name that one has won")
        elif outcome != ["None", "None"]:
            self.counts.fail("races for a name without one winner", f"{name} {ways}: {got}")

    def upload(self, way, name, variant):
        """Returns true if it got the name, false if another upload has, None if it was given up."""
        won = self._ways[way](name, content_of(name, variant))
        if won:
            self._ledger.won(name, variant)
            self.counts.add(f"uploads by {way}")
            self.counts.add("bytes of uploads", len(content_of(name)))
            self._check_now_and_then(name, variant)
        elif won is None:
            self.counts.add("uploads that were given up")
        return won

    def _check_now_and_then(self, name, variant):
        if self.random.random() > 0.3:
            return
        content = self.read_stored(name)
        self.counts.add("uploads read at once")
        if content != content_of(name, variant):
            what = "absent" if content is None else f"{len(content)} bytes"
            self.counts.fail("acknowledged uploads that are not there", f"{name}: {what}")

    def _pace(self, content):
        """Some are slow, so that kills hit them. They take five seconds at most, as a replica that was told
        to end waits for ten."""
        return self.random.choice([0, 0, self.random.uniform(0, 5) / (len(content) // PIECE + 1)])

    def _leaves_after(self, content):
        return self.random.randrange(len(content)) if self.random.random() < 0.05 else None

    # --- one request ----------------------------------------------------------------------------

    def _put(self, name, content):
        for tries in range(TRIES):
            answer = self.ask("PUT", f"/files/{name}", _ONLY_NEW, content=content,
                              pace=self._pace(content))
            if answer.status == 201:
                return True
            if answer.status in (409, 412):
                return self._was_mine(name, content, tries > 0)
            if answer.status:
                self._expect_failure(answer, "PUT", name)
        return None

    def _was_mine(self, name, content, sent_before):
        """Of an upload that was refused since there is one of that name."""
        if not sent_before:
            return False
        mine = self.read_stored(name) == content
        if mine:
            self.counts.add("uploads stored by a request that had failed")
        return mine

    def _expect_failure(self, answer, method, path):
        if answer.status < 500:
            self.counts.fail("answers that nobody expects",
                             f"{method} {path}: {answer.status} {answer.body[:200]}")

    def _form(self):
        names = [self.new_name() for _ in range(self.random.choice([1, 2]))]
        for name in names:
            self._ledger.begin(name)
        body = form(*[(name, bytes(content_of(name))) for name in names])
        answer = self.ask("POST", "/files", form_type(), content=memoryview(body),
                          pace=self._pace(body))
        if answer.status != 201:
            self.counts.add("uploads that were given up", len(names))
            if answer.status:
                self._expect_failure(answer, "POST", names)
            return
        for name in names:
            self._ledger.won(name)
            self.counts.add("uploads by form")
            self.counts.add("bytes of uploads", len(content_of(name)))

    # --- tus ------------------------------------------------------------------------------------

    def _tus(self, name, content):
        answer = self.ask("POST", "/uploads", TUS, tus_name(name),
                          ("Upload-Length", str(len(content))))
        return self._begun(answer, name, content, _Tus)

    def _draft(self, name, content):
        answer = self.ask("POST", f"/uploads?name={name}", DRAFT, ("Upload-Complete", "?0"),
                          ("Upload-Length", str(len(content))))
        return self._begun(answer, name, content, _Draft)

    def _begun(self, answer, name, content, protocol):
        if answer.status == 201:
            return self._go_on(protocol(self, answer.fields["location"], content), 0)
        if answer.status == 409:
            return False
        if answer.status:
            self._expect_failure(answer, "POST", name)
        return None

    def _draft_put(self, name, content):
        """104 says where it goes on after a cut."""
        answer = self.ask("PUT", f"/files/{name}", DRAFT, ("Upload-Complete", "?1"),
                          content=content, pace=self._pace(content),
                          leaves_after=self._leaves_after(content))
        if answer.status == 201:
            return True
        if not answer.interim:
            if answer.status:
                self._expect_failure(answer, "PUT", name)
            return None
        self.counts.add("uploads that went on by 104")
        return self._go_on(_Draft(self, answer.interim[0]["location"], content), None)

    def _go_on(self, pending, offset):
        """Sends pieces, and asks for the offset after each failure, until the upload is stored (true), or
        another one has its name (false)."""
        content, progress, locked_since = pending.content, time.monotonic(), None
        while pending.tries < TRIES * 10:
            if offset is None:
                offset = self._offset_of(pending)
            if pending.ended is not None:
                self._finish(pending)
                return pending.ended
            if offset is None:
                time.sleep(0.3)
                continue
            end = min(len(content), offset + self.random.choice(
                [len(content), self.random.randrange(1, len(content) + 1)]))
            piece = content[offset:end]
            answer = pending.append(offset, end, self._pace(piece),
                                    self._leaves_after(piece) if piece else None)
            if answer.status in (201, 204):
                self.counts.took("longest pause of an upload", time.monotonic() - progress)
                progress, locked_since = time.monotonic(), None
                pending.acknowledged = offset = end
                if pending.ends(answer, end):
                    pending.ended = True
                continue
            offset = None
            if answer.status == 423:
                locked_since = self._wait_for_lease(pending, locked_since)
                continue
            locked_since = None  # it had the lease; if it was killed, another 20 s begin
            if answer.status == 409:
                pending.ended = False if pending.name_taken(answer) else None
            elif answer.status == 404:
                self._note_missing(pending)
            elif answer.status:
                self._expect_failure(answer, "PATCH", pending.place)
                time.sleep(0.3)
        self.counts.fail("uploads that did not end", f"{pending.place} {len(content)}")
        return None

    def _note_missing(self, pending):
        """MinIO says now and then that it has no such object as long as a node is away."""
        self.counts.add("answers 404 for an upload that is there")
        pending.missing += 1
        if pending.missing > 120:
            self.counts.fail("uploads that were lost", pending.place)
            raise AssertionError("an upload is lost")
        time.sleep(0.5)

    def _wait_for_lease(self, pending, since):
        self.counts.add("answers 423")
        since = since or time.monotonic()
        waited = time.monotonic() - since
        self.counts.took("longest wait for a lease", waited)
        if waited > LEASE_S + LAST_RESORT_S:
            self.counts.fail("leases that do not end", f"{pending.place}: {waited:.0f} s")
            raise AssertionError("a lease")
        time.sleep(0.5)
        return since

    def _offset_of(self, pending):
        """Returns the offset, or None: ask later."""
        pending.tries += 1
        answer = pending.head()
        if answer.status in (200, 204):
            offset = int(answer.fields["upload-offset"])
            if not pending.acknowledged <= offset <= len(pending.content):
                self.counts.fail("offsets below what was acknowledged", f"{pending.place}: "
                                 f"{offset}, not {pending.acknowledged}")
            return offset
        if answer.status == 409:
            pending.ended = False
        elif answer.status in (404, 410):
            self._note_missing(pending)
        elif answer.status == 423:
            self.counts.add("answers 423")
        elif answer.status:
            self._expect_failure(answer, "HEAD", pending.place)
        return None

    def _finish(self, pending):
        """Of an upload that is stored, what is known of it may be removed. One that did not get its name
        must be."""
        if pending.ended:
            self._ledger.remember_place(pending.place, len(pending.content))
            if self.random.random() < 0.3:
                return
        self._ledger.forget_place(pending.place)
        for _ in range(TRIES * 2):
            answer = self.ask("DELETE", pending.place, TUS)
            if answer.status in (204, 404):
                self.counts.add("resumable uploads that the client removed")
                return
            if answer.status == 423:
                time.sleep(0.5)
            elif answer.status:
                self._expect_failure(answer, "DELETE", pending.place)
        self.counts.fail("uploads that can't be removed", pending.place)


class _Pending:
    """A resumable upload. `ended`: true once it is stored, false if another one has its name."""

    def __init__(self, client, place, content):
        self.client = client
        self.place = place
        self.content = content
        self.acknowledged = 0
        self.ended = None
        self.tries = 0
        self.missing = 0  # answers 404


class _Tus(_Pending):
    def append(self, offset, end, pace, leaves_after):
        return self.client.ask("PATCH", self.place, TUS, TUS_TYPE, ("Upload-Offset", str(offset)),
                               content=self.content[offset:end], pace=pace,
                               leaves_after=leaves_after)

    def ends(self, answer, end):
        del answer
        return end == len(self.content)

    def name_taken(self, answer):
        """A response that only HAProxy could read has no fields: HEAD tells, too."""
        return bool(answer.fields) and "upload-offset" not in answer.fields

    def head(self):
        """The offset is at the end only of an upload that is stored."""
        answer = self.client.ask("HEAD", self.place, TUS)
        if answer.status == 200 and int(answer.fields["upload-offset"]) == len(self.content):
            self.ended = True
        return answer


class _Draft(_Pending):
    def append(self, offset, end, pace, leaves_after):
        complete = "?1" if end == len(self.content) else "?0"
        return self.client.ask("PATCH", self.place, DRAFT, DRAFT_TYPE,
                               ("Upload-Offset", str(offset)), ("Upload-Complete", complete),
                               content=self.content[offset:end], pace=pace,
                               leaves_after=leaves_after)

    def ends(self, answer, end):
        del end
        return answer.status == 201

    def name_taken(self, answer):
        return answer.fields.get("upload-complete") == "?1"

    def head(self):
        answer = self.client.ask("HEAD", self.place, DRAFT)
        if answer.status == 204 and answer.fields["upload-complete"] == "?1":
            self.ended = True
        return answer


