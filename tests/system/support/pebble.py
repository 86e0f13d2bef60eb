"""Pebble, Let's Encrypt's ACME server for tests, with a name server of its own: every name is
127.0.0.1. Both are built by Go 1.24 (scripts/setup); Debian 12 has an older one."""

import json
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import tempfile
import urllib.request

import pytest

from support.certificates import make_certificate
from support.configured import free_port
from support.environment import LAST_RESORT_S, TOOLS
from support.waiting import holds_within

_PATH = f"{TOOLS / 'bin'}{os.pathsep}{os.environ['PATH']}"
_PROGRAMS = {name: shutil.which(name, path=_PATH) for name in ("pebble", "pebble-challtestsrv")}

needs_pebble = pytest.mark.skipif(not all(_PROGRAMS.values()), reason="Pebble is not installed")


class Pebble:
    """with Pebble(tls_port, http_port) as pebble: ...

    The ports are those where it looks for tls-alpn-01 and http-01. `validity_s`: of certificates.
    `blocked`: names that it issues nothing for. Further arguments are environment variables.
    """

    def __init__(self, tls_port=1, http_port=1, validity_s=90 * 86400, blocked=(), **variables):
        self._folder = pathlib.Path(tempfile.mkdtemp(prefix="h2server-pebble-"))
        self._processes = []
        self._variables = {"PEBBLE_VA_NOSLEEP": "1", "PEBBLE_AUTHZREUSE": "0", **variables}
        self._port, self._management, self._dns = (free_port() for _ in range(3))
        self.url = f"https://localhost:{self._port}/dir"
        # It is its own authority; what Pebble issues is signed by another one, see `roots`.
        self.ca, self._key = make_certificate(self._folder, "pebble", "localhost")
        self._config = {
            "listenAddress": f"127.0.0.1:{self._port}",
            "managementListenAddress": f"127.0.0.1:{self._management}",
            "certificate": str(self.ca), "privateKey": str(self._key),
            "httpPort": http_port, "tlsPort": tls_port, "domainBlocklist": list(blocked),
            "retryAfter": {"authz": 1, "order": 1}, "keyAlgorithm": "ecdsa",
            "profiles": {"default": {"description": "usual", "validityPeriod": validity_s}}}

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self._folder)

    def _start(self):
        (self._folder / "config.json").write_text(json.dumps({"pebble": self._config}))
        self._run("pebble-challtestsrv", "-dnsserver", f"127.0.0.1:{self._dns}",
                  "-management", f"127.0.0.1:{free_port()}", "-defaultIPv4", "127.0.0.1",
                  "-defaultIPv6", "", "-http01", "", "-https01", "", "-tlsalpn01", "", "-doh", "")
        self._run("pebble", "-config", self._folder / "config.json",
                  "-dnsserver", f"127.0.0.1:{self._dns}")
        for port in (self._dns, self._port, self._management):
            assert holds_within(lambda: _accepts(port), LAST_RESORT_S), self.log
        roots = self._folder / "roots.pem"
        roots.write_bytes(self.manage("roots/0"))
        self.roots = str(roots)

    def _run(self, program, *arguments):
        with open(self._folder / program, "wb") as log:
            self._processes.append(subprocess.Popen(
                [_PROGRAMS[program], *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, env={**os.environ, **self._variables}))

    def stop(self):
        for process in self._processes:
            process.kill()
            process.wait()
        self._processes.clear()

    @property
    def folder_name(self):
        """That of what belongs to this authority in the state directory."""
        return f"localhost_{self._port}"

    @property
    def log(self):
        return (self._folder / "pebble").read_text()

    def orders(self):
        """Returns how many were placed."""
        return self.log.count("Added order")

    def manage(self, path, document=None):
        """Returns what the management listener answers."""
        body = None if document is None else json.dumps(document).encode()
        context = ssl.create_default_context(cafile=self.ca)
        url = f"https://localhost:{self._management}/{path}"
        with urllib.request.urlopen(url, body, LAST_RESORT_S, context=context) as response:
            return response.read()

    def suggest_renewal(self, certificate, start, end):
        """Sets the window in which a certificate, in PEM, should be renewed (RFC 9773)."""
        window = json.dumps({"suggestedWindow": {"start": start, "end": end}})
        self.manage("set-renewal-info/", {"certificate": certificate, "ariResponse": window})


def _accepts(port):
    with socket.socket() as trial:
        return trial.connect_ex(("127.0.0.1", port)) == 0
