"""Several servers that get one certificate by ACME and share it in a store (acme-store)."""

import contextlib

import pytest

from support.configured import free_port
from support.environment import LAST_RESORT_S
from support.line import Line
from support.pebble import Pebble, needs_pebble
from support.reloading import Reloading
from support.s3 import BUCKET, S3, credentials_given, needs_s3
from support.waiting import wait_until
from test_acme import FILES, PAST, SITES, certificate_of, is_issued, page

pytestmark = [needs_pebble, needs_s3]


@pytest.fixture
def s3():
    with S3() as running, credentials_given() as patch:
        patch.setenv("AWS_ENDPOINT_URL_S3", running.url)
        yield running


class Servers(contextlib.ExitStack):
    """Servers of one site, each with a state directory of its own. The authority comes to `lines`."""

    def __init__(self, tmp_path, monkeypatch, challenge):
        super().__init__()
        self.all = []
        self._tmp_path = tmp_path
        self._monkeypatch = monkeypatch
        self._challenge = challenge
        self.lines = [self.enter_context(Line(1)) for _ in range(2)]
        self.pebble = self.enter_context(Pebble(*(line.port for line in self.lines)))

    def make(self):
        """Returns a server that is not started, and its port with TLS."""
        number = len(self.all)
        ports = free_port(), free_port()
        text = (f'acme-store = "s3://{BUCKET}/certificates"\n' +
                SITES.format(pebble=self.pebble, tls=ports[0], plain=ports[1],
                             challenge=self._challenge, more=""))
        self._monkeypatch.setenv("XDG_STATE_HOME", str(self._tmp_path / str(number)))
        server = Reloading(text, FILES)
        self.all.append((server, ports))
        return server, ports[0]

    def start(self):
        server, port = self.make()
        self.enter_context(server)
        return server, port

    def lead_the_authority_to(self, number):
        for line, port in zip(self.lines, self.all[number][1]):
            line.target = port

    def who_orders(self):
        """Returns the number of the server that talks to the authority, or None."""
        for number, (server, _) in enumerate(self.all):
            if "registered at" in server.stderr:
                return number
        return None


@pytest.mark.parametrize("challenge", ["tls-alpn-01", "http-01"])
def test_one_certificate_for_all(s3, tmp_path, monkeypatch, challenge):
    """The authority comes to the server that has not asked for it."""
    with Servers(tmp_path, monkeypatch, challenge) as servers:
        pebble = servers.pebble
        for _ in range(2):
            servers.start()
        wait_until(lambda: servers.who_orders() is not None, "one of them orders")
        servers.lead_the_authority_to(1 - servers.who_orders())
        for server, (port, _) in servers.all:
            wait_until(lambda: is_issued(pebble, port, "a.test"), "it has a certificate",
                       2 * LAST_RESORT_S)
            assert page(pebble, port) == b"page of a"
            server.wait_for_message("certificate")
        first = certificate_of(servers.all[0][1][0], "a.test")
        assert certificate_of(servers.all[1][1][0], "a.test") == first
        assert pebble.orders() == 1

        _, port = servers.start()
        assert certificate_of(port, "a.test") == first, "from its first connection on"

        pebble.suggest_renewal(first, *PAST)
        for server, _ in servers.all:
            server.reload()  # asks the authority anew
        for _, (port, _) in servers.all:
            wait_until(lambda: certificate_of(port, "a.test") != first, "it is renewed",
                       3 * LAST_RESORT_S)
        assert len({certificate_of(port, "a.test") for _, (port, _) in servers.all}) == 1
        # An order that the reload has ended is begun again.
        assert sum(server.stderr.count("has a new certificate") for server, _ in servers.all) == 2
        keys = {key.rsplit("/", 1)[1] for key in s3.keys("certificates/")}
        assert {"account.key", "a.test.pem"} <= keys <= {"account.key", "a.test.pem", "lease"}


def test_without_the_store(s3, tmp_path, monkeypatch):
    with Servers(tmp_path, monkeypatch, "tls-alpn-01") as servers:
        server, port = servers.start()
        servers.lead_the_authority_to(0)
        wait_until(lambda: is_issued(servers.pebble, port, "a.test"), "it has a certificate",
                   2 * LAST_RESORT_S)
        s3.kill()
        server.wait_for_message("no certificates are shared for now: acme-store: ")
        server.reload()
        assert is_issued(servers.pebble, port, "a.test"), "it goes on with what it has"
        server.wait_for_message("starts with the certificate that is here")
        fresh, _ = servers.make()
        with pytest.raises(AssertionError, match="acme: acme-store: "):
            with fresh:
                pass
        s3.start()
        server.wait_for_message("acme-store works again")
        assert servers.pebble.orders() == 1
