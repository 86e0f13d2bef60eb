"""Programs that fetch what they need from plain files: git and npm. Others: test_listing.py,
test_apt.py, test_media.py."""

import base64
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import tarfile

import pytest

from support.contents import noise
from support.environment import PATIENCE, tool
from support.protocols import PROTOCOLS, name_of
from support.waiting import wait_until

NPM_MANIFEST = {"name": "h2server-test", "version": "1.2.3", "main": "index.js"}


def run(*command, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False,
                          timeout=120 * PATIENCE, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def place_on(server, name):
    folder = server.root / name
    folder.mkdir()
    return folder


# --- git -----------------------------------------------------------------------------------------


class Git:
    """git without the settings of the machine and of its user."""

    def __init__(self, home):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        self._environment = dict(
            kept, HOME=str(home), GIT_CONFIG_NOSYSTEM="1", GIT_TERMINAL_PROMPT="0",
            GIT_AUTHOR_NAME="a", GIT_AUTHOR_EMAIL="a@b", GIT_COMMITTER_NAME="a",
            GIT_COMMITTER_EMAIL="a@b", GIT_TRACE_CURL="1")

    def __call__(self, folder, *arguments):
        return run(tool("git"), "-C", folder, *arguments, env=self._environment)

    def commit(self, folder, name, content):
        (folder / name).write_bytes(content)
        self(folder, "add", name)
        self(folder, "commit", "-q", "-m", f"add {name}")


@pytest.fixture
def git(tmp_path):
    if not shutil.which("git"):
        pytest.skip("no git here")
    return Git(tmp_path)


# Over cleartext, curl would ask to upgrade from HTTP/1.1 to HTTP/2, which no current server does.
@pytest.mark.parametrize("protocol", [PROTOCOLS[0], PROTOCOLS[1], PROTOCOLS[3]], ids=name_of)
def test_git(protocol, server_for, git, tmp_path):
    """Clones and fetches loose objects, and packs, by the protocol for servers without git."""
    server = server_for(protocol.tls)
    folder = place_on(server, protocol.name)
    published, packed = folder / "project.git", folder / "packed.git"
    work, copy = tmp_path / "work", tmp_path / "copy"
    git(tmp_path, "init", "-q", "--initial-branch", "main", work)
    git.commit(work, "small.txt", b"text")
    git.commit(work, "large.bin", noise(2_000_000))
    git(tmp_path, "init", "-q", "--bare", "--initial-branch", "main", published)
    git(work, "push", "-q", published, "main")  # so few objects are stored one by one
    git(published, "update-server-info")
    settings = ["-c", f"http.version=HTTP/{'2' if protocol.http2 else '1.1'}"]
    if protocol.tls:
        settings += ["-c", f"http.sslCAInfo={server.certificate}"]

    url = f"{server.url}{protocol.name}/"
    said = git(tmp_path, *settings, "clone", url + published.name, copy)
    assert ("HTTP/2 200" if protocol.http2 else "HTTP/1.1 200") in said
    assert (copy / "large.bin").read_bytes() == noise(2_000_000)
    assert len(re.findall(r"=> Send header: GET \S*/objects/[0-9a-f]{2}/", said)) >= 6, said

    git.commit(work, "later.txt", b"more text")
    git(work, "push", "-q", published, "main")
    git(published, "repack", "-q", "-a", "-d")
    git(published, "update-server-info")
    # The server may know the old list of references for a second.
    wait_until(lambda: git(copy, *settings, "pull", "-q") and (copy / "later.txt").exists(),
               "it has the new commit")

    shutil.copytree(published, packed)
    said = git(tmp_path, *settings, "clone", url + packed.name, tmp_path / "second")
    assert re.search(r"/objects/pack/pack-[0-9a-f]+\.pack", said), said
    git(tmp_path / "second", "fsck", "--strict")
    assert git(tmp_path / "second", "rev-parse", "HEAD") == git(work, "rev-parse", "HEAD")


# --- npm -----------------------------------------------------------------------------------------


def npm_package():
    """Returns the bytes of a package, as `npm pack` makes it."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, content in (("package.json", json.dumps(NPM_MANIFEST).encode()),
                              ("index.js", b"module.exports = 'from h2server';\n")):
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return made.getvalue()


@pytest.fixture
def npm(tmp_path):
    """npm(*arguments): in a project of its own, with settings and a cache of its own."""
    if not shutil.which("npm"):
        pytest.skip("no npm here")
    project = tmp_path / "project"
    project.mkdir()
    (project / "package.json").write_text("{}")

    def execute(*arguments):
        run(tool("npm"), *arguments, "--no-audit", "--no-fund", "--loglevel=http",
            "--fetch-retries=0", cwd=project, env=dict(
                os.environ, HOME=str(tmp_path), npm_config_cache=str(tmp_path / "cache"),
                npm_config_update_notifier="false", npm_config_userconfig=str(tmp_path / "npmrc")))
        return project / "node_modules/h2server-test"

    return execute


@pytest.mark.parametrize("tls", [False, True], ids=["cleartext", "tls"])
def test_npm_from_a_url(tls, server_for, npm):
    server = server_for(tls)
    folder = place_on(server, "packages")
    (folder / "h2server-test-1.2.3.tgz").write_bytes(npm_package())
    trust = [f"--cafile={server.certificate}"] if tls else []
    installed = npm("install", f"{server.url}packages/h2server-test-1.2.3.tgz", *trust)
    assert json.loads((installed / "package.json").read_text()) == NPM_MANIFEST


def test_npm_registry(server_for, npm):
    """A registry is the metadata of each package, in a file with its name, and archives."""
    server = server_for(False)
    registry = place_on(server, "registry")
    package = npm_package()
    (registry / "-").mkdir()
    (registry / "-/h2server-test-1.2.3.tgz").write_bytes(package)
    digest = base64.b64encode(hashlib.sha512(package).digest()).decode()
    (registry / "h2server-test").write_text(json.dumps({
        "name": "h2server-test", "dist-tags": {"latest": "1.2.3"},
        "versions": {"1.2.3": {**NPM_MANIFEST, "dist": {
            "tarball": f"{server.url}registry/-/h2server-test-1.2.3.tgz",
            "integrity": f"sha512-{digest}"}}}}))
    installed = npm("install", "h2server-test", f"--registry={server.url}registry/")
    assert (installed / "index.js").read_text() == "module.exports = 'from h2server';\n"
