"""SIGHUP: the configuration is read anew, and no request is lost meanwhile."""

import os
import re
import signal
import socket
import stat
import subprocess

import pytest

from support import named
from support.configured import free_port
from support.contents import form, noise
from support.environment import LAST_RESORT_S, not_sanitized, tool
from support.http1 import get
from support.protocols import PROTOCOLS, fetch, name_of
from support.reloading import Load, Reloading
from support.transfers import CONTENT, Download, begin_upload
from support.waiting import wait_until

CLEARTEXT = 'host = "127.0.0.1"\nport = {port}\nh2c = true\n'
FILES = {"one/name": "one", "two/name": "two", "one/large": CONTENT, "two/large": CONTENT}
H1, H1_TLS, H2C, H2 = sorted(PROTOCOLS, key=lambda protocol: (protocol.http2, protocol.tls))


def site(root, more=""):
    return CLEARTEXT.format(port=0) + more + f'[[site]]\nroot = "{root}"\nupload-dir = "up"\n'


def name(server, protocol=H1):
    return fetch(server, protocol, "/name").body


def wait_for(server, root, protocol=H1):
    """The one before may accept for a moment after the new one serves."""
    wait_until(lambda: name(server, protocol) == root, f"{root} is served")


def generations(server):
    """Returns the number of worker threads, one for each configuration that is served."""
    return len(os.listdir(f"/proc/{server.pid}/task"))


def test_the_new_configuration_is_served():
    with Reloading(site("one"), FILES) as server:
        assert name(server) == b"one"
        for root in ("two", "one", "two"):
            server.write("site.toml", site(root))
            server.reload()
            wait_for(server, root.encode())
            wait_for(server, root.encode(), H2C)


@pytest.mark.parametrize("wrong, reason", [
    ('port = "eighty"\n', "site.toml:1"),
    (site("gone"), "gone"),
    (site("one", 'auth = ["/=users"]\n'), "users"),
    (site("one", 'admin = "192.0.2.1:1"\nadmin-token = "x"\n'), "192.0.2.1"),
], ids=["syntax", "root", "users", "address"])
def test_a_wrong_configuration_changes_nothing(wrong, reason):
    with Reloading(site("one"), FILES) as server:
        server.write("site.toml", wrong)
        server.refuse_reload(reason)
        server.wait_for_message("the configuration stays as it was")
        assert name(server) == b"one"
        server.write("site.toml", site("two"))
        server.reload()
        wait_for(server, b"two")


def test_a_refused_configuration_serves_nobody(tmp_path):
    """It fails at the last thing that a start does: a file that can't be made."""
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    text = site("two", "threads = 2\n") + 'upload-access = "full"\n'
    with Reloading(site("one", "threads = 2\n"), FILES) as server:

        def visit():
            assert name(server) == b"one"

        with Load(visit, visit, visit) as load:
            for token in ("a", "b", "c"):
                server.write("site.toml", f'{text}upload-token = "{tmp_path}/gone/{token}"\n')
                server.refuse_reload(f"gone/{token}: ")
                load.wait_for_more(50)
        assert generations(server) < 12


def test_a_refused_configuration_leaves_no_token_that_nobody_knows():
    """The digest is written before the server starts, which is what fails here."""
    text = site("one") + 'upload-access = "full"\nupload-token = "tokens"\n'
    with Reloading(site("one"), FILES) as server:
        server.write("site.toml", 'access-log = "missing/log"\n' + text)
        server.refuse_reload("missing/log")
        assert not (server.folder / "tokens").exists()
        server.write("site.toml", text)
        server.reload()
        assert (server.folder / "tokens").exists()
        token = re.search(r"token +(\w+)", server.stdout)[1]
        fields = [("authorization", f"Bearer {token}")]
        wait_until(lambda: fetch(server, H1, "/files", fields=fields).status == 200,
                   "the token is good")


@pytest.mark.parametrize("scheme", ["reuseport", "acceptor"])
def test_the_host_of_a_port_changes(scheme):
    """Two sockets can share a port meanwhile if it was opened for several workers."""
    def text(root, host, port):
        return f'scheme = "{scheme}"\n' + site(root).replace("port = 0", f"port = {port}").replace(
            "127.0.0.1", host)

    with Reloading(text("one", "127.0.0.1", 0), FILES) as server:
        server.write("site.toml", text("two", "0.0.0.0", server.port))
        if scheme == "reuseport":
            server.reload()
            wait_for(server, b"two")
            assert named.fetch(server.port, "a", "/name", address="127.0.0.2").body == b"two"
        else:
            server.refuse_reload("restart it for this change")
            assert name(server) == b"one"


def test_listeners_come_and_go():
    ports = [free_port() for _ in range(2)]

    def text(*numbers):
        listeners = "".join(f'[[listener]]\nhost = "127.0.0.1"\nport = {number}\nh2c = true\n'
                            for number in numbers)
        return f'{listeners}[[site]]\nroot = "one"\n'

    def accepts(port):
        with socket.socket() as trial:
            return trial.connect_ex(("127.0.0.1", port)) == 0

    with Reloading(text(ports[0]), FILES) as server:
        server.write("site.toml", text(*ports))
        server.reload()
        assert all(named.fetch(port, "a", "/name").body == b"one" for port in ports)
        server.write("site.toml", text(ports[1]))
        server.reload()
        wait_until(lambda: not accepts(ports[0]), "the first one is closed")
        assert named.fetch(ports[1], "a", "/name").body == b"one"
        with socket.create_server(("127.0.0.1", ports[0])):  # in use: nothing changes
            server.write("site.toml", text(*ports))
            server.refuse_reload("in use")
        assert named.fetch(ports[1], "a", "/name").body == b"one"
        server.port = ports[1]


def test_the_file_of_a_unix_socket_stays():
    text = '[[listener]]\nunix = "h.sock"\nh2c = true\n[[site]]\nroot = "{}"\n'
    plain = f'[[listener]]\nhost = "127.0.0.1"\nport = {free_port()}\nh2c = true\n'
    with Reloading(plain + text.format("one"), FILES) as server:
        path = str(server.folder / "h.sock")
        before = os.stat(path).st_ino
        server.write("site.toml", plain + text.format("two"))
        server.reload()
        assert os.stat(path).st_ino == before
        wait_until(lambda: named.fetch(0, "a", "/name", address=path).body == b"two", "it is served")
        server.write("site.toml", plain + '[[site]]\nroot = "two"\n')
        server.reload()
        wait_until(lambda: not os.path.exists(path), "its file is removed")


def test_the_mode_of_a_unix_socket_changes():
    text = site("one").replace("[[site]]", '[[listener]]\nunix = "h.sock"\nh2c = true\n{}[[site]]')
    text = text.replace("host =", "[[listener]]\nhost =", 1)
    with Reloading(text.format('unix-mode = "0600"\n'), FILES) as server:
        path = server.folder / "h.sock"
        for mode in (0o660, 0o600):
            server.write("site.toml", text.format(f'unix-mode = "{mode:04o}"\n'))
            server.reload()
            assert stat.S_IMODE(path.stat().st_mode) == mode


def test_the_pid_file_changes():
    with Reloading('pid-file = "first"\n' + site("one"), FILES) as server:
        assert server.lines_of("first") == [b"%d" % server.pid]
        server.write("site.toml", 'pid-file = "second"\n' + site("one"))
        server.reload()
        assert server.lines_of("second") == [b"%d" % server.pid]
        assert not (server.folder / "first").exists()
        server.write("site.toml", site("one"))
        server.reload()
        assert not (server.folder / "second").exists()


@pytest.mark.parametrize("count", [1, 3])
def test_the_number_of_workers_changes(count):
    with Reloading(site("one", "threads = 2\n"), FILES) as server:
        server.write("site.toml", site("two", f"threads = {count}\n"))
        server.reload()
        wait_until(lambda: all(name(server) == b"two" for _ in range(20)), "all workers are new")


# --- what is under way ---------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", [H1, H2C], ids=name_of)
def test_what_is_in_flight_ends_as_it_began(protocol):
    """It has more time than --drain-timeout."""
    body = form(("kept", CONTENT))
    with Reloading(site("one", 'drain-timeout = "200ms"\n'), FILES) as server:
        download = Download(server, protocol)
        with protocol.connect(server) as uploading:
            finish = begin_upload(uploading, protocol, body)
            idle = H1.connect(server)
            idle.send(get("/name"))
            assert idle.answer().body == b"one"
            server.write("site.toml", site("two", 'drain-timeout = "200ms"\n'))
            server.reload()
            wait_for(server, b"two")
            assert idle.socket.recv(1) == b""  # its time is over
            idle.close()
            assert finish().status == 201
        assert download.finish() == CONTENT
        download.connection.close()
        assert (server.folder / "up/kept").read_bytes() == CONTENT


def test_a_connection_that_pauses_is_ended():
    with Reloading(site("one"), FILES) as server:
        with H1.connect(server) as idle, H2C.connect(server) as held:
            assert held.answer(held.request("GET", "/name")).body == b"one"
            idle.send(get("/name"))
            assert idle.answer().body == b"one"
            server.write("site.toml", site("two"))
            server.reload()
            idle.send(get("/name"))  # it was on its way
            assert idle.answer().body == b"one"
            assert idle.socket.recv(1) == b""
            held.run_until(lambda: held.goaways, "GOAWAY")


def test_no_request_is_lost():
    with Reloading(site("one", "threads = 2\n"), FILES) as server:

        def visit_anew(protocol):
            assert name(server, protocol) in (b"one", b"two")

        def visit_on(held={}):
            """On one connection, until the server ends that."""
            connection = held.get("connection") or H1.connect(server)
            connection.send(get("/name"))
            answer = connection.answer()
            assert answer.body in (b"one", b"two")
            ends = answer.field("connection") == "close"
            if ends:
                connection.close()
            held["connection"] = None if ends else connection

        with Load(lambda: visit_anew(H1), lambda: visit_anew(H2C), visit_on) as load:
            for root in ("two", "one") * 3:
                server.write("site.toml", site(root, "threads = 2\n"))
                server.reload()
                load.wait_for_more(50)
        wait_until(lambda: generations(server) < 12, "earlier workers end")


@not_sanitized
@pytest.mark.parametrize("how", [["--h1"], []], ids=["h1", "h2c"])
def test_no_request_of_h2load_is_lost(how):
    with Reloading(site("one"), FILES) as server:
        h2load = subprocess.Popen([tool("h2load"), *how, "-c50", "-m4", "-n40000",
                                   f"http://127.0.0.1:{server.port}/name"],
                                  stdout=subprocess.PIPE, text=True)
        for _ in range(2):
            server.reload()
        out, _ = h2load.communicate(timeout=LAST_RESORT_S)
        done = re.search(r"requests: (\d+) total.* (\d+) failed, (\d+) errored, (\d+) timeout", out)
        assert done and done.groups() == ("40000", "0", "0", "0"), out


# --- signals -------------------------------------------------------------------------------------


def test_many_signals_are_folded():
    with Reloading(site("one"), FILES) as server:
        for _ in range(500):
            server.signal(signal.SIGHUP)
        wait_until(lambda: "read anew" in server.stderr, "it is read anew")
        assert name(server) == b"one"
        assert generations(server) < 12


def test_sigterm_ends_earlier_configurations_too():
    with Reloading(site("one", 'drain-timeout = "200ms"\n'), FILES) as server:
        stuck = [Download(server, H1)]
        server.reload()
        stuck.append(Download(server, H2C))
        server.signal()
        assert server.ends()
        for download in stuck:
            download.connection.close()
        assert "waiting for" not in server.stderr or "GET /large" in server.stderr


def test_a_configuration_from_a_pipe_can_not_be_read_again():
    with Reloading(site("one"), FILES) as server:
        (server.folder / "site.toml").unlink()
        os.mkfifo(server.folder / "site.toml")
        server.refuse_reload("no file that can be read again")
        assert name(server) == b"one"
        (server.folder / "site.toml").unlink()
        server.refuse_reload("stays as it was")


def test_the_token_of_the_run_stays():
    text = site("one").replace('upload-dir = "up"', 'upload-dir = "up"\nupload-access = "full"')
    with Reloading(text, FILES) as server:
        token = re.search(r"token=(\w+)", server.stdout)[1]
        fields = [("authorization", f"Bearer {token}")]
        assert fetch(server, H1, "/files", fields=fields).status == 200
        server.reload()
        assert fetch(server, H1, "/files", fields=fields).status == 200
        assert server.stdout.count(token) == 1


LOCK = (b'<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope>'
        b"<locktype><write/></locktype></lockinfo>")


def test_what_limits_clients_is_not_forgotten():
    """Locks of WebDAV, what a token has used of its quota, and wrong guesses."""
    more = 'upload-access = "full"\nupload-quota = "1000"\nwebdav = true\nauth = ["/two=users"]\n'
    files = {**FILES, "users": "ada:{SHA256}" + 64 * "0" + "\n"}
    with Reloading(site("one", "").replace('upload-dir = "up"\n', 'upload-dir = "up"\n' + more),
                   files) as server:
        token = re.search(r"token=(\w+)", server.stdout)[1]
        fields = [("authorization", f"Bearer {token}")]

        def put(path, body):
            return fetch(server, H1, path, "PUT", fields, body).status

        def guess(path):
            return fetch(server, H1, path, fields=[("authorization", "Bearer wrong")]).status

        assert put("/files/a", b"0" * 900) == 201
        assert put("/files/b", b"0" * 900) == 413
        assert fetch(server, H1, "/files/a", "LOCK", fields, LOCK).status == 200
        assert put("/files/a", b"") == 423
        guesses = [guess(path) for path in ("/files", "/two") for _ in range(11)]
        assert guesses.count(401) >= 20
        server.reload()
        assert put("/files/b", b"0" * 900) == 413
        assert put("/files/a", b"") == 423
        for path in ("/files", "/two"):
            assert 429 in [guess(path) for _ in range(10)], path


def test_the_admin_listener_shows_the_new_one():
    admin = free_port()
    with Reloading(site("one", f'admin = "127.0.0.1:{admin}"\n'), FILES) as server:
        server.write("site.toml", site("two", f'admin = "127.0.0.1:{admin}"\n'))
        server.reload()
        wait_for(server, b"two")
        metrics = named.fetch(admin, "localhost", "/-/metrics").body.decode()
        counted = re.findall(r"^h2server_http_requests_total\{.*\} (\d+)$", metrics, re.MULTILINE)
        assert 1 <= sum(map(int, counted)) <= 3, counted


def test_noise_of_uploads_is_kept_across_reloads():
    content = noise(3_000_000, seed=5)
    with Reloading(site("one"), FILES) as server:

        def upload(numbers=iter(range(10_000))):
            number = next(numbers)
            answer = fetch(server, H1, f"/files/{number}", "PUT", body=content)
            assert answer.status == 201, answer
            assert (server.folder / f"up/{number}").read_bytes() == content

        with Load(upload) as load:
            for _ in range(3):
                server.reload()
                load.wait_for_more(3)
