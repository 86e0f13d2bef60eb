"""Looks at what uploads have left in the store of a cluster: through a replica, and by the store's own
protocol."""

import concurrent.futures
import re
import subprocess
import time

from support.cluster_load import Http1
from support.cluster_uploads import TRIES, UploadingClient, content_of
from support.environment import PATIENCE
from support.resumable import TUS
from support.waiting import holds_within

FILES = "files/"
STATE = "files/.h2server/"
LOOKS_PER_SWEEP = 100  # StoreUploadSweep::looks_max


def stored_content(store, name, prefix=FILES):
    """Returns what the store itself has, or None: nothing."""
    for tries in range(TRIES):  # a node may end meanwhile
        try:
            return store.get(prefix + name)
        except subprocess.CalledProcessError as error:
            if b"404" in error.stderr:
                return None
            if tries == TRIES - 1:
                raise
            time.sleep(0.5)


class Auditor(UploadingClient):
    """Verifies the oldest acknowledged uploads and removes them from the store, which may have only so
    many bytes."""

    def __init__(self, session, counts, chaos, seed, ledger, store, bytes_max):
        super().__init__(session, counts, chaos, seed)
        self._ledger = ledger
        self._store = store
        self._bytes_max = bytes_max

    def step(self):
        found = self._ledger.take_oldest(self._bytes_max)
        if found is None:
            time.sleep(0.1)
            return
        if not self.verify(*found, absent_now=True):
            self._ledger.put_back(*found)
            return
        for _ in range(TRIES):
            try:
                self._store.remove(FILES + found[0])
                return
            except subprocess.CalledProcessError:
                time.sleep(0.5)
        self.counts.fail("files that the store does not remove", found[0])

    def verify(self, name, variant, absent_now=False):
        """Of an acknowledged upload. Returns true if it is there. `absent_now`: that it is not there is no
        failure yet, since MinIO does not find everything while a node is away."""
        ways = {"through a replica": self.read_stored(name),
                "in the store": stored_content(self._store, name)}
        if absent_now and None in ways.values():
            self.counts.add("acknowledged uploads that the store did not find for a while")
            return False
        for way, content in ways.items():
            if content != content_of(name, variant):
                what = "absent" if content is None else f"{len(content)} bytes"
                self.counts.fail("acknowledged uploads that are not there", f"{name} {way}: {what}")
        self.counts.add("acknowledged uploads verified through a replica and in the store")
        return True

    def verify_open(self, name, variants):
        """Of one that was not acknowledged."""
        content = stored_content(self._store, name)
        known = content is None or content in [content_of(name, one) for one in variants]
        if not known:
            self.counts.fail("uploads that are half there", f"{name}: {len(content)} bytes")
        self.counts.add("uploads that are there without an acknowledgement", content is not None)

    def verify_place(self, place, length, expires):
        """Of a resumable upload that is stored. `expires`: when it may be forgotten, on the monotonic
        clock; a busy machine may come too late."""
        answer = self.ask("HEAD", place, TUS)
        knows = answer.status == 200 and answer.fields["upload-offset"] == str(length)
        if not knows and answer.status in (404, 410) and time.monotonic() >= expires:
            self.counts.add("stored resumable uploads that were asked for too late")
            return
        if not knows:
            self.counts.fail("stored uploads that are not known any more", f"{place}: {answer}")
        self.counts.add("stored resumable uploads that still say so")


def check_everything(cluster, chaos, counts, ledger, expires):
    """Of a cluster whose clients have ended and whose processes are back. `expires`: see
    Auditor.verify_place()."""

    def work(method, items):
        def one(arguments):
            session = Http1(cluster)
            try:
                auditor = Auditor(session, counts, chaos, 0, ledger, cluster.store, 0)
                getattr(auditor, method)(*arguments)
            finally:
                session.close()

        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            list(pool.map(one, items))

    keys = [key.removeprefix(FILES) for key in cluster.store.keys(FILES)
            if key.startswith(FILES + ledger.prefix)]
    for name in set(keys) - set(ledger.stored) - set(ledger.open):
        if name in ledger.removed:  # a node has missed its end
            counts.add("files that are listed after their removal")
        else:
            counts.fail("files that nobody has uploaded", name)
    work("verify_place", [(*one, expires) for one in list(ledger.places.items())[-50:]])
    work("verify", list(ledger.stored.items()))
    work("verify_open", list(ledger.open.items()))
    known = Leftovers(cluster.store).known_parts()
    unknown = 0
    for name in [*ledger.stored, *ledger.open, *ledger.removed]:
        if len(content_of(name)) < 8 << 20:
            continue
        for upload in cluster.store.parts_begun(FILES + name):
            if upload in known:
                counts.add("multipart uploads left to a sweep")
            elif cluster.store.has_parts(FILES + name, upload):
                counts.fail("multipart uploads that nobody would remove", f"{name} {upload}")
            else:  # its server was killed before it could note it
                unknown += 1
    counts.add("multipart uploads without parts that are not noted", unknown)


class Leftovers:
    """What the server keeps of uploads in the store."""

    def __init__(self, store):
        self._store = store
        self.keys = [key.removeprefix(STATE) for key in store.keys(STATE)]

    def __str__(self):
        kinds = [re.sub(r"^(parts)/.*|^uploads/\w+/([a-z]+).*", lambda found: found[1] or found[2],
                        key) for key in self.keys]
        return ", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds)))

    def odd(self):
        """Returns the keys that the manual does not know."""
        return [key for key in self.keys if not re.fullmatch(
            r"sweep|sweep-uploads|parts/[0-9a-f]{32}|uploads/[0-9a-f]{32}/(state|lock|tail-\d{5})",
            key)]

    def of_unfinished(self):
        """Returns the keys that a sweep must remove: all but those of stored uploads."""
        return [key for key in self.keys if not key.endswith("/state")
                and not key.startswith("sweep")]

    def known_parts(self):
        """Returns the ids of the multipart uploads that a sweep would find."""
        found = set()
        for key in self.keys:
            text = ""
            if key.startswith("parts/"):
                text = self._store.get(STATE + key).decode()
                text = text.partition("\n")[0]
            elif key.endswith("/state"):
                text = self._store.get(STATE + key).decode()
                text = re.search(r"^parts-id: (.*)$", text, re.M)[1]
            if text:
                found.add(text.partition(".")[2])  # behind the server's own mark
        return found


def check_leftovers(cluster, counts, expiry_s):
    """Waits until sweeps have removed what is left, if that is to happen soon (`expiry_s`)."""
    left = Leftovers(cluster.store)
    print("left below", STATE, left)
    for key in left.odd():
        counts.fail("objects that the manual does not know", key)
    if expiry_s is None:
        return
    looks = sum(key.endswith("/state") for key in left.keys) // LOOKS_PER_SWEEP + 1

    def swept():
        time.sleep(1)
        return not Leftovers(cluster.store).of_unfinished()

    began = time.monotonic()
    if not holds_within(swept, (expiry_s + 60 * looks + 180) * PATIENCE):
        # What a node has missed is listed after its removal.
        for key in Leftovers(cluster.store).of_unfinished():
            if stored_content(cluster.store, key, STATE) is None:
                counts.add("objects of uploads that are listed after their removal")
            else:
                counts.fail("what no sweep has removed", key)
    counts.took("sweeps of what was left took", time.monotonic() - began)
    print("left after sweeps:", Leftovers(cluster.store))
