"""Certificates by ACME, from Pebble: the first one, renewals, failures, and what is kept."""

import os
import signal
import ssl
import threading
import time

import pytest

from support import named
from support.configured import free_port
from support.environment import LAST_RESORT_S
from support.pebble import Pebble, needs_pebble
from support.reloading import Reloading
from support.waiting import wait_until

pytestmark = needs_pebble

SITES = """
acme-directory = "{pebble.url}"
acme-ca = "{pebble.ca}"
acme-email = "operator@a.test"
acme-challenge = "{challenge}"

[[listener]]
host = "127.0.0.1"
port = {tls}
[[listener]]
host = "127.0.0.1"
port = {plain}
redirect = true

[[site]]
host = ["a.test", "www.a.test"]
root = "a"
acme = true
{more}
"""
FILES = {"a/page": "page of a", "b/page": "page of b"}
SECOND = '[[site]]\nhost = "b.test"\nroot = "b"\nacme = true\n'
PAST = ("2020-01-01T00:00:00Z", "2020-01-02T00:00:00Z")


@pytest.fixture
def state(tmp_path, monkeypatch):
    """The state directory."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "h2server"


@pytest.fixture
def ports(state):
    """Those of the listeners, with TLS and without."""
    return free_port(), free_port()


def serving(pebble, ports, challenge="tls-alpn-01", more=""):
    text = SITES.format(pebble=pebble, tls=ports[0], plain=ports[1], challenge=challenge, more=more)
    return Reloading(text, FILES)


def certificate_of(port, name):
    """Returns what is served for a name, in PEM."""
    with named.encrypt(named.plain(port), name, None) as connection:
        return ssl.DER_cert_to_PEM_cert(connection.getpeercert(binary_form=True))


def is_issued(pebble, port, name):
    """Returns true if clients that trust Pebble get on."""
    try:
        with named.encrypt(named.plain(port), name, pebble.roots):
            return True
    except (ssl.SSLCertVerificationError, ConnectionRefusedError):
        return False


def wait_for_certificate(pebble, port, *names):
    for name in names:
        wait_until(lambda: is_issued(pebble, port, name), f"{name} has a certificate")


def wait_for_other(port, certificate):
    wait_until(lambda: certificate_of(port, "a.test") != certificate, "it is renewed",
               2 * LAST_RESORT_S)


def page(pebble, port, name="a.test"):
    with named.Client(named.encrypt(named.plain(port), name, pebble.roots)) as client:
        return client.fetch(name, "/page").body


@pytest.mark.parametrize("challenge", ["tls-alpn-01", "http-01"])
def test_the_first_certificate(ports, state, challenge):
    with Pebble(*ports) as pebble:
        begun = time.monotonic()
        with serving(pebble, ports, challenge) as server:
            wait_for_certificate(pebble, ports[0], "a.test", "www.a.test")
            print(f"{challenge}: served after {time.monotonic() - begun:.2f} s")
            assert page(pebble, ports[0]) == b"page of a"
            assert page(pebble, ports[0], "www.a.test") == b"page of a"
            assert pebble.orders() == 1
            server.wait_for_message("registered at")
    folder = state / "acme" / pebble.folder_name
    assert sorted(os.listdir(folder)) == ["a.test.crt", "a.test.key", "account.key"]
    assert {(folder / name).stat().st_mode & 0o7777 for name in os.listdir(folder)} == {0o600}
    assert folder.stat().st_mode & 0o7777 == 0o700


def test_refused_nonces(ports):
    """A fifth of them, as the network's proxies and many servers of one authority lead to."""
    with Pebble(*ports, PEBBLE_WFE_NONCEREJECT="20") as pebble:
        with serving(pebble, ports, more=SECOND):
            wait_for_certificate(pebble, ports[0], "a.test", "b.test")


def test_a_new_start_takes_what_is_there(ports):
    with Pebble(*ports) as pebble:
        with serving(pebble, ports):
            wait_for_certificate(pebble, ports[0], "a.test")
            first = certificate_of(ports[0], "a.test")
        with serving(pebble, ports) as server:
            assert certificate_of(ports[0], "a.test") == first
            server.reload()
            assert certificate_of(ports[0], "a.test") == first
        assert pebble.orders() == 1


def test_files_that_cannot_be_read(ports, state):
    """The server does not start, and nothing is lost."""
    with Pebble(*ports) as pebble:
        with serving(pebble, ports):
            wait_for_certificate(pebble, ports[0], "a.test")
            first = certificate_of(ports[0], "a.test")
        key = state / "acme" / pebble.folder_name / "a.test.key"
        kept = key.rename(key.with_name("kept"))
        key.symlink_to(key.name)  # ELOOP, for root, too
        with pytest.raises(AssertionError, match=r"can't read .*/a\.test\.key"):
            with serving(pebble, ports):
                pass
        kept.replace(key)
        with serving(pebble, ports):
            assert certificate_of(ports[0], "a.test") == first
        assert pebble.orders() == 1


def test_damaged_files(ports, state):
    """They are set aside, and another certificate is ordered."""
    with Pebble(*ports) as pebble:
        with serving(pebble, ports):
            wait_for_certificate(pebble, ports[0], "a.test")
        folder = state / "acme" / pebble.folder_name
        key = (folder / "a.test.key").read_bytes()
        (folder / "a.test.crt").write_text("damaged")
        with serving(pebble, ports) as server:
            wait_for_certificate(pebble, ports[0], "a.test")
            server.wait_for_message("a.test.crt is damaged")
        assert (folder / "a.test.crt.damaged").read_text() == "damaged"
        assert (folder / "a.test.key.damaged").read_bytes() == key


def test_a_host_that_is_added(ports):
    with Pebble(*ports) as pebble:
        with serving(pebble, ports) as server:
            wait_for_certificate(pebble, ports[0], "a.test")
            text = (server.folder / "site.toml").read_text()
            server.write("site.toml", text.replace('"www.a.test"', '"www.a.test", "new.a.test"'))
            server.reload()
            wait_for_certificate(pebble, ports[0], "a.test", "new.a.test")
        assert pebble.orders() == 2


def test_the_account_is_kept(ports):
    with Pebble(*ports) as pebble:
        with serving(pebble, ports):
            wait_for_certificate(pebble, ports[0], "a.test")
        with serving(pebble, ports, more=SECOND):
            wait_for_certificate(pebble, ports[0], "a.test", "b.test")
        assert "There are now 1 accounts" in pebble.log
        assert "There are now 2 accounts" not in pebble.log


def test_another_process_of_the_authority(ports, state):
    """It knows neither the account nor the certificate."""
    with Pebble(*ports) as pebble:
        with serving(pebble, ports):
            wait_for_certificate(pebble, ports[0], "a.test")
        account = next(state.glob("acme/*/account.key"))
        key = account.read_bytes()
    with Pebble(*ports) as pebble:
        other = state / "acme" / pebble.folder_name
        account.parent.rename(other)
        with serving(pebble, ports, more=SECOND):
            wait_for_certificate(pebble, ports[0], "b.test")
        assert (other / "account.key").read_bytes() == key


def test_renewal_when_the_authority_asks(ports):
    """RFC 9773."""
    with Pebble(*ports) as pebble, serving(pebble, ports) as server:
        wait_for_certificate(pebble, ports[0], "a.test")
        first = certificate_of(ports[0], "a.test")
        pebble.suggest_renewal(first, *PAST)
        server.reload()  # asks at once
        wait_for_other(ports[0], first)
        wait_for_certificate(pebble, ports[0], "a.test")
        assert "is a replacement of" in pebble.log
        server.reload()
        assert pebble.orders() == 2


class Visitor:
    """Fetches a page over one connection until the block is left."""

    def __init__(self, pebble, port):
        self._client = named.Client(named.encrypt(named.plain(port), "a.test", pebble.roots))
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.visits = 0
        self.failure = None

    def _run(self):
        try:
            while not self._over.is_set():
                answer = self._client.fetch("a.test", "/page")
                assert (answer.status, answer.body) == (200, b"page of a")
                self.visits += 1
                self._over.wait(0.01)
        except Exception as error:  # noqa: BLE001, whatever it is, the block fails
            self.failure = error

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, kind, *_):
        self._over.set()
        self._thread.join()
        self._client.close()
        if kind is None and self.failure is not None:
            raise self.failure


def test_renewal_drops_no_connection(ports):
    """Certificates that are valid for 40 s are renewed after 4 to 36 s."""
    with Pebble(*ports, validity_s=40) as pebble, serving(pebble, ports) as server:
        wait_for_certificate(pebble, ports[0], "a.test")
        before = certificate_of(ports[0], "a.test")
        with Visitor(pebble, ports[0]) as visitor:
            wait_for_other(ports[0], before)
            assert page(pebble, ports[0]) == b"page of a"
        assert visitor.visits > 0
        assert "error" not in server.stderr


def test_a_failed_order_loses_nothing(ports):
    """The authority refuses one site. The other one gets its certificate, and the first is served
    with a temporary one."""
    with (Pebble(*ports, blocked=["a.test"]) as pebble,
          serving(pebble, ports, more=SECOND) as server):
        wait_for_certificate(pebble, ports[0], "b.test")
        server.wait_for_message("no certificate for a.test, ")
        server.wait_for_message("next try")
        assert not is_issued(pebble, ports[0], "a.test")
        with named.Client(named.encrypt(named.plain(ports[0]), "a.test", None)) as client:
            assert client.fetch("a.test", "/page").body == b"page of a"


def test_no_authority(ports):
    """It is served; the log has the reason."""
    pebble = Pebble(*ports)
    with pebble:
        pass
    with serving(pebble, ports) as server:
        wait_until(lambda: "no certificate for" in server.stderr, "it says so")
        assert certificate_of(ports[0], "a.test")


def test_an_untrusted_authority(ports):
    with Pebble(*ports) as pebble:
        pebble.ca = pebble.roots  # who signs what it issues, not its own certificate
        with serving(pebble, ports) as server:
            wait_until(lambda: "no certificate for" in server.stderr, "it says so")
        assert pebble.orders() == 0


def test_the_end_waits_for_no_order(ports):
    """Pebble takes days to look at challenges."""
    with Pebble(*ports, PEBBLE_VA_NOSLEEP="0", PEBBLE_VA_SLEEPTIME="1000000") as pebble:
        with serving(pebble, ports) as server:
            wait_until(lambda: "POST /chalZ/" in pebble.log, "the order is in flight")
            server.signal(signal.SIGTERM)
            assert server.ends()


def test_challenges_are_answered_to_nobody_else(ports):
    """acme-tls/1 has no certificate without an order, and other tokens are the site's files."""
    with Pebble(*ports) as pebble, serving(pebble, ports, "http-01") as server:
        wait_for_certificate(pebble, ports[0], "a.test")
        with pytest.raises((ssl.SSLError, ConnectionError)):
            named.encrypt(named.plain(ports[0]), "a.test", None, alpn=("acme-tls/1",))
        answer = named.fetch(ports[1], "a.test", "/.well-known/acme-challenge/unknown")
        assert answer.status == 308
        assert server.running
