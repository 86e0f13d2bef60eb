"""`h2server trust`: the local CA, and what makes systems and browsers trust it.

Stand-ins for update-ca-certificates, update-ca-trust and certutil write down how they are called.
They are the only programs in PATH. Tests with root's rights run in a mount namespace, in which the
directories of the system's certificates are those of the test.
"""

import os
import pathlib
import shutil
import stat
import subprocess
import tempfile

import pytest

from support.environment import BINARY, LAST_RESORT_S, tool
from support.server import Server

NAME = "h2server local CA ("
STATE = ".local/state/h2server"
DEBIAN = "/usr/local/share/ca-certificates"

# Knows a certificate from the file in the database's folder. $2 is "sql:FOLDER", $3 the action.
CERTUTIL = """\
echo "$@" >> {log}
known="${{2#sql:}}/known"
case $3 in
  -L) test -e "$known" ;;
  -A) : > "$known" ;;
  -D) read -r ignored < /dev/null; /bin/rm "$known" ;;
esac
"""


class Account:
    """A user with a home and stand-ins. `user`: the uid, or None for that of the tests."""

    def __init__(self, folder, user):
        self.folder = folder
        self.user = user
        self.home = folder / "home"
        self.log = folder / "log"
        self.store = folder / "store"
        self.programs = folder / "bin"
        self.ca = self.home / STATE / "ca"
        for made in (self.home, self.store, self.programs):
            made.mkdir()
        self.binary = shutil.copy(BINARY, folder)
        self.stand_in("certutil", CERTUTIL.format(log=self.log))
        for name in ("update-ca-certificates", "update-ca-trust"):
            self.stand_in(name, f'echo "{name} $*" >> {self.log}\n')
        self.give(folder)

    def stand_in(self, name, script):
        (self.programs / name).write_text("#!/bin/sh\n" + script)
        (self.programs / name).chmod(0o755)

    def give(self, path):
        """Makes everything below `path` the user's."""
        if self.user is not None:
            for found in (path, *path.rglob("*")):
                os.chown(found, self.user, self.user, follow_symlinks=False)

    def database(self, folder):
        path = self.home / folder
        path.mkdir(parents=True)
        (path / "cert9.db").touch()
        self.give(self.home)
        return path

    def calls(self):
        return self.log.read_text().splitlines() if self.log.exists() else []

    def environment(self, **changes):
        variables = {"HOME": str(self.home), "PATH": str(self.programs), **changes}
        sanitizers = {name: value for name, value in os.environ.items() if name.endswith("_OPTIONS")}
        return sanitizers | {name: value for name, value in variables.items() if value is not None}

    def run(self, *arguments, **changes):
        """Runs the program as the user. `changes`: of the environment; None removes a variable."""
        return subprocess.run(
            [self.binary, "trust", *arguments], env=self.environment(**changes), cwd=self.folder,
            user=self.user, group=self.user, extra_groups=None if self.user is None else [],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
            start_new_session=True, timeout=LAST_RESORT_S)

    def run_as_root(self, mounts, *arguments):
        """Runs it as root of a namespace, after the commands `mounts`."""
        script = "".join(f"{mount} || exit 99\n" for mount in mounts) + 'PATH=$0 exec "$@"'
        return subprocess.run(
            [*namespace(), "/bin/sh", "-c", script, str(self.programs), self.binary, "trust",
             *arguments],
            env=self.environment(PATH=os.environ["PATH"]), cwd=self.folder,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
            start_new_session=True, timeout=LAST_RESORT_S)


def namespace():
    return [tool("unshare"), "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]


@pytest.fixture
def folder():
    path = pathlib.Path(tempfile.mkdtemp(prefix="h2server-test-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def account(folder, plain_user):
    return Account(folder, plain_user)


@pytest.fixture
def root(folder):
    """An account of this user, who can be root of a namespace."""
    if subprocess.run([*namespace(), "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this user can't make a mount namespace")
    return Account(folder, None)


# --- the command line ----------------------------------------------------------------------------


def test_print_changes_nothing(account):
    done = account.run("--print")
    assert done.returncode == 0 and done.stderr == ""
    for word in ("Debian", "Ubuntu", "update-ca-certificates", "Fedora", "update-ca-trust", "Arch",
                 "trust anchor --store", "macOS", "security add-trusted-cert", "Windows",
                 "certutil -addstore -user Root", "Firefox", "Chromium", "libnss3-tools",
                 "certutil -d sql:$HOME/.pki/nssdb -A -t C,, -n", "Android", "iPhone"):
        assert word in done.stdout, word
    assert "{" not in done.stdout
    assert f"There is no local CA yet. `h2server trust` makes {account.ca}/ca.crt." in done.stdout
    assert list(account.home.iterdir()) == [] and account.calls() == []
    account.run()
    assert "There is no local CA yet" not in account.run("--print").stdout


def test_commands_are_words_of_a_shell(account):
    state = account.folder / "my state's"
    done = account.run("--print", XDG_STATE_HOME=str(state))
    line = next(line for line in done.stdout.splitlines() if "trust anchor" in line)
    words = subprocess.run(["sh", "-c", f"for word in {line}; do echo \"$word\"; done"],
                           capture_output=True, text=True, check=True).stdout.splitlines()
    assert words == ["sudo", "trust", "anchor", "--store", f"{state}/h2server/ca/ca.crt"]


@pytest.mark.parametrize("arguments", [["--prin"], ["--print", "--remove"], ["now"], [""]])
def test_wrong_arguments(account, arguments):
    done = account.run(*arguments)
    assert done.returncode == 2 and "--print" in done.stderr
    assert list(account.home.iterdir()) == []


def test_help(account):
    done = account.run("--help")
    assert done.returncode == 0 and "--remove" in done.stdout and done.stderr == ""


# --- the directory of the CA ---------------------------------------------------------------------


def test_state_directory(account):
    account.run()
    assert sorted(file.name for file in account.ca.iterdir()) == ["ca.crt", "ca.key", "server.crt",
                                                                  "server.key"]
    for directory in (account.ca, account.ca.parent):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    for key in ("ca.key", "server.key"):
        assert stat.S_IMODE((account.ca / key).stat().st_mode) == 0o600
    before = (account.ca / "ca.crt").read_bytes()
    assert "made now" not in account.run().stdout
    assert (account.ca / "ca.crt").read_bytes() == before


def test_state_directory_of_the_environment(account):
    account.run(XDG_STATE_HOME=str(account.folder / "state"))
    assert (account.folder / "state/h2server/ca/ca.crt").exists()
    assert list(account.home.iterdir()) == []
    account.run(XDG_STATE_HOME="relative")
    assert (account.ca / "ca.crt").exists() and not (account.folder / "relative").exists()


@pytest.mark.parametrize("arguments", [[], ["--print"], ["--remove"]])
def test_no_home(account, arguments):
    if account.user is None:
        pytest.skip("needs a user whose entry in passwd has no home")
    for home in (None, "", "relative"):
        done = account.run(*arguments, HOME=home)
        assert done.returncode == 1 and "XDG_STATE_HOME" in done.stderr


def test_a_home_that_cannot_be_written(account):
    (account.home / ".local").touch()
    done = account.run()
    assert done.returncode == 1 and str(account.home / STATE) in done.stderr
    assert account.calls() == []


def test_a_ca_that_cannot_be_used(account):
    account.run()
    (account.ca / "ca.key").write_text("damaged")
    done = account.run()
    assert done.returncode == 1 and "ca.key" in done.stderr and "--remove" in done.stderr


# --- a user --------------------------------------------------------------------------------------


def test_the_system_needs_root(account):
    done = account.run()
    assert done.returncode == 1 and NAME in done.stdout
    assert f"run: sudo install -m 0644 {account.ca}/ca.crt {DEBIAN}/h2server-local-CA-" in done.stderr
    assert "&& sudo update-ca-certificates\n" in done.stderr
    assert account.calls() == []  # neither sudo nor anything else has been run


def test_browsers(account):
    databases = [account.database(folder) for folder in (
        ".local/share/pki/nssdb", ".mozilla/firefox/abc.default", ".mozilla/firefox/d e",
        ".pki/nssdb", "snap/firefox/common/.mozilla/firefox/x")]
    (account.home / ".mozilla/firefox/no profile").mkdir()
    done = account.run()
    calls = account.calls()
    assert len(calls) == len(databases)
    for call, database in zip(calls, databases):
        assert call.startswith(f"-d sql:{database} -A -n {NAME}")
        assert call.endswith(f" -t C,, -i {account.ca}/ca.crt")
        assert f"Browser ({database}): installed\n" in done.stdout
    account.log.unlink()
    done = account.run("--remove")
    assert done.returncode == 0 and done.stderr == ""
    for database in databases:
        assert any(call.startswith(f"-d sql:{database} -D -n {NAME}") for call in account.calls())
        assert f"Browser ({database}): removed\n" in done.stdout
    assert (account.ca / "ca.crt").exists() and str(account.ca) in done.stdout
    again = account.run("--remove")
    assert again.returncode == 0 and again.stdout.count("it is not in there") == len(databases)


def test_no_browser(account):
    done = account.run()
    assert "no database of Chromium or Firefox" in done.stdout
    (account.programs / "certutil").unlink()
    assert "certutil" not in account.run().stderr  # it is not needed


def test_no_certutil(account):
    database = account.database(".pki/nssdb")
    (account.programs / "certutil").unlink()
    for arguments in ([], ["--remove"]):
        done = account.run(*arguments)
        assert done.returncode == 1 and "libnss3-tools" in done.stderr
        assert str(database) not in done.stdout


def test_certutil_fails(account):
    """The other databases are not left out."""
    bad = account.database(".mozilla/firefox/a")
    good = account.database(".mozilla/firefox/b")
    account.stand_in("certutil", f'test "$2" != sql:{bad}\n')
    done = account.run()
    assert done.returncode == 1
    assert f"-d sql:{bad} -A -n '{NAME}" in done.stderr and str(good) not in done.stderr
    assert f"Browser ({good}): installed\n" in done.stdout and f"({bad})" not in done.stdout


def test_certutil_keeps_the_certificate(account):
    """The loop that removes every certificate of the name ends."""
    account.database(".pki/nssdb")
    account.stand_in("certutil", f'echo "$@" >> {account.log}\n')
    assert account.run("--remove").returncode == 0
    assert 0 < len(account.calls()) < 100


@pytest.mark.skipif(not shutil.which("certutil"), reason="needs libnss3-tools")
def test_a_database_of_nss(account):
    database = account.home / ".pki/nssdb"
    database.mkdir(parents=True)
    certutil = tool("certutil")
    subprocess.run([certutil, "-d", f"sql:{database}", "-N", "--empty-password"], check=True)
    account.give(account.home)
    (account.programs / "certutil").unlink()
    (account.programs / "certutil").symlink_to(certutil)

    def listed():
        return subprocess.run([certutil, "-d", f"sql:{database}", "-L"], check=True,
                              capture_output=True, text=True).stdout

    for _ in range(2):
        assert f"Browser ({database}): installed\n" in account.run().stdout
        line = next(line for line in listed().splitlines() if NAME in line)
        assert line.split()[-1] == "C,,"
    # Another authority of the same name, as after the deletion of the directory.
    shutil.rmtree(account.ca)
    assert f"Browser ({database}): installed\n" in account.run().stdout
    assert account.run("--remove").returncode == 0
    assert NAME not in listed()


# --- root ----------------------------------------------------------------------------------------


def debian(account):
    return [f"mount --bind {account.store} {DEBIAN}"]


def test_debian(root):
    for _ in range(2):
        done = root.run_as_root(debian(root))
        assert done.returncode == 0 and done.stderr == ""
        [stored] = root.store.iterdir()
        assert stored.name.startswith("h2server-local-CA-") and stored.suffix == ".crt"
        assert stored.read_bytes() == (root.ca / "ca.crt").read_bytes()
        assert stat.S_IMODE(stored.stat().st_mode) == 0o644
        assert f"wrote {DEBIAN}/{stored.name}\n" in done.stdout
    done = root.run_as_root(debian(root), "--remove")
    assert done.returncode == 0 and done.stderr == "" and list(root.store.iterdir()) == []
    done = root.run_as_root(debian(root), "--remove")
    assert done.returncode == 0 and "there is no" in done.stdout
    assert root.calls() == ["update-ca-certificates "] * 2 + ["update-ca-certificates --fresh"]


def test_what_root_installed_is_known_to_the_user(root):
    """The commands that a user is told leave nothing to do."""
    if os.geteuid() != 0:
        pytest.skip("needs two users")
    root.run_as_root(debian(root))
    [stored] = root.store.iterdir()
    for path in (root.home, *root.home.rglob("*")):
        os.chown(path, 65534, 65534)
    as_nobody = root.folder / "as_nobody"
    as_nobody.write_text(f"#!/bin/sh\nexec {tool('setpriv')} --reuid 65534 --clear-groups "
                         f'{root.binary} "$@"\n')
    as_nobody.chmod(0o755)
    root.binary = as_nobody
    done = root.run_as_root(debian(root))
    assert done.returncode == 0 and f"{stored.name} is installed\n" in done.stdout
    done = root.run_as_root(debian(root), "--remove")
    assert done.returncode == 1 and stored.exists()
    assert f"run: sudo rm {DEBIAN}/{stored.name} && sudo update-ca-certificates --fresh" in done.stderr


@pytest.mark.parametrize("anchors", ["pki/ca-trust/source/anchors",
                                     "ca-certificates/trust-source/anchors"])
def test_fedora_and_arch(root, anchors):
    etc = root.folder / "etc"
    (etc / anchors).mkdir(parents=True)
    shutil.copy("/etc/passwd", etc)
    empty = root.folder / "empty"
    empty.mkdir()
    mounts = [f"mount --bind {empty} /usr/local/share", f"mount --bind {etc} /etc"]
    done = root.run_as_root(mounts)
    assert done.returncode == 0 and done.stderr == ""
    [stored] = (etc / anchors).iterdir()
    assert stored.read_bytes() == (root.ca / "ca.crt").read_bytes()
    assert root.run_as_root(mounts, "--remove").returncode == 0
    assert list((etc / anchors).iterdir()) == [] and root.calls() == ["update-ca-trust "] * 2


def test_a_system_that_is_not_known(root):
    etc = root.folder / "etc"
    etc.mkdir()
    shutil.copy("/etc/passwd", etc)
    empty = root.folder / "empty"
    empty.mkdir()
    mounts = [f"mount --bind {empty} /usr/local/share", f"mount --bind {etc} /etc"]
    done = root.run_as_root(mounts)
    assert done.returncode == 1 and "--print" in done.stderr
    assert root.run_as_root(mounts, "--remove").returncode == 0


def test_the_systems_program_fails(root):
    root.stand_in("update-ca-certificates", "exit 3\n")
    for arguments in ([], ["--remove"]):
        done = root.run_as_root(debian(root), *arguments)
        assert done.returncode == 1 and "update-ca-certificates" in done.stderr
        assert "status 3" in done.stderr
    root.stand_in("update-ca-certificates", "kill -9 $$\n")
    assert "status 137" in root.run_as_root(debian(root)).stderr


def test_a_full_store(root):
    database = root.database(".pki/nssdb")
    done = root.run_as_root([f"mount -t tmpfs -o nr_inodes=1 none {DEBIAN}"])
    assert done.returncode == 1 and "No space left" in done.stderr and DEBIAN in done.stderr
    assert f"Browser ({database}): installed\n" in done.stdout  # the other steps are done


# --- the certificate -----------------------------------------------------------------------------


@pytest.fixture
def server(account):
    account.run()
    with Server("--cert", account.ca / "server.crt", "--key", account.ca / "server.key", tls=True,
                self_signed=False) as started:
        (started.root / "page").write_bytes(b"the page")
        started.ca_file = account.ca / "ca.crt"
        yield started


def test_verify(account):
    account.run()
    for check in (["-verify_hostname", "localhost"], ["-verify_ip", "127.0.0.1"],
                  ["-verify_ip", "::1"]):
        subprocess.run([tool("openssl"), "verify", "-x509_strict", "-purpose", "sslserver", *check,
                        "-CAfile", account.ca / "ca.crt", account.ca / "server.crt"],
                       check=True, capture_output=True)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_curl(server, host, version):
    url = f"https://{host}:{server.port}/page"
    command = [tool("curl"), "-sS", "--noproxy", "*", version, url]
    done = subprocess.run([*command, "--cacert", server.ca_file], capture_output=True, check=True)
    assert done.stdout == b"the page"
    untrusted = subprocess.run(command, capture_output=True, check=False)
    assert untrusted.returncode == 60  # the certificate can't be verified


def test_s_client(server):
    """The server sends its certificate and the CA's."""
    for check in (["-verify_hostname", "localhost"], ["-verify_ip", "127.0.0.1"]):
        done = subprocess.run(
            [tool("openssl"), "s_client", "-connect", f"127.0.0.1:{server.port}", "-showcerts",
             "-CAfile", server.ca_file, "-verify_return_error", "-x509_strict", *check],
            input=b"", capture_output=True, check=True, timeout=LAST_RESORT_S)
        assert b"Verify return code: 0 (ok)" in done.stdout or b"Verification: OK" in done.stdout
        assert done.stdout.count(b"BEGIN CERTIFICATE") >= 2
