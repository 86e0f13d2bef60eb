"""Debian's Prometheus scrapes the admin listener as deploy/prometheus and deploy/grafana say."""

import json
import re
import socket
import ssl
import subprocess
import time
import urllib.parse
import urllib.request

import pytest

from support import named
from support.certificates import make_certificate
from support.configured import Configured, free_port
from support.contents import form, form_type
from support.environment import LAST_RESORT_S, SOURCE, tool
from support.metrics import scrape
from support.waiting import wait_until

EXAMPLE = SOURCE / "deploy/prometheus/prometheus.yml"
DASHBOARD = json.loads((SOURCE / "deploy/grafana/h2server.json").read_text())
TOKEN = "a-token-for-the-test"
TEXT = """
host = "127.0.0.1"
access-log = "access.log"
admin = "127.0.0.1:{admin}"
admin-token = "{token}"
[[listener]]
port = 0
[[site]]
host = "one.test"
root = "www"
cert = "one.crt"
key = "one.key"
upload-dir = "up"
"""


class Prometheus:
    """Prometheus with the example's configuration, but a token, a short interval and one target."""

    def __init__(self, folder, admin):
        self._folder = folder
        self.port = free_port()
        text = EXAMPLE.read_text()
        assert text.count("127.0.0.1:9000\"]") == 1 and text.count("scrape_interval: 15s") == 1
        text = text.replace("127.0.0.1:9000\"]", f"127.0.0.1:{admin}\"]")
        text = text.replace("scrape_interval: 15s", "scrape_interval: 250ms")
        text = text.replace("    # authorization:", "    authorization:")
        text = re.sub(r"    #   credentials_file: \S+",
                      f"      credentials_file: {folder / 'token'}", text)
        (folder / "token").write_text(TOKEN)
        (folder / "prometheus.yml").write_text(text)

    def __enter__(self):
        with open(self._folder / "prometheus.log", "wb") as log:
            self._process = subprocess.Popen(
                [tool("prometheus"), f"--config.file={self._folder / 'prometheus.yml'}",
                 f"--storage.tsdb.path={self._folder / 'data'}", "--log.level=warn",
                 f"--web.listen-address=127.0.0.1:{self.port}"],
                cwd=self._folder, stdout=log, stderr=log)
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()

    def query(self, expression):
        """Returns the values of an expression. Fails if it can't be evaluated."""
        url = f"http://127.0.0.1:{self.port}/api/v1/query?" + urllib.parse.urlencode(
            {"query": expression})
        with urllib.request.urlopen(url, timeout=LAST_RESORT_S) as answer:
            found = json.load(answer)
        assert found["status"] == "success" and "warnings" not in found, found
        data = found["data"]
        return data["result"] if data["resultType"] == "vector" else [data]

    def is_ready(self):
        if self._process.poll() is not None:
            raise AssertionError((self._folder / "prometheus.log").read_text())
        try:
            return self.query("vector(1)") != []
        except OSError:
            return False


def make_requests(server):
    """Requests of all kinds that the dashboard shows."""
    context = ssl.create_default_context(cafile=server.folder / "one.crt")

    def client():
        return named.Client(context.wrap_socket(named.plain(server.port),
                                                server_hostname="one.test"))

    with client() as one:
        for path in ("/a.txt", "/a.txt", "/none"):
            one.fetch("one.test", path)
        one.fetch("one.test", "/files", ": ".join(form_type()), method="POST",
                  body=form((f"u{time.monotonic_ns()}", b"12345")))
    with client() as one:
        one.send(b"GET /large HTTP/1.1\r\nHost: one.test\r\n\r\n")
        one.answer_head()
        one.reset()
    with socket.create_connection(("127.0.0.1", server.port)) as other:
        other.sendall(b"nonsense" * 100)


def expressions():
    """Yields what panels and variables ask, with the variables replaced as Grafana does."""
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", []):
            text = target["expr"].replace("$__rate_interval", "1m")
            for name in ("job", "instance", "site"):
                text = text.replace(f"${name}", ".*")
            assert "$" not in text, text
            yield panel["title"], text


@pytest.fixture(scope="module")
def scraped(tmp_path_factory):
    admin = free_port()
    server = Configured(TEXT.format(admin=admin, token=TOKEN), {"www/a.txt": "0123456789"})
    make_certificate(server.folder, "one", "one.test")
    with open(server.folder / "www/large", "wb") as file:
        file.truncate(1 << 30)
    with server, Prometheus(tmp_path_factory.mktemp("prometheus"), admin) as prometheus:
        wait_until(prometheus.is_ready, "Prometheus starts")
        # A rate needs a sample from before a series' growth.
        make_requests(server)
        wait_until(lambda: prometheus.query("h2server_http_responses_cut_off_total"),
                   "the first numbers are there")
        make_requests(server)
        wanted = scrape_value(admin)
        wait_until(lambda: sum(float(one["value"][1]) for one in prometheus.query(
            "h2server_http_requests_total")) >= wanted, "the second numbers are there")
        yield prometheus, wanted


def scrape_value(admin):
    """Returns the count of requests once all are counted."""
    def found():
        return scrape(admin, f"Authorization: Bearer {TOKEN}").value("h2server_http_requests_total")

    wait_until(lambda: found() == 10, "10 requests are counted")
    return found()


def test_counts_arrive(scraped):
    prometheus, wanted = scraped
    (found,) = prometheus.query('sum(h2server_http_requests_total{site="one.test"})')
    assert float(found["value"][1]) == wanted
    # Counters are known as such, with what they mean.
    url = f"http://127.0.0.1:{prometheus.port}/api/v1/metadata?metric=h2server_http_requests"
    with urllib.request.urlopen(url, timeout=LAST_RESORT_S) as answer:
        known = json.load(answer)["data"]
    assert [one["type"] for one in known["h2server_http_requests"]] == ["counter"]


@pytest.mark.parametrize("title, expression", expressions())
def test_dashboard(scraped, title, expression):
    """Each expression has data."""
    prometheus, _ = scraped
    found = prometheus.query(expression)
    assert found, f"{title}: no data"
    for one in found:
        assert float(one["value"][1]) == float(one["value"][1]), f"{title}: not a number"


def test_requests_have_rates(scraped):
    prometheus, _ = scraped
    for title, expression in expressions():
        if not title.startswith("Requests"):
            continue
        values = [float(one["value"][1]) for one in prometheus.query(expression)]
        assert max(values) > 0, (title, expression)


def test_dashboard_is_complete():
    """Each family of the program is on the dashboard, but for two that other panels show."""
    shown = " ".join(text for _, text in expressions())
    families = set(re.findall(r'family\("(h2server_\w+|process_\w+)"',
                              "".join(path.read_text() for path in [
                                  SOURCE / "src/observe/metric_families.cc",
                                  SOURCE / "src/server/status.cc"])))
    assert len(families) > 20
    missing = {name for name in families if name not in shown}
    assert missing <= {"h2server_worker_accepted"}, missing


def test_dashboard_for_grafana():
    assert DASHBOARD["schemaVersion"] == 39
    names = {one["name"]: one for one in DASHBOARD["templating"]["list"]}
    assert names["datasource"]["type"] == "datasource"
    assert {"job", "instance", "site"} <= set(names)
    numbers = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(numbers)) == len(numbers)
    taken = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                 for y in range(place["y"], place["y"] + place["h"])}
        assert not taken & cells and place["x"] + place["w"] <= 24, panel["title"]
        taken |= cells
        if panel["type"] != "row":
            assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
            assert panel["description"] and panel["targets"]


def test_example_is_valid(tmp_path):
    subprocess.run([tool("promtool"), "check", "config", EXAMPLE], check=True, cwd=tmp_path)
