"""h2server check and config, and the configuration files of examples/config."""

import os
import re
import subprocess

import pytest

from support.certificates import sign_again
from support.environment import BINARY, LAST_RESORT_S, SOURCE

EXAMPLES = sorted((SOURCE / "examples/config").glob("*.toml"))
WRONG_USE = 2


@pytest.fixture
def folder(tmp_path):
    """The working directory, with www; the state directory is elsewhere."""
    (tmp_path / "work/www").mkdir(parents=True)
    return tmp_path / "work"


def run(folder, *arguments, **variables):
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder.parent / "home"), **variables}
    return subprocess.run([BINARY, *arguments], cwd=folder, capture_output=True, text=True,
                          timeout=LAST_RESORT_S, check=False, env=environment,
                          stdin=subprocess.DEVNULL)


def check(folder, text, *arguments, **variables):
    (folder / "site.toml").write_text(text)
    return run(folder, "check", "--config", "site.toml", *arguments, **variables)


# --- check ---------------------------------------------------------------------------------------

def test_check_counts(folder):
    done = check(folder, 'root = "www"\n')
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok: 1 site, 1 listener\n", "")
    done = check(folder, '[[site]]\nroot = "www"\n[[site]]\nhost = "a"\nroot = "www"\n'
                         '[[listener]]\nport = 1\n[[listener]]\nport = 2\n')
    assert done.stdout == "ok: 2 sites, 2 listeners\n", done


def test_check_makes_nothing(folder):
    done = check(folder, 'root = "www"\nupload-dir = "up"\naccess-log = "a.log"\n'
                         'self-signed = true\n[[listener]]\nunix = "a.sock"\n')
    assert done.returncode == 0, done
    assert sorted(path.name for path in folder.iterdir()) == ["site.toml", "www"]
    assert not (folder.parent / "home").exists()


def test_check_takes_options(folder):
    assert run(folder, "check", "--h2c", "www").stdout == "ok: 1 site, 1 listener\n"
    done = run(folder, "check", "--h2c", "--hsts", "www")
    assert done.returncode == WRONG_USE
    assert re.fullmatch(r"h2server: error: --hsts has no effect[^\n]+\n", done.stderr)


def test_the_server_reports_as_check_does(folder):
    checked = check(folder, "threds = 4\nprot = 3\n")
    served = run(folder, "--config", "site.toml")
    assert (served.returncode, served.stderr) == (WRONG_USE, checked.stderr)
    assert served.stdout == ""


# Name of the file and its text → words of the error line. The root is www.
SHOWN = {
    "configuration": ("www/site.toml", "", ["configuration", "www/site.toml"]),
    "included": ("site.toml", 'include = "www/more.toml"', ["configuration", "www/more.toml"]),
    "access log": ("site.toml", 'access-log = "www/a.log"', ["access log", "www/a.log"]),
    "error log": ("site.toml", 'error-log = "www/e.log"', ["error log", "www/e.log"]),
    "key": ("site.toml", 'key = "www/a.key"', ["private key", "www/a.key", "--key"]),
    "users": ("site.toml", 'auth = "/=www/users"', ["file of users", "www/users"]),
}


@pytest.mark.parametrize("name, text, words", SHOWN.values(), ids=SHOWN)
def test_secrets_are_not_served(folder, name, text, words):
    (folder / "www/more.toml").touch()
    (folder / name).write_text(f'root = "www"\n{text}\n')
    done = run(folder, "check", "--config", name)
    assert done.returncode == WRONG_USE
    assert re.fullmatch(r"h2server: error: [^\n]+\n", done.stderr), done.stderr
    for word in ["root www", *words]:
        assert word in done.stderr


def test_environment(folder):
    text = 'root = "${WHERE}"\nport = "${PORT:-http}"\n'
    assert check(folder, text, WHERE="www", PORT="81").returncode == 0
    done = check(folder, text)
    assert done.stderr.splitlines() == [
        "h2server: error: site.toml:1: root: the environment has no variable WHERE; set it, or "
        "write ${WHERE:-DEFAULT}",
        'h2server: error: site.toml:2: port = "http": not a number; allowed: 0 to 65535',
    ]


# A part of a line, what is repeated 200,000 times in it, the rest of the line, and the error.
DEEP = {
    "key": ("a", ".a", " = 1", "a key with more than 16 dots"),
    "table": ("[a", ".a", "]", "a key with more than 16 dots"),
    "list": ("a = ", "[", "", "arrays and tables nested more than 16 deep"),
    "inline tables": ("a = ", "{a = ", "", "arrays and tables nested more than 16 deep"),
}


@pytest.mark.parametrize("begin, part, end, error", DEEP.values(), ids=DEEP)
@pytest.mark.parametrize("included", [False, True])
def test_depth_is_limited(folder, begin, part, end, error, included):
    text = f'threads = 4\n{begin}{part * 200_000}{end}\n'
    (folder / "more.toml").write_text(text)
    done = check(folder, 'include = "more.toml"\n' if included else text)
    assert (done.returncode, done.stdout) == (WRONG_USE, "")
    file = "more.toml" if included else "site.toml"
    assert done.stderr == f"h2server: error: {file}:2: {error}\n"


# --- what check reads of the disk ----------------------------------------------------------------

@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """a.crt and a.key, b.crt and b.key, a key with a passphrase, an old certificate, users."""
    place = tmp_path_factory.mktemp("pairs")
    for name in ("a", "b"):
        make_pair(place, name)
    sign_again(place / "a.key", place / "old.crt", days=-1, subject="/CN=a")
    openssl(place, "pkey", "-in", "a.key", "-aes256", "-passout", "pass:geheim",
            "-out", "encrypted.key")
    (place / "users").write_text(f"ci:{{SHA256}}{'0' * 64}\n")
    (place / "weak").write_text("ci:{SHA256}%s\nann:$apr1$x$y\n" % ("0" * 64))
    (place / "none").touch()
    (place / "junk").write_text("junk\n")
    (place / "pages").mkdir()
    (place / "pages/404.html").touch()
    (place / "empty").mkdir()
    return place


def openssl(place, *arguments):
    subprocess.run(["openssl", *arguments], cwd=place, check=True, capture_output=True)


def make_pair(place, name):
    openssl(place, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
            "-nodes", "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.crt")


# Text of the second site, which begins in line 3 → what the lines of errors begin with, and a word.
UNREADABLE = {
    "certificate": ('cert = "P/nil.crt"\nkey = "P/a.key"',
                    [("6: cert: can't read the certificate P/nil.crt: No such file", "")]),
    "key": ('cert = "P/a.crt"\nkey = "P/nil.key"',
            [("7: key: can't read the private key P/nil.key: No such file", "")]),
    "no certificate": ('cert = "P/junk"\nkey = "P/a.key"',
                       [("6: cert: P/junk holds no certificate in PEM form", "")]),
    "no key": ('key = "P/junk"\ncert = "P/a.crt"',
               [("6: key: P/junk holds no private key in PEM form", "")]),
    "another key": ('cert = "P/a.crt"\nkey = "P/b.key"',
                    [("7: key: the private key P/b.key does not belong to", "P/a.crt")]),
    "made, but for one": ('self-signed = true\ncert = "P/a.crt"\nkey = "P/nil.key"',
                          [("8: key: can't read the private key P/nil.key", "No such file")]),
    "users": ('auth = "/=P/nil"', [("6: auth: P/nil: No such file or directory", "")]),
    "no users": ('auth = "/=P/none"', [("6: auth: P/none", "")]),
    "some users": ('auth = ["/a=P/users", "/b=P/weak", "/c=P/junk"]',
                   [("6: auth: P/junk:1: ", ""), ("6: auth: P/weak:2: ", "MD5")]),
    "error pages": ('error-pages = "P/nil"', [("6: error-pages: can't read", "P/nil")]),
    "no error pages": ('error-pages = "P/empty"', [("6: error-pages: there is no page", "")]),
    "all": ('auth = "/=P/nil"\ncert = "P/nil.crt"\nerror-pages = "P/nil"',
            [("6: auth: P/nil", ""), ("7: cert: can't read the certificate", ""),
             ("8: error-pages: can't read", "")]),
    "root": ('upload-dir = "up"', [("5: can't serve the root nil: it is not a directory", "")]),
}


def site_text(pairs, text, root="www"):
    return (f'[[site]]\nroot = "www"\n[[site]]\nhost = "a"\nroot = "{root}"\n{text}\n'
            .replace("P/", f"{pairs}/"))


@pytest.mark.parametrize("text, errors", UNREADABLE.values(), ids=UNREADABLE)
def test_check_reads_what_the_start_reads(folder, pairs, text, errors):
    root = "nil" if "upload-dir" in text else "www"
    done = check(folder, site_text(pairs, text, root))
    assert (done.returncode, done.stdout) == (WRONG_USE, "")
    lines = sorted(done.stderr.replace(f"{pairs}/", "P/").splitlines())
    assert len(lines) == len(errors), lines
    for line, (begin, word) in zip(lines, sorted(errors)):
        assert line.startswith(f"h2server: error: site.toml:{begin}"), line
        assert word in line
    served = run(folder, "--config", "site.toml")
    assert served.returncode != 0, "the start refuses it, too"
    assert not (folder / "up").exists()


# What the start makes, or asks for, is not missed.
READABLE = {
    "pair": 'cert = "P/a.crt"\nkey = "P/a.key"',
    "passphrase": 'cert = "P/a.crt"\nkey = "P/encrypted.key"',
    "pair to come": 'self-signed = true\ncert = "P/nil.crt"\nkey = "P/nil.key"',
    "users": 'auth = ["/a=P/users", "/b=P/users"]',
    "error pages": 'error-pages = "P/pages"',
    "authority": "local-ca = true",
}


@pytest.mark.parametrize("text", READABLE.values(), ids=READABLE)
def test_check_accepts_what_the_start_can_use(folder, pairs, text):
    before = sorted(pairs.iterdir())
    done = check(folder, site_text(pairs, text))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "ok: 2 sites, 1 listener\n"
    assert sorted(pairs.iterdir()) == before


def test_check_warns_of_an_old_certificate(folder, pairs):
    done = check(folder, site_text(pairs, 'cert = "P/old.crt"\nkey = "P/a.key"'))
    assert (done.returncode, done.stdout) == (0, "ok: 2 sites, 1 listener\n")
    assert re.fullmatch(r"h2server: warning: the certificate \S+/old.crt expired on [^\n]+\n",
                        done.stderr)


def test_check_reads_what_options_name(folder, pairs):
    done = run(folder, "check", "--cert", pairs / "a.crt", "--key", pairs / "b.key", "www")
    assert done.returncode == WRONG_USE
    assert done.stderr.startswith("h2server: error: the private key ")


# --- config --------------------------------------------------------------------------------------

def test_effective(folder):
    done = run(folder, "config", "--effective", "--h2c", "-p", "81", "--header", "/** A: $1 ${B}",
               "--admin", "127.0.0.1:1", "--admin-token", "geheim", "www")
    assert (done.returncode, done.stderr) == (0, "")
    assert 'root = "www"' in done.stdout and "port = 81" in done.stdout
    assert "geheim" not in done.stdout
    (folder / "effective.toml").write_text(done.stdout)
    again = run(folder, "config", "--effective", "--config", "effective.toml")
    assert (again.returncode, again.stdout) == (0, done.stdout)


def test_effective_hides_passwords_of_urls(folder):
    endpoint = "http://ada:geheim@a.example:4318/v1/traces"
    done = run(folder, "config", "--effective", "--trace-endpoint", endpoint, "www")
    assert (done.returncode, done.stderr) == (0, "")
    assert 'trace-endpoint = "http://***@a.example:4318/v1/traces"\n' in done.stdout
    assert "ada" not in done.stdout and "geheim" not in done.stdout
    wrong = run(folder, "check", "--trace-endpoint", endpoint.replace("http:", "https:"), "www")
    assert wrong.returncode == WRONG_USE
    assert "https://***@a.example" in wrong.stderr and "geheim" not in wrong.stderr


def test_reference_is_that_of_the_manual(folder):
    done = run(folder, "config", "--reference")
    assert done.stdout == (SOURCE / "docs/manual/options.md").read_text()


@pytest.mark.parametrize("arguments", [[], ["--tea"], ["--reference", "www"]], ids=str)
def test_config_says_what_it_prints(folder, arguments):
    done = run(folder, "config", *arguments)
    assert (done.returncode, done.stdout) == (WRONG_USE, "")
    assert "--effective" in done.stderr and "--reference" in done.stderr


# --- the examples --------------------------------------------------------------------------------

@pytest.fixture
def places(folder):
    """The variables that the examples use, with what they need in the working directory."""
    for name in ("root", "root/example.com", "root/example.org", "root/errors", "certs", "logs"):
        (folder / name).mkdir()
    (folder / "root/errors/404.html").touch()
    for name in ("example.com", "example.org"):
        make_pair(folder / "certs", name)
    (folder / "users").write_text(f"ci:{{SHA256}}{'0' * 64}\n")
    return {"ROOT": str(folder / "root"), "CERTS": str(folder / "certs"),
            "LOGS": str(folder / "logs"), "USERS": str(folder / "users"),
            "UPLOADS": str(folder / "uploads"), "SOCKET": str(folder / "http.sock")}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples(folder, places, example):
    done = run(folder, "check", "--config", example, **places)
    assert (done.returncode, done.stderr) == (0, ""), done
    effective = run(folder, "config", "--effective", "--config", example, **places)
    assert effective.returncode == 0
    (folder / "effective.toml").write_text(effective.stdout)
    again = run(folder, "config", "--effective", "--config", "effective.toml")
    assert again.stdout == effective.stdout


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_explain_themselves(example):
    lines = example.read_text().splitlines()
    assert lines[0].startswith("# ")
    assert sum("#" in line for line in lines) >= 5
