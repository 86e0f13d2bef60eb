"""docs/manual: its configurations are right, its recipes serve, its commands run.

A block ```toml is a whole configuration, unless "no check" stands in the comment in front of it.
Comments in front of blocks:

    <!-- run -->                  the commands of a page run one after the other, in one folder
    <!-- file NAME -->            the configuration that these commands use
    <!-- systemd -->              deploy/debian/systemd.sh runs the commands, in their order, and
                                  "systemd last" after all; "systemd file" is the configuration for them
    <!-- as in FILE -->           that script does the same: it has each word of the commands
    <!-- recipe port=8443 tls --> the server is started, and asked for a page at that listener

"proxy": with a header of the PROXY protocol in front; "forwarded": with X-Forwarded-For; "token":
with one that is added to the file of users; "host=NAME", "path=PATH", "unix=PATH".
"""

import hashlib
import math
import os
import re
import secrets
import shutil
import signal
import subprocess

import pytest

from support.configured import free_port
from support.environment import BINARY, LAST_RESORT_S, SANITIZER, SOURCE
from support.waiting import wait_until

PAGES = sorted((SOURCE / "docs/manual").glob("*.md"))
FOLDERS = ["/srv", "/etc/h2server", "/var/log/h2server", "/run/h2server"]
CLIENT = "192.0.2.7"

_BLOCK = re.compile(r"(?:^ *<!-- (.+?) -->\n+)?^ *```(\w+)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_PORT = re.compile(r"\b(8443|8080|9000)\b")
_NAMED = re.compile(r'^(?:root|cert|key|error-pages) = "([^"]+)"', re.MULTILINE)
_LISTED = re.compile(r'^(?:cert|key) = \[(.+)\]', re.MULTILINE)
_TICKET_KEYS = re.compile(r'ticket-key = \["([^"]+)"')
_USERS = re.compile(r'"/[^"=]*=([^"]+)"')

pytestmark = pytest.mark.skipif(bool(SANITIZER), reason="does not depend on the build")


def blocks_of(language, pages=None):
    """Returns (name, comment, text) for each block of that language."""
    return [(f"{page.stem}:{text.count(chr(10), 0, match.start(3)) + 1}", match[1] or "", match[3])
            for page in pages or PAGES for text in [page.read_text()]
            for match in _BLOCK.finditer(text) if match[2] == language]


def ids(blocks):
    return [name for name, _, _ in blocks]


CONFIGURATIONS = [block for block in blocks_of("toml") if "no check" not in block[1]]
RECIPES = [block for block in CONFIGURATIONS if block[1].startswith("recipe")]


class Place:
    """A folder in which a configuration of the manual finds all that it names."""

    def __init__(self, folder, text):
        self.folder = folder
        self.ports = {}
        self.text = self.localize(text)
        self._make_files()

    def localize(self, text):
        """Returns the text with this place's folders and with free ports."""
        for name in FOLDERS:
            text = re.sub(rf"(?<![\w/.]){re.escape(name)}(?=[/\"'])", f"{self.folder}{name}", text)
        return _PORT.sub(lambda match: str(self.port_of(match[1])), text)

    def port_of(self, number):
        if number not in self.ports:
            self.ports[number] = free_port()
        return self.ports[number]

    def _make_files(self):
        for name in FOLDERS:
            (self.folder / name[1:]).mkdir(parents=True, exist_ok=True)
        listed = [name for names in _LISTED.findall(self.text)
                  for name in re.findall(r'"([^"]+)"', names)]
        for name in _NAMED.findall(self.text) + listed:
            path = self.folder / name
            if path.suffix in (".crt", ".key"):
                path.parent.mkdir(parents=True, exist_ok=True)
                make_certificate(path.with_suffix(""))
            else:
                path.mkdir(parents=True, exist_ok=True)
                (path / "index.html").write_text("a page\n")
                (path / "404.html").write_text("no page\n")
        for name in _USERS.findall(self.text):
            (self.folder / name).write_text(hash_of("secret") + "\n")
        for name in _TICKET_KEYS.findall(self.text):
            (self.folder / name).write_bytes(os.urandom(80))
        (self.folder / "site.toml").write_text(self.text)


def make_certificate(stem):
    if not stem.with_suffix(".crt").exists():
        kind = ["rsa:2048"] if "rsa" in stem.name else ["ec", "-pkeyopt",
                                                        "ec_paramgen_curve:prime256v1"]
        subprocess.run(["openssl", "req", "-x509", "-newkey", *kind, "-nodes", "-subj",
                        f"/CN={stem.name}",
                        "-addext", f"subjectAltName=DNS:{stem.name}", "-keyout", f"{stem}.key",
                        "-out", f"{stem}.crt"], check=True, capture_output=True)


def hash_of(token):
    return f"ci:{{SHA256}}{hashlib.sha256(token.encode()).hexdigest()}"


def environment(folder):
    (folder / "bin").mkdir(exist_ok=True)
    program = folder / "bin/h2server"
    if not program.exists():
        program.symlink_to(BINARY)
    return {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "HOME": str(folder / "home"),
            "ADMIN_TOKEN": "secret"}


def check(folder):
    done = subprocess.run([BINARY, "check", "--config", "site.toml"], cwd=folder, text=True,
                          capture_output=True, env=environment(folder), check=False,
                          timeout=LAST_RESORT_S)
    return done.stdout, done.stderr


class Running:
    """The program with the site.toml of that folder."""

    def __init__(self, folder):
        self.folder = folder

    def __enter__(self):
        with open(self.folder / "out", "w", encoding="utf-8") as out:
            self._process = subprocess.Popen([BINARY, "--config", "site.toml"], cwd=self.folder,
                                             stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                             env=environment(self.folder))
        try:
            wait_until(lambda: "Ctrl-C stops" in self.output() or self._process.poll() is not None,
                       "the server listens")
            assert self._process.poll() is None, self.output()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        pid_file = self.folder / "pid"
        successor = int(pid_file.read_text()) if pid_file.exists() else self._process.pid
        if successor != self._process.pid:
            os.kill(successor, signal.SIGTERM)
            wait_until(lambda: not pid_file.exists(), "the successor ends")
        self._process.send_signal(signal.SIGTERM)
        self.status = self._process.wait(LAST_RESORT_S)

    def output(self):
        return (self.folder / "out").read_text()


@pytest.mark.parametrize("block", CONFIGURATIONS, ids=ids(CONFIGURATIONS))
def test_configurations_are_right(tmp_path, block):
    place = Place(tmp_path, block[2])
    out, errors = check(place.folder)
    assert errors == "" and out.startswith("ok: "), f"{block[0]}\n{errors}"


def test_a_wrong_configuration_is_reported(tmp_path):
    place = Place(tmp_path, 'root = "/srv/a"\nprot = 8443\n')
    assert "site.toml:2" in check(place.folder)[1]


def curl(place, words, token):
    """Returns the body and the status that the recipe's listener answers with."""
    options = dict(word.partition("=")[::2] for word in words)
    host = options.get("host", "example.com")
    scheme = "https" if "tls" in options else "http"
    command = ["curl", "-s", "-k", "-w", "\n%{http_code}", "-m", str(LAST_RESORT_S)]
    if "unix" in options:
        command += ["--unix-socket", place.localize(f'{options["unix"]}"')[:-1],
                    "-H", f"X-Forwarded-For: {CLIENT}"]
    port = place.ports.get(options.get("port"), 80)
    command += ["--resolve", f"{host}:{port}:127.0.0.1"]
    if "forwarded" in options:
        command += ["-H", f"X-Forwarded-For: 203.0.113.1, {CLIENT}"]
    if "token" in options:
        command += ["--oauth2-bearer", token]
    if "proxy" in options:
        command += ["--haproxy-protocol"]
    url = f"{scheme}://{host}:{port}{options.get('path', '/')}"
    done = subprocess.run([*command, url], capture_output=True, text=True, check=False)
    return done.stdout.rpartition("\n")[::2]


@pytest.mark.parametrize("block", RECIPES, ids=ids(RECIPES))
def test_recipes_serve(tmp_path, block):
    place = Place(tmp_path, block[2])
    token = secrets.token_hex(32)
    for name in _USERS.findall(place.text):
        (tmp_path / name).write_text(hash_of(token) + "\n")
    words = block[1].split()[1:]
    with Running(tmp_path) as server:
        body, status = curl(place, words, token)
        assert status == "200", f"{block[0]} {status} {body} {server.output()}"
        assert "token" in words or body == "a page\n"
        if "token" in words:
            assert curl(place, [word for word in words if word != "token"], "")[1] == "401"
        if "proxy" in words:
            assert curl(place, [word for word in words if word != "proxy"], "")[1] == "000"
    assert server.status == 0
    log = re.search(r'access-log = "([^"]+)"', place.text)
    text = (tmp_path / log[1]).read_text() if log else ""
    assert not log or text
    if "forwarded" in words or "unix" in block[1]:
        assert CLIENT in text and "203.0.113.1" not in text


NGINX = """user root; daemon off; pid nginx.pid; error_log stderr; worker_processes 1;
events {{}}
http {{ access_log off; client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3;
uwsgi_temp_path t4; scgi_temp_path t5;
{}
}}
"""


@pytest.mark.skipif(shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin") is None,
                    reason="nginx is missing")
def test_nginx_in_front(tmp_path):
    recipe = next(text for _, comment, text in RECIPES if "unix=" in comment)
    place = Place(tmp_path, recipe)
    (snippet,) = [text for _, _, text in blocks_of("nginx")]
    port = free_port()
    make_certificate(tmp_path / "example.com")
    for old, new in {"listen 443": f"listen 127.0.0.1:{port}",
                     "/etc/nginx/": f"{tmp_path}/"}.items():
        snippet = snippet.replace(old, new)
    snippet = snippet.replace("unix:/run/h2server", f"unix:{tmp_path}/run/h2server")
    (tmp_path / "nginx.conf").write_text(NGINX.format(snippet))
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    with Running(tmp_path):
        nginx = subprocess.Popen([program, "-p", tmp_path, "-c", "nginx.conf"], cwd=tmp_path,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            done = subprocess.run(
                ["curl", "-s", "-k", "--retry", "20", "--retry-connrefused", "--retry-delay", "1",
                 "--resolve", f"example.com:{port}:127.0.0.1", f"https://example.com:{port}/"],
                capture_output=True, text=True, check=False, timeout=LAST_RESORT_S)
        finally:
            nginx.terminate()
            nginx.wait(LAST_RESORT_S)
    assert done.stdout == "a page\n", place.text
    assert (tmp_path / "var/log/h2server/access.log").read_text().startswith("127.0.0.1 ")


@pytest.mark.parametrize("page", [page for page in PAGES if "<!-- run -->" in page.read_text()],
                         ids=lambda page: page.stem)
def test_commands_run(tmp_path, page):
    """The server starts before the first command that asks it."""
    (text,) = [text for _, comment, text in blocks_of("toml", [page])
               if comment == "file site.toml"]
    place = Place(tmp_path, text)
    commands = [place.localize(text) for _, comment, text in blocks_of("sh", [page])
                if comment == "run"]
    asks = next(i for i, text in enumerate(commands) if re.search("curl| top ", text))
    made = run(tmp_path, commands[:asks])
    with Running(tmp_path):
        asked = run(tmp_path, commands[asks:])
    if page.stem == "first-site":
        look_at_first_site(made, asked)


COPIED = [block for block in blocks_of("sh") if block[1].startswith("as in ")]


@pytest.mark.parametrize("block", COPIED, ids=ids(COPIED))
def test_scripts_do_what_the_manual_says(block):
    script = (SOURCE / block[1].removeprefix("as in ")).read_text()
    for word in block[2].split():
        assert word.startswith("/") or word in script, f"{block[0]}: {word}"


@pytest.mark.parametrize("name", ["install", "upgrade", "troubleshooting", "limits"])
def test_each_command_is_tried(name):
    page = SOURCE / f"docs/manual/{name}.md"
    for block in blocks_of("sh", [page]):
        assert re.match("run|as in|systemd", block[1]), block[0]


def test_the_limits_are_those_of_the_library():
    header = (SOURCE / "include/h2server/limits.h").read_text()
    units = {"KiB": 1024, "MiB": 1024 ** 2, "s": 1000}
    page = (SOURCE / "docs/manual/limits.md").read_text()
    rows = re.findall(r"^\| (\d+)(?: (KiB|MiB|s)\b)?[^|]* \| `(\w+)` \| .", page, re.MULTILINE)
    assert len(rows) > 10
    for number, unit, name in rows:
        value = re.search(rf"\b{name} = ([\d' *]+);", header)[1].replace("'", "")
        assert math.prod(map(int, value.split("*"))) == int(number) * units.get(unit, 1), name


def run(folder, commands):
    done = subprocess.run(["bash", "-e", "-c", "\n".join(commands)], cwd=folder, text=True,
                          env=environment(folder), capture_output=True, check=False,
                          timeout=LAST_RESORT_S)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def look_at_first_site(made, asked):
    assert made == "ok: 2 sites, 2 listeners\n"
    assert "<h1>example.com</h1>\n<h1>example.org</h1>\n" in asked
    assert asked.count("421") >= 2 and "HTTP/1.1 308" in asked
    assert '"GET / HTTP/2.0" 200 ' in asked, "the log is not shown"
