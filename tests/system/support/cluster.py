"""MinIO on four nodes, three replicas that serve it, and HAProxy in front of both, all on loopback and
with the configuration files of deploy/. Each process can be killed and started again."""

import contextlib
import csv
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import urllib.error
import urllib.request

import pytest

from support.certificates import make_certificate
from support.environment import BINARY, LAST_RESORT_S, SOURCE, tool
from support.resumable import lasting_port
from support.s3 import BUCKET, KEY_ID, MINIO, SECRET, Objects, needs_s3
from support.waiting import holds_within

_HAPROXY = shutil.which("haproxy", path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin")
_DEPLOY = SOURCE / "deploy"
TOKEN = "the-admin-token"
NODES = 4
REPLICAS = 3


def needs_cluster(test):
    haproxy = pytest.mark.skipif(not _HAPROXY, reason="HAProxy is not installed")
    return needs_s3(haproxy(test))


def haproxy():
    if not _HAPROXY:
        pytest.skip("HAProxy is not installed")
    return _HAPROXY


def answers(url):
    """Returns true if a GET gets a 200."""
    try:
        with urllib.request.urlopen(url, timeout=LAST_RESORT_S) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


class Process:
    """A program that is started, killed and started again. `name`: also of its log."""

    def __init__(self, name, folder, command, environment):
        self.name = name
        self._log = folder / f"{name}.log"
        self._folder = folder
        self._command = command
        self._environment = {**os.environ, **environment}
        self._process = None

    def start(self):
        with open(self._log, "ab") as log:
            self._process = subprocess.Popen(self._command, cwd=self._folder, stdout=log,
                                             stderr=log, stdin=subprocess.DEVNULL,
                                             env=self._environment, start_new_session=True)

    def signal(self, number):
        self._process.send_signal(number)

    def wait(self, seconds=LAST_RESORT_S):
        """Returns the exit status."""
        return self._process.wait(seconds)

    def kill(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    @property
    def running(self):
        return self._process is not None and self._process.poll() is None

    @property
    def log_file(self):
        return self._log

    @property
    def log(self):
        return self._log.read_text(errors="replace") if self._log.exists() else ""


class Node(Process):
    """A node of MinIO."""

    def __init__(self, folder, number, ports):
        self.port = ports[number - 1]
        self._local = f"127.0.0.1:{self.port}"
        drives = [f"http://127.0.0.1:{port}{folder}/drive{other}"
                  for other, port in enumerate(ports, 1)]
        super().__init__(f"minio{number}", folder,
                         [MINIO, "server", "--quiet", "--address", self._local, *drives],
                         {"MINIO_ROOT_USER": KEY_ID, "MINIO_ROOT_PASSWORD": SECRET,
                          "MINIO_BROWSER": "off",
                          "MINIO_CI_CD": "1",                      # drives beside the system's
                          "_MINIO_SERVER_LOCAL": self._local})     # loopback, also in a container

    @property
    def ready(self):
        """Reaches enough others to write."""
        return answers(f"http://{self._local}/minio/health/cluster")

    @property
    def may_end(self):
        """Reaches so many others that these can write without it."""
        return answers(f"http://{self._local}/minio/health/cluster?maintenance=true")


class Replica(Process):
    """h2server with deploy/compose/h2server.toml, and a listener with TLS for passthrough."""

    def __init__(self, folder, number, endpoint, lines):
        self.port, self.tls_port, self.admin_port = lasting_port(), lasting_port(), lasting_port()
        text = (_DEPLOY / "compose/h2server.toml").read_text()
        for old, new in (('"0.0.0.0:9000"', f'"127.0.0.1:{self.admin_port}"'),
                         ("port = 8080", f'host = "127.0.0.1"\nport = {self.port}'),
                         ('trusted-proxy = ["', 'trusted-proxy = ["127.0.0.1", "'),
                         ("[[listener]]", 'ticket-key = ["ticket.key"]\n'
                          f'[[listener]]\nhost = "127.0.0.1"\nport = {self.tls_port}\n'
                          "proxy-protocol = true\n[[listener]]"),
                         ("[[site]]", '[[site]]\ncert = "server.crt"\nkey = "server.key"\n')):
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        self.ending = False  # it was told to end
        file = folder / f"replica{number}.toml"
        file.write_text(text + "".join(f"{line}\n" for line in lines))
        super().__init__(f"replica{number}", folder, [BINARY, "--config", file],
                         {"ADMIN_TOKEN": TOKEN, "AWS_ACCESS_KEY_ID": KEY_ID,
                          "AWS_SECRET_ACCESS_KEY": SECRET, "BUCKET": BUCKET,
                          "S3_ENDPOINT": endpoint})

    @property
    def ready(self):
        return answers(f"http://127.0.0.1:{self.admin_port}/-/ready")


class Proxy(Process):
    """HAProxy with files of deploy/haproxy. Their hosts and ports are replaced, and all requests of
    clients are logged with their field X-Test-Request."""

    def __init__(self, folder, ports, names):
        self._socket = folder / "haproxy.sock"
        self._places = ports  # "replica1:8080", "bind :8080" and so on, by what replaces them
        files = []
        for name in names:
            file = folder / name
            file.write_text(self.localize((_DEPLOY / "haproxy" / name).read_text(), folder))
            files += ["-f", file]
        own = folder / "own.cfg"
        own.write_text(f"global\n  stats socket {self._socket}\n")
        super().__init__("haproxy", folder, [haproxy(), "-db", *files, "-f", own], {})

    def localize(self, text, folder):
        text = text.replace("/srv/cert/", f"{folder}/")
        text = re.sub(r"maxconn \d+", "maxconn 400", text)
        text = text.replace("  option dontlog-normal\n", "")
        text = text.replace("frontend store\n", "frontend store\n  option dontlog-normal\n")
        text = text.replace("frontend clients\n", "frontend clients\n"
                            "  http-request capture req.hdr(X-Test-Request) len 16\n")

        def server(match):
            name, port = match[1], match[2]
            line = f"server {name} 127.0.0.1:{self._places[f'{name}:{port}']}"
            admin = self._places.get(f"{name}:9000")
            return line + (f" port {admin}" if name.startswith("replica") else "")

        text = re.sub(r"server (\w+) \w+:(\d+)", server, text)
        text = text.replace(" port 9000", "")
        return re.sub(r"bind :(\d+)",
                      lambda match: f"bind 127.0.0.1:{self._places[match[1]]}", text)

    def up(self, backend):
        """Returns the names of the servers of a backend that get requests."""
        return {row["svname"] for row in self._rows() if row["# pxname"] == backend
                and row["svname"] != "BACKEND" and row["status"].startswith("UP")}

    def sent_again(self):
        """Returns how many requests and connections were sent to another server after a failure."""
        return sum(int(row["wredis"] or 0) for row in self._rows() if row["svname"] == "BACKEND")

    def _rows(self):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(LAST_RESORT_S)
            connection.connect(str(self._socket))
            connection.sendall(b"show stat\n")
            text = b"".join(iter(lambda: connection.recv(65536), b"")).decode()
        return list(csv.DictReader(text.splitlines()))


class Cluster(contextlib.AbstractContextManager):
    """with Cluster() as cluster: all of it, ready.

    `lines`: further ones of the site of each replica. `store`: one that runs (S3), in place of the four
    nodes of MinIO behind HAProxy.
    """

    def __init__(self, *lines, store=None):
        self._lines = lines
        self.store = store

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="h2server-cluster-"))
        self.processes, self.nodes = [], []
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self):
        make_certificate(self.folder, "server", "localhost")
        (self.folder / "ticket.key").write_bytes(os.urandom(80))
        places = self._place_store() if self.store is None else {}
        self.replicas = [Replica(self.folder, number, self.store.url, self._lines)
                         for number in range(1, REPLICAS + 1)]
        self.port, self.secure_port, self.passthrough_port = (lasting_port() for _ in range(3))
        places |= {"8080": self.port, "8443": self.secure_port, "8444": self.passthrough_port}
        for one in self.replicas:
            places |= {f"{one.name}:8080": one.port, f"{one.name}:8443": one.tls_port,
                       f"{one.name}:9000": one.admin_port}
        # In this order: minio.cfg has the defaults of haproxy.cfg.
        names = ["haproxy.cfg", *(["minio.cfg"] if self.nodes else []), "passthrough.cfg"]
        self.proxy = Proxy(self.folder, places, names)
        self.processes = [*self.nodes, *self.replicas, self.proxy]
        for one in self.processes:
            one.start()
        if self.nodes:
            self._await(lambda: all(node.may_end for node in self.nodes), "MinIO is not ready")
            self._await(lambda: len(self.proxy.up("minio")) == NODES, "HAProxy sees no MinIO")
            self.store.make_bucket()
            self._await(self._every_node_answers, "a node of MinIO does not know what another has")
        self._await(lambda: all(len(self.proxy.up(backend)) == REPLICAS for backend in (
            "downloads", "uploads", "tls-replicas")), "HAProxy sees no replicas")

    def _place_store(self):
        """Returns the places of MinIO and of HAProxy in front of it."""
        ports = [lasting_port() for _ in range(NODES)]
        self.nodes = [Node(self.folder, number, ports) for number in range(1, NODES + 1)]
        store = lasting_port()
        self.store = Objects(f"http://127.0.0.1:{store}")
        return {"9100": store, **{f"{one.name}:9000": one.port for one in self.nodes}}

    def _every_node_answers(self):
        """Stores an object through each node and reads it through all. Returns false if one fails: a
        node that has only just started may answer 404 for objects of the others."""
        nodes = [Objects(f"http://127.0.0.1:{node.port}") for node in self.nodes]
        try:
            for number, node in enumerate(nodes):
                node.put(f"known{number}", b"known")
            return all(node.get(f"known{number}") == b"known"
                       for node in nodes for number in range(NODES))
        except subprocess.CalledProcessError:
            return False

    def _await(self, condition, what):
        def holds():
            with contextlib.suppress(OSError):
                return condition()
            return not all(one.running for one in self.processes)

        if not holds_within(holds, LAST_RESORT_S) or not all(
                one.running for one in self.processes):
            raise AssertionError(f"{what}: " + "\n".join(
                f"--- {one.name}\n{one.log[-800:]}" for one in self.processes))

    def __exit__(self, *_):
        for one in self.processes:
            one.kill()
        shutil.rmtree(self.folder)

    def evidence(self):
        """Returns the lines of logs that tell of failed requests."""
        odd = re.compile(r" (?:-1|50\d) \d+ - - | S[CDH](?:--)? |^h2server: error")
        return "\n".join(
            f"--- {one.name}\n" + "\n".join(
                [line[:400] for line in one.log.splitlines() if odd.search(line)][-30:])
            for one in (self.proxy, *self.replicas))

    def spared_by(self, victim):
        """Returns true if HAProxy has another replica than this one to send requests to, which runs."""
        up = self.proxy.up("downloads") & self.proxy.up("uploads")
        return any(one.running and one.name in up and not one.ending
                   for one in self.replicas if one is not victim)
