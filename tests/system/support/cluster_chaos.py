"""What happens to a cluster while clients use it, and which failures that excuses.

HAProxy's log says which replica had a request, and how the store answered the replicas. So a failure is
excused only if

- that replica was killed while it had the request, or
- the store failed a replica meanwhile: it said 5xx, ended a connection before its response, or said
  nothing for so long that the replica gave up. With one node of MinIO away, it does so for what it has
  written while another one was; or it says 404 for that, although it lists it, and the replica 503. So
  503 is excused as long as a node of the store is away, and for some seconds more.

This remains: HAProxy logs nothing of a request that it drops for the client to try again (a connection
that ends without a response, over HTTP/2 REFUSED_STREAM). Of those it is not known who had them, so the
kill of any replica excuses them. And which failure of the store was that of which request is not known.
"""

import collections
import contextlib
import dataclasses
import random
import re
import signal
import threading
import time

from support.environment import LAST_RESORT_S
from support.waiting import holds_within

_HTTP = re.compile(r"^\S+ \[\S+\] \S+ \S+/(\S+) \S+ (-?\d+) \d+ - - (\S{4}) \S+ \S+ \{([^}]*)\} ")
_TCP = re.compile(r"^127\.0\.0\.1:(\d+) \[\S+\] tls \S+/(\S+) \S+ \d+ (\S\S) ")
_STORE = re.compile(r" store minio/\S+ \S+/(\d+) (-?\d+) \d+ - - (\S{4}) ")
_PATIENCE_OF_REPLICAS_MS = 9_000
_LOCK_S = 150  # MinIO keeps the locks of a killed node for a minute, and looks once a minute
_LINGER_S = 1  # of listening sockets: the kernel ends an io_uring after its process has ended
_SETTLED_S = 10  # after a node of MinIO is back
_ENTRIES_KEPT = 50_000  # a client asks soon after its request


@dataclasses.dataclass(frozen=True)
class Entry:
    """What HAProxy says of a request, or of a connection that it passed through."""

    server: str
    status: int  # 0: of a connection
    state: str   # HAProxy's "termination state", "----" or "--" if all went well
    seen: float  # by the monotonic clock

    def __str__(self):
        return f"{self.server} {self.status} {self.state}"


class ProxyLog:
    """Follows the log of HAProxy. Any thread may ask."""

    def __init__(self, file):
        self._file = file
        self._entries = collections.OrderedDict()
        self.store_failures = 0
        self.store_failed = 0.0  # the last time, by the monotonic clock
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._follow)

    def start(self):
        self._thread.start()

    def stop(self):
        self._stopping.set()
        self._thread.join()

    def find(self, asked):
        """Returns the entry of a request that has ended, or None if there is none in the end."""
        def known():
            entry = self._entries.get(asked.tag)  # a port may be that of an older connection, too
            return entry if entry is not None and entry.seen >= asked.began else None

        holds_within(lambda: known() is not None, LAST_RESORT_S)
        return known()

    def _follow(self):
        with open(self._file, errors="replace") as log:
            rest = ""
            while not self._stopping.wait(0.05):
                *lines, rest = (rest + log.read()).split("\n")
                for line in lines:
                    self._note(line)
                while len(self._entries) > _ENTRIES_KEPT:
                    self._entries.popitem(last=False)

    def _note(self, line):
        if found := _HTTP.match(line):
            server, status, state, tag = found.groups()
        elif found := _TCP.match(line):
            tag, server, state = found.groups()
            status = 0
        else:
            self._note_store(line)
            return
        self._entries.pop(tag, None)
        self._entries[tag] = Entry(server, int(status), state, time.monotonic())


    def _note_store(self, line):
        """Of a request of a replica, most of which are logged only if they failed."""
        found = _STORE.search(line)
        gave_up = found and found[3].startswith("C") and int(found[1]) > _PATIENCE_OF_REPLICAS_MS
        failed = found and not found[3].startswith("C") and (found[2] == "-1" or int(found[2]) >= 500)
        if gave_up or failed:
            self.store_failures += 1
            self.store_failed = time.monotonic()


@dataclasses.dataclass
class Kill:
    name: str
    began: float
    ended: float = float("inf")


class Chaos:
    """Ends and starts replicas, and one node of the store at a time, until stop().

    `signals`: how they end, SIGKILL, SIGTERM or either. SIGTERM alone excuses nothing.
    """

    def __init__(self, cluster, seed, counts, signals=(signal.SIGKILL, signal.SIGTERM)):
        self._cluster = cluster
        self._seed = seed
        self._counts = counts
        self._signals = signals
        self._kills = []  # of replicas, by SIGKILL
        self._node_killed = float("-inf")  # the last time, by SIGKILL
        self._nodes_back = float("-inf")  # the last time that all of them were there again
        self._stopping = threading.Event()
        self._threads = []
        self._log = ProxyLog(cluster.proxy.log_file)
        self.errors = []

    def start(self):
        self._log.start()
        works = [self._replicas]
        if self._cluster.nodes:
            works.append(self._nodes)
        for number, work in enumerate(works):
            chance = random.Random(self._seed + number)
            self._threads.append(threading.Thread(target=self._guard, args=(work, chance)))
            self._threads[-1].start()

    def stop(self):
        """Ends when all processes are back."""
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def close(self):
        """No client asks any more."""
        self._log.stop()
        self._counts.add("failures of the store towards replicas", self._log.store_failures)

    # --- excuses ------------------------------------------------------------------------------

    def judge(self, asked):
        """Of a request that has just failed: returns what HAProxy says of it, or None, and true if a kill
        excuses the failure."""
        now = time.monotonic()
        entry = self._log.find(asked)

        def excused():
            return any(kill.began <= now and kill.ended + _LINGER_S >= asked.began
                       and (entry is None or entry.server == kill.name) for kill in self._kills)

        # A drain that failed is noted when it has.
        return entry, holds_within(excused, LAST_RESORT_S)

    def store_failed(self, asked, entry):
        """Returns true if the store has failed any replica since the request was sent. HAProxy may not tell
        of a request whose replica gave up, so 504 is also taken for that while locks of a killed node may
        be left."""
        status = 0 if entry is None else entry.status
        return self._log.store_failed >= asked.began or \
            (status == 504 and self._store_may_be_locked()) or \
            (status == 503 and self._nodes_back + _SETTLED_S >= asked.began)

    def _store_may_be_locked(self):
        return time.monotonic() - self._node_killed < _LOCK_S

    # --- the processes ------------------------------------------------------------------------

    def _guard(self, work, *arguments):
        try:
            work(*arguments)
        except Exception as error:  # else the test would pass without chaos
            self.errors.append(repr(error))

    def _pause(self, seconds):
        """Returns true if it is to stop."""
        return self._stopping.wait(seconds)

    def _end(self, victim, number):
        """Returns the record of a kill."""
        kill = Kill(victim.name, time.monotonic())
        if number == signal.SIGKILL and victim in self._cluster.replicas:
            self._kills.append(kill)
        if number == signal.SIGKILL and victim in self._cluster.nodes:
            self._node_killed = kill.began
        victim.signal(number)
        what = signal.Signals(number).name
        print(time.strftime("%H:%M:%S"), victim.name, what)
        self._counts.add(f"{victim.name.rstrip('1234')} got {what}")
        return kill

    def _replicas(self, chance):
        while not self._pause(chance.uniform(0.5, 3)):
            victim = chance.choice(self._cluster.replicas)
            number = chance.choice(self._signals)
            pause = chance.uniform(0, 3)
            if not victim.running or victim.ending or not self._cluster.spared_by(victim):
                continue
            victim.ending = True
            kill = self._end(victim, number)
            self._threads.append(threading.Thread(
                target=self._guard, args=(self._start_again, victim, number, kill, pause)))
            self._threads[-1].start()

    def _start_again(self, replica, number, kill, pause):
        status = replica.wait()
        kill.ended = time.monotonic()
        if status == 1 and self._store_may_be_locked():  # requests did not end within the drain's time
            self._kills.append(kill)
            self._counts.add("drains that the store held up")
        else:
            expected = 0 if number == signal.SIGTERM else -number
            assert status == expected, f"{replica.name}: {status}"
        self._pause(pause)
        replica.start()
        # Before it catches signals, SIGTERM would kill it.
        assert holds_within(lambda: replica.ready, LAST_RESORT_S), replica.log[-2000:]
        replica.ending = False

    def _nodes(self, chance):
        """One at a time: two of four would leave no quorum to write."""
        nodes, proxy = self._cluster.nodes, self._cluster.proxy
        while not self._pause(chance.uniform(2, 6)):
            victim = chance.choice(nodes)
            self._nodes_back = float("inf")
            self._end(victim, chance.choice(self._signals))
            victim.wait()
            self._pause(chance.uniform(0, 4))
            victim.start()
            assert holds_within(lambda one=victim: one.ready, LAST_RESORT_S), victim.log[-2000:]
            assert holds_within(lambda: len(proxy.up("minio")) == len(nodes), LAST_RESORT_S), \
                "HAProxy misses a node of MinIO"
            assert holds_within(lambda: all(node.may_end for node in nodes), LAST_RESORT_S), \
                "a node of MinIO misses another one"
            self._nodes_back = time.monotonic()


@contextlib.contextmanager
def running(chaos, clients):
    """Chaos and clients run inside. Afterwards all have ended, and all processes are back."""
    started = []
    try:
        for one in (chaos, *clients):
            one.start()
            started.append(one)
        yield
    finally:
        for one in started:
            one.stop()
        chaos.close()
