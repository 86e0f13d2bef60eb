"""Debian's apt as a client of both forms of repositories. In a flat one it requests paths such as
"./Packages", in one with suites compressed indices and their names by hash."""

import gzip
import hashlib
import lzma
import os
import shutil
import subprocess

import pytest

from support.environment import LAST_RESORT_S

# apt reads and writes only below {base}. It does not touch the machine's own state.
CONFIGURATION = """\
Dir "{base}";
Dir::Etc "{base}/etc";
Dir::Etc::parts "/dev/null";
Dir::Etc::main "/dev/null";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::sourcelist "{base}/etc/sources.list";
Dir::Etc::trustedparts "/dev/null";
Dir::State "{base}/state";
Dir::State::status "{base}/state/status";
Dir::Cache "{base}/cache";
Dir::Log "{base}/log";
APT::Architecture "amd64";
APT::Sandbox::User "";
Acquire::Languages "none";
Acquire::http::Proxy "DIRECT";
Acquire::Retries "0";
"""

CONTROL = """\
Package: h2server-test
Version: 1.0
Architecture: all
Maintainer: nobody <nobody@example.org>
Description: nothing at all
"""


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          timeout=LAST_RESORT_S, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def make_package(folder, scratch):
    control = scratch / "package/DEBIAN/control"
    control.parent.mkdir(parents=True)
    control.write_text(CONTROL)
    package = folder / "h2server-test_1.0_all.deb"
    run("dpkg-deb", "--build", "--root-owner-group", str(control.parents[1]), str(package))
    return package


def entry(package, path):
    """Returns the entry of a Packages index for a package at that path."""
    content = package.read_bytes()
    return (f"{CONTROL}Filename: {path}\nSize: {len(content)}\n"
            f"SHA256: {sha256(content)}\n\n").encode()


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def make_flat_repository(folder, scratch):
    """Creates a package, its Packages index and a Release file in one folder."""
    package = make_package(folder, scratch)
    index = entry(package, f"./{package.name}")
    (folder / "Packages").write_bytes(index)
    (folder / "Release").write_text(
        f"Date: Sun, 06 Nov 1994 08:49:37 UTC\nSHA256:\n {sha256(index)} {len(index)} Packages\n")
    return package


def make_repository(folder, scratch):
    """Creates a pool with a package, and the suite "test" with its compressed indices, each of
    which has a second name by its hash."""
    pool = folder / "pool/main/h"
    pool.mkdir(parents=True)
    package = make_package(pool, scratch)
    plain = entry(package, f"pool/main/h/{package.name}")
    indices = folder / "dists/test/main/binary-amd64"
    (indices / "by-hash/SHA256").mkdir(parents=True)
    release = ("Suite: test\nCodename: test\nArchitectures: amd64\nComponents: main\n"
               "Date: Sun, 06 Nov 1994 08:49:37 UTC\nAcquire-By-Hash: yes\nSHA256:\n")
    for name, content in (("Packages", plain), ("Packages.gz", gzip.compress(plain)),
                          ("Packages.xz", lzma.compress(plain))):
        if name != "Packages":
            (indices / name).write_bytes(content)
            (indices / "by-hash/SHA256" / sha256(content)).write_bytes(content)
        release += f" {sha256(content)} {len(content)} main/binary-amd64/{name}\n"
    (folder / "dists/test/Release").write_text(release)
    return package


@pytest.fixture
def apt(tmp_path):
    """apt(sources, *arguments): runs apt-get with its own configuration and state."""
    for program in ("apt-get", "dpkg-deb"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed: this is no Debian")
    base = tmp_path / "apt"
    for folder in ("etc", "state/lists/partial", "cache/archives/partial", "log"):
        (base / folder).mkdir(parents=True)
    (base / "state/status").touch()
    (base / "apt.conf").write_text(CONFIGURATION.format(base=base))

    def execute(sources, *arguments):
        (base / "etc/sources.list").write_text(sources)
        return run("apt-get", *arguments, cwd=tmp_path,
                   env={**os.environ, "APT_CONFIG": str(base / "apt.conf"), "LC_ALL": "C"})

    return execute


def check_download(apt, sources, index, package, folder):
    """`index` is what apt calls the list of packages."""
    said = apt(sources, "update")
    assert "Err:" not in said and "W:" not in said, said
    assert index in said
    apt(sources, "download", "h2server-test")
    assert (folder / package.name).read_bytes() == package.read_bytes()
    again = apt(sources, "update")  # by If-Modified-Since
    assert "Hit:" in again and "Err:" not in again, again


def test_flat_repository(server_for, apt, tmp_path):
    server = server_for(tls=False)
    folder = server.root / "repo"
    folder.mkdir()
    package = make_flat_repository(folder, tmp_path)
    sources = f"deb [trusted=yes] http://127.0.0.1:{server.port}/repo ./\n"
    check_download(apt, sources, f"http://127.0.0.1:{server.port}/repo ./ Packages", package,
                   tmp_path)


def test_repository_with_suites(server_for, apt, tmp_path):
    server = server_for(tls=False)
    folder = server.root / "debian"
    folder.mkdir()
    package = make_repository(folder, tmp_path)
    base = f"http://127.0.0.1:{server.port}/debian"
    sources = f"deb [trusted=yes] {base} test main\n"
    check_download(apt, sources, f"{base} test/main amd64 Packages", package, tmp_path)
    (tmp_path / package.name).unlink()  # apt says nothing of what it has
    assert apt(sources, "--print-uris", "-qq", "download", "h2server-test").startswith(
        f"'{base}/pool/main/h/{package.name}'")


def test_resumed_download(server_for, apt, tmp_path):
    """apt asks for the rest of what it has (Range and If-Range)."""
    server = server_for(tls=False)
    folder = server.root / "resumed"
    folder.mkdir()
    package = make_repository(folder, tmp_path)
    sources = f"deb [trusted=yes] http://127.0.0.1:{server.port}/resumed test main\n"
    apt(sources, "update")
    content = package.read_bytes()
    partial = tmp_path / "apt/cache/archives/partial" / package.name
    partial.write_bytes(content[:300])
    for file in (partial, package):
        os.utime(file, (1_000_000_000, 1_000_000_000))
    said = apt(sources, "-o", "Debug::Acquire::http=1", "--download-only", "-y", "install",
               "h2server-test")
    assert "Range: bytes=300-" in said and "206 Partial Content" in said, said
    assert (tmp_path / "apt/cache/archives" / package.name).read_bytes() == content
