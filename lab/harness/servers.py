"""The measured servers: h2server, the floor, and the peers as lab/peers configures them."""

import contextlib
import dataclasses
import os
import pathlib
import re
import shlex
import shutil
import string
import subprocess
import sys

from harness import processes

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEERS = ROOT / "lab/peers"
EVENTS = pathlib.Path(__file__).with_name("events.py")


@dataclasses.dataclass(frozen=True)
class Setting:
    """Parameters of a server's command line and configuration."""

    root: pathlib.Path  # the folder it serves
    work: pathlib.Path  # its own files, for this run only
    port: int
    protocol: str  # h1, h2 or spdy
    tls: bool
    threads: int
    file: pathlib.Path  # the file to be requested, if there is one; the floor serves only this
    certificate: pathlib.Path
    key: pathlib.Path
    options: tuple = ()  # further ones, for h2server and the floor; for peers see _configured()


@dataclasses.dataclass(frozen=True)
class Server:
    """A server program and how to start it."""

    name: str
    binary: str  # a path, or a command on the PATH
    command: object  # (binary, Setting) -> [argument …]
    version: tuple = ("--version",)  # arguments that print its version
    transient: bool = False  # threads or processes come and go with connections
    environment: object = None  # (Setting) -> {variable: value}
    needs: str = ""  # a file that it requires
    protocols: tuple = ("h1", "h1 TLS", "h2c", "h2")  # supported ones, by their names in tables

    def path(self):
        """Returns the path of its binary, or None."""
        # Servers may be in folders that are not in an ordinary user's PATH.
        found = shutil.which(self.binary, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
        return pathlib.Path(found).absolute() if found else None

    @contextlib.contextmanager
    def run(self, setting, cpus):
        """Yields the pid of the listening server. Stops it afterwards."""
        environment = self.environment(setting) if self.environment else None
        command = self.command(str(self.path()), setting)
        with processes.running(command, cpus, setting.port, setting.work, environment) as pid:
            yield pid


def version_of(server):
    """Returns the first line with a version number that the binary prints."""
    if not server.version:
        return ""
    try:
        done = subprocess.run(
            [server.path(), *server.version], capture_output=True, text=True, check=False,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = (done.stdout + done.stderr).splitlines()
    return next((line.strip() for line in lines if re.search(r"\d+\.\d+", line)), "")


# Ours.


def _our_command(binary, setting):
    tls = ["--cert", setting.certificate, "--key", setting.key] if setting.tls else ["--h2c"]
    root = [] if "--store" in setting.options else ["--root", setting.root]
    return [binary, *tls, "--host", "127.0.0.1", "--port", setting.port, *root, *setting.options]


def ours(build, scheme="acceptor", engine="auto"):
    """Returns h2server with a scheme and an engine. Setting.threads is also the size of a pool."""
    per_connection = scheme.endswith("-per-connection")

    def command(binary, setting):
        threads = [] if per_connection else ["--threads", setting.threads]
        return [*_our_command(binary, setting), "--scheme", scheme, "--io", engine, *threads]

    return Server("h2server", str(build / "h2server"), command, transient=per_connection)


def stage(build, stage_name, scheme):
    """Returns the program that serves one file as a server does at a stage of its growth."""

    def command(binary, setting):
        tls = ["--cert", setting.certificate, "--key", setting.key] if setting.tls else []
        return [binary, "--port", setting.port, "--stage", stage_name, "--scheme", scheme, *tls,
                setting.root]

    return Server("h2server", str(build / "lab/stages"), command, version=())


def library(build):
    """Returns the program with small handlers on the library, one worker, cleartext."""

    def command(binary, setting):
        return [binary, "--port", setting.port, setting.root]

    return Server("h2server", str(build / "lab/library"), command, version=())


def spdy(build):
    """Returns the program that serves SPDY/3.1 on h2server's core, with the scheme acceptor."""

    def command(binary, setting):
        return [*_our_command(binary, setting), "--threads", setting.threads]

    return Server("h2server", str(build / "lab/spdy"), command, version=(),
                  protocols=("spdy", "spdy TLS"))


def event_floor():
    """Returns the program that sends events to its clients and does nothing else."""

    def command(binary, setting):
        return [binary, EVENTS, "serve", setting.port]

    return Server("floor", sys.executable, command, version=())


def floor(build, engine):
    """Returns the floor: answers without reading, so it costs what the kernel costs."""

    def command(binary, setting):
        tls = ["--cert", setting.certificate, "--key", setting.key] if setting.tls else []
        body = ["--body-file", setting.file] if setting.file.is_file() else ["--not-found"]
        return [binary, "--port", setting.port, "--io", engine, "--threads", setting.threads,
                *body, *tls, *setting.options]

    return Server("floor", str(build / "lab/floor"), command, version=())


# Peers.


def _configured(template, setting, **values):
    """Writes lab/peers/TEMPLATE with its $names substituted. Returns the path.

    Options that change it: "uploads" (nginx stores them, H2O and Caddy read them and throw them
    away), "precompressed" (nginx and H2O serve FILE.gz in place of FILE), "listings" (of folders), "store=URL" (nginx passes
    all requests on to that).
    """
    text = (PEERS / template).read_text()
    names = {
        "port": setting.port, "root": setting.root, "work": setting.work,
        "threads": setting.threads, **values,
    }
    path = setting.work / template
    path.write_text(string.Template(text).substitute(names))
    return path


def _as_root(line):
    """Returns `line` if run as root: for servers that otherwise drop root."""
    return line if os.geteuid() == 0 else ""


_NGINX_UPLOAD = "location /upload/ { root $work; dav_methods PUT; create_full_put_path on; }"


_NGINX_UPSTREAM = "upstream store { server $address; keepalive 100; }"
_NGINX_STORE = """\
location / {
      proxy_pass http://store/$path;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_request_buffering off;
      proxy_max_temp_file_size 0;
    }"""


def _nginx_store(setting):
    """Returns what makes nginx pass requests on to a store."""
    url = next((option.partition("=")[2] for option in setting.options
                if option.startswith("store=")), None)
    if url is None:
        return {"upstream": "", "store": ""}
    address, _, path = url.removeprefix("http://").partition("/")
    return {"upstream": _NGINX_UPSTREAM.replace("$address", address),
            "store": _NGINX_STORE.replace("$path", path)}


def _nginx_sending(setting):
    """Returns nginx's cheapest setting of sendfile and tcp_nopush, as measured here.

    Measured in cleartext at 158 B, 20 and 100 kB and 1 MB, with HTTP/1.1 also at 6 kB. TLS has no
    sendfile.
    """
    size = setting.file.stat().st_size if setting.file.is_file() else 0
    sendfile = size >= (2_000 if setting.protocol == "h1" else 50_000)
    onoff = {True: "on", False: "off"}
    return {"sendfile": onoff[sendfile], "nopush": onoff[sendfile and size < 50_000]}


def _nginx(binary, setting):
    listen = ("ssl " if setting.tls else "") + ("http2" if setting.protocol == "h2" else "")
    tls = f"ssl_certificate {setting.certificate}; ssl_certificate_key {setting.key};"
    # Not every build has the module for PUT.
    upload = _NGINX_UPLOAD.replace("$work", str(setting.work))
    config = _configured("nginx.conf", setting, listen=listen, tls=tls if setting.tls else "",
                         user=_as_root("user root;"), **_nginx_sending(setting),
                         **_nginx_store(setting),
                         upload=upload if "uploads" in setting.options else "",
                         precompressed="on" if "precompressed" in setting.options else "off",
                         autoindex="on" if "listings" in setting.options else "off")
    return [binary, "-p", setting.work, "-e", setting.work / "error.log", "-c", config]


# H2O calls a handler when it has the whole body, in a file without a name if it is large.
_H2O_UPLOAD = """\
      /upload:
        mruby.handler: |
          Proc.new { |env| [201, {}, []] }
"""


def _h2o(binary, setting):
    # The other servers have neither a process for the key nor OCSP, so both are off.
    tls = (
        f"  ssl:\n    certificate-file: {setting.certificate}\n    key-file: {setting.key}\n"
        "    minimum-version: TLSv1.2\n    neverbleed: OFF\n    ocsp-update-interval: 0"
    )
    config = _configured("h2o.conf", setting, tls=tls if setting.tls else "",
                         user=_as_root("user: root"),
                         upload=_H2O_UPLOAD if "uploads" in setting.options else "",
                         precompressed="ON" if "precompressed" in setting.options else "OFF",
                         listings="ON" if "listings" in setting.options else "OFF")
    return [binary, "--mode", "worker", "--conf", config]


def _lighttpd(binary, setting):
    tls = (
        f'ssl.engine = "enable"\nssl.pemfile = "{setting.certificate}"\n'
        f'ssl.privkey = "{setting.key}"'
    )
    workers = f"server.max-worker = {setting.threads}\n" if setting.threads > 1 else ""
    config = _configured(
        "lighttpd.conf", setting,
        modules='"mod_openssl"' if setting.tls else "",
        tls=workers + (tls if setting.tls else ""),
    )
    return [binary, "-D", "-f", config]


# The placeholder reads the body, into memory.
_CADDY_UPLOAD = """\
	handle /upload/* {
		vars body {http.request.body}
		respond 201
	}
"""


def _caddy(binary, setting):
    scheme = "https" if setting.tls else "http"
    config = _configured(
        "Caddyfile", setting,
        address=f"{scheme}://127.0.0.1:{setting.port}",
        tls=f"tls {setting.certificate} {setting.key}" if setting.tls else "",
        upload=_CADDY_UPLOAD if "uploads" in setting.options else "",
        listings="browse" if "listings" in setting.options else "",
    )
    return [binary, "run", "--adapter", "caddyfile", "--config", config]


def _caddy_environment(setting):
    home = str(setting.work)
    return {"GOMAXPROCS": str(setting.threads), "HOME": home, "XDG_CONFIG_HOME": home}


def _nghttpd(binary, setting):
    tls = [setting.key, setting.certificate] if setting.tls else []
    return [binary, "--address", "127.0.0.1", "--htdocs", setting.root,
            "--workers", setting.threads, "--max-concurrent-streams", 1000,
            "--window-bits", 24, "--connection-window-bits", 24,
            *([] if setting.tls else ["--no-tls"]), setting.port, *tls]


NGINX = Server("nginx", "nginx", _nginx, version=("-v",))
NGHTTPD = Server("nghttpd", "nghttpd", _nghttpd, protocols=("h2c", "h2"))
H2O = Server("h2o", "h2o", _h2o)
LIGHTTPD = Server("lighttpd", "lighttpd", _lighttpd, version=("-v",),
                  needs="/usr/lib/lighttpd/mod_openssl.so")
CADDY = Server("caddy", "caddy", _caddy, version=("version",), environment=_caddy_environment)
PEER_LIST = (NGINX, NGHTTPD, H2O, LIGHTTPD, CADDY)


def with_binary(server, path):
    """Returns the same server with the binary at `path`."""
    return dataclasses.replace(server, binary=_absolute(path))


def _absolute(program):
    """Returns an absolute path; a command on the PATH unchanged."""
    return str(pathlib.Path(program).absolute()) if "/" in program else program


def from_template(name, template):
    """Returns a server by its command line: "/opt/x/server --port {port} --root {root}".

    Names in braces: port, root, work, threads, cert, key. NAME@h1, @h2c or @h2 sets the protocol;
    the default is h2 if the command uses {key}, otherwise h2c.
    """
    name, _, protocol = name.partition("@")
    words = shlex.split(template)

    def command(binary, setting):
        values = {
            "port": setting.port, "root": setting.root, "work": setting.work,
            "threads": setting.threads, "cert": setting.certificate, "key": setting.key,
        }
        return [binary, *(word.format(**values) for word in words[1:])]

    protocol = protocol or ("h2" if "{key}" in template else "h2c")
    return Server(name, _absolute(words[0]), command, version=(), protocols=(protocol,))
