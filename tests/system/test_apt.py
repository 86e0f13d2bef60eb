"""Debian's apt as a client. In a flat repository it requests paths such as "./Packages"."""

import hashlib
import os
import shutil
import subprocess

import pytest

from support.environment import PATIENCE

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
                          timeout=60 * PATIENCE, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def make_repository(folder, scratch):
    """Creates a package, its Packages index and a Release file in one folder."""
    control = scratch / "package/DEBIAN/control"
    control.parent.mkdir(parents=True)
    control.write_text(CONTROL)
    package = folder / "h2server-test_1.0_all.deb"
    run("dpkg-deb", "--build", "--root-owner-group", str(control.parents[1]), str(package))
    content = package.read_bytes()
    index = (f"{CONTROL}Filename: ./{package.name}\nSize: {len(content)}\n"
             f"SHA256: {hashlib.sha256(content).hexdigest()}\n\n").encode()
    (folder / "Packages").write_bytes(index)
    (folder / "Release").write_text(
        f"Date: Sun, 06 Nov 1994 08:49:37 UTC\nSHA256:\n"
        f" {hashlib.sha256(index).hexdigest()} {len(index)} Packages\n")
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


def test_flat_repository(server_for, apt, tmp_path):
    server = server_for(tls=False)
    folder = server.root / "repo"
    folder.mkdir()
    package = make_repository(folder, tmp_path)
    sources = f"deb [trusted=yes] http://127.0.0.1:{server.port}/repo ./\n"
    said = apt(sources, "update")
    assert "Err:" not in said and "W:" not in said, said
    assert f"http://127.0.0.1:{server.port}/repo ./ Packages" in said
    apt(sources, "download", "h2server-test")
    assert (tmp_path / package.name).read_bytes() == package.read_bytes()
    again = apt(sources, "update")  # by If-Modified-Since
    assert "Hit:" in again and "Err:" not in again, again
