"""HAProxy with TLS in front of a store."""

import dataclasses
import os
import shutil
import subprocess

import pytest

from support.authority import Authority
from support.configured import free_port
from support.environment import LAST_RESORT_S
from support.waiting import holds_within

_HAPROXY = shutil.which("haproxy", path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin")
needs_haproxy = pytest.mark.skipif(not _HAPROXY, reason="HAProxy is not installed")

_CONFIGURATION = """
global
  log stdout format raw local0
defaults
  mode http
  log global
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend front
  bind 127.0.0.1:{port} ssl crt {certificate} alpn {protocols}
  log-format "request %cp %HM %HP %HV %ts"
  default_backend store
backend store
  server store {store}
"""


@dataclasses.dataclass(frozen=True)
class Seen:
    client_port: int  # one for each connection
    method: str
    path: str
    version: str  # HTTP/1.1 or HTTP/2.0
    end: str      # "--" of a request that nobody broke off


class TlsFront:
    """with TlsFront(folder, "127.0.0.1:9000") as front: its `url`, and the certificate to trust."""

    def __init__(self, folder, store, protocols="h2,http/1.1"):
        authority = Authority(folder / "authority")
        certificate, key = authority.issue("store", "localhost")
        (folder / "store.pem").write_bytes(certificate.read_bytes() + key.read_bytes())
        self.certificate = str(authority.certificate)
        self._port = free_port()
        self.url = f"https://localhost:{self._port}"
        self._log = folder / "front.log"
        file = folder / "front.cfg"
        file.write_text(_CONFIGURATION.format(port=self._port, certificate=folder / "store.pem",
                                              protocols=protocols, store=store))
        self._command = [_HAPROXY, "-db", "-f", file]
        self._process = None

    def __enter__(self):
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=log,
                                             stderr=log)
        ready = ["curl", "-sf", "-o", "/dev/null", "--cacert", self.certificate, self.url]
        # Any status: a store refuses what is not signed.
        assert holds_within(lambda: subprocess.run(ready).returncode in (0, 22), LAST_RESORT_S), \
            self._log.read_text()
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()

    def seen(self):
        """Returns the requests that have ended."""
        words = [line.split() for line in self._log.read_text().splitlines()]
        return [Seen(int(one[1]), *one[2:]) for one in words if one[:1] == ["request"]]
