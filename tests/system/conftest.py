"""Fixtures: servers shared by a module's tests, with a private folder per test in their root."""

import contextlib
import os
import pwd
import resource

import pytest

from support.protocols import PROTOCOLS, name_of
from support.server import Server
from support.site import Site

_DESCRIPTORS = 65_536


def pytest_configure():
    allow_descriptors()
    forget_proxies()


def forget_proxies():
    """The servers are on this machine, where a proxy would not find them."""
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        del os.environ[name]
    os.environ["no_proxy"] = "*"


def allow_descriptors():
    """Some tests hold thousands of connections; a login usually allows 1024 descriptors."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _DESCRIPTORS)
    if soft != resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, enough), hard))


@pytest.fixture(autouse=True)
def folder_of_its_own(tmp_path, monkeypatch):
    """Programs that a test starts do not run in the clone, where the owner has files of his own."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def server_for():
    """server_for(tls): returns the module's server with or without TLS."""
    servers = {}
    with contextlib.ExitStack() as stack:

        def get(tls):
            if tls not in servers:
                servers[tls] = stack.enter_context(Server(tls=tls))
            return servers[tls]

        yield get


@pytest.fixture(params=PROTOCOLS, ids=name_of)
def site(request, server_for):
    """A Site over each of the four protocols."""
    return Site(server_for(request.param.tls), request.param)


@pytest.fixture(params=PROTOCOLS[:2], ids=name_of)
def site_h1(request, server_for):
    """A Site over HTTP/1.1, with and without TLS."""
    return Site(server_for(request.param.tls), request.param)


@pytest.fixture(params=PROTOCOLS[2:], ids=name_of)
def site_h2(request, server_for):
    """A Site over HTTP/2, with and without TLS."""
    return Site(server_for(request.param.tls), request.param)


@pytest.fixture
def plain_user():
    """The uid of an unprivileged user to run the server as; None if the tests run as one."""
    return pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else None
