"""deploy/compose and deploy/haproxy: the parts fit together, and the scripts in compose.yaml work.

No containers run: the programs are started here. test_cluster.py runs HAProxy with its files.
"""

import os
import re
import subprocess
import tomllib

import pytest

from support.cluster import haproxy
from support.certificates import make_certificate
from support.configured import free_port
from support.environment import BINARY, LAST_RESORT_S, SANITIZER, SOURCE
from support.s3 import BUCKET, KEY_ID, S3, SECRET, needs_s3

yaml = pytest.importorskip("yaml")
pytestmark = pytest.mark.skipif(bool(SANITIZER), reason="does not depend on the build")

DEPLOY = SOURCE / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose/compose.yaml").read_text())
SERVICES = COMPOSE["services"]
REPLICAS = ["replica1", "replica2", "replica3"]
CONFIGURATION = tomllib.loads((DEPLOY / "compose/h2server.toml").read_text())
HAPROXY = {file.name: file.read_text() for file in sorted((DEPLOY / "haproxy").glob("*.cfg"))}


def seconds(time):
    return int(time.removesuffix("s"))


@pytest.mark.parametrize("files", [["haproxy.cfg"], ["haproxy.cfg", "minio.cfg"],
                                   ["haproxy.cfg", "minio.cfg", "passthrough.cfg"]])
def test_haproxy_accepts_its_files(files, tmp_path):
    make_certificate(tmp_path, "server", "localhost")
    command = [haproxy(), "-c"]
    for name in files:
        # The names of the containers are known to Docker only.
        text = re.sub(r"server (\w+) \w+:", r"server \1 127.0.0.1:", HAPROXY[name])
        (tmp_path / name).write_text(text.replace("/srv/cert/", f"{tmp_path}/"))
        command += ["-f", tmp_path / name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    complaints = [line for line in done.stderr.splitlines()
                  if "[WARNING]" in line and "FD limit" not in line]
    assert complaints == []


def test_only_get_and_head_are_sent_again():
    sections = dict(re.findall(r"^(?:frontend|backend) (\w+)\n(.*?)(?=^\S|\Z)", HAPROXY["haproxy.cfg"],
                               re.MULTILINE | re.DOTALL))
    assert "use_backend downloads if METH_GET\n  default_backend uploads" in sections["clients"]
    assert "empty-response" in sections["downloads"]
    assert re.search(r"retry-on (.*)", sections["uploads"])[1] == "conn-failure"
    assert "disable-l7-retry unless METH_GET" in HAPROXY["minio.cfg"]


def test_replicas():
    for name in REPLICAS:
        service = SERVICES[name]
        assert service["command"] == ["--config", "/etc/h2server/h2server.toml"]
        assert service["volumes"] == ["./h2server.toml:/etc/h2server/h2server.toml:ro"]
        assert service["read_only"] and service["cap_drop"] == ["ALL"]
    stopping = seconds(CONFIGURATION["shutdown-delay"]) + seconds(CONFIGURATION["drain-timeout"])
    assert seconds(SERVICES["replica1"]["stop_grace_period"]) >= stopping + 5
    for host, port in re.findall(r"server \w+ (\w+):(\d+)", HAPROXY["haproxy.cfg"]):
        assert host in REPLICAS and int(port) == CONFIGURATION["listener"][0]["port"]
    admin = CONFIGURATION["admin"].rsplit(":", 1)[1]
    assert set(re.findall(r"check port (\d+)", HAPROXY["haproxy.cfg"])) == {admin}
    # The checks notice before the replica goes.
    assert seconds(CONFIGURATION["shutdown-delay"]) >= 3
    prometheus = yaml.safe_load((DEPLOY / "compose/prometheus.yml").read_text())
    job, = prometheus["scrape_configs"]
    assert job["static_configs"] == [{"targets": [f"{name}:{admin}" for name in REPLICAS]}]
    assert job["authorization"]["credentials_file"] == SERVICES["prometheus"]["configs"][0]["target"]


def test_mounted_files_are_there():
    for name, service in SERVICES.items():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            if source.startswith("."):
                assert (DEPLOY / "compose" / source).is_file(), f"{name}: {source}"
            else:
                assert source in COMPOSE["volumes"], f"{name}: {source}"
        for other in service.get("depends_on", {}):
            assert other in SERVICES, f"{name}: {other}"
    published = {port.split(":")[-1] for port in SERVICES["haproxy"]["ports"]}
    assert published == set(re.findall(r"bind :(\d+)", HAPROXY["haproxy.cfg"]))


def variables():
    return {"PATH": f"{BINARY.parent}:{os.environ['PATH']}", **{
        name: re.sub(r"\$\{\w+:-(.*)\}", r"\1", value)
        for name, value in SERVICES["replica1"]["environment"].items()}}


def test_configuration_is_right(tmp_path):
    done = subprocess.run([BINARY, "check", "--config", DEPLOY / "compose/h2server.toml"],
                          cwd=tmp_path, text=True, capture_output=True, check=False, env=variables())
    assert done.returncode == 0, done.stderr


def script(name, folder):
    """Returns the script of a service as its shell gets it, with a folder for /srv, whose path has no
    spaces. SOURCE's may have some."""
    (folder / "www").symlink_to(SOURCE / "www")
    text, = SERVICES[name]["command"]
    assert SERVICES[name]["entrypoint"] == ["sh", "-euc"]
    return text.replace("$$", "$").replace("/srv", str(folder))


@needs_s3
def test_bucket_is_made(tmp_path):
    with S3() as s3:
        environment = {**variables(), "AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET,
                       "S3_ENDPOINT": s3.url}
        text = script("bucket", tmp_path)
        for bucket in ("another", BUCKET):  # the second one is there already
            subprocess.run(["sh", "-euc", text], check=True,
                           env={**environment, "BUCKET": bucket}, timeout=LAST_RESORT_S)
        assert s3.get("index.html") == (SOURCE / "www/index.html").read_bytes()


def test_certificate_is_made(tmp_path):
    (tmp_path / "cert").mkdir()
    text = script("certificate", tmp_path).replace("8443", str(free_port()))
    subprocess.run(["sh", "-euc", text], check=True, env={**variables(), "HOME": str(tmp_path)},
                   timeout=LAST_RESORT_S, stdout=subprocess.DEVNULL)
    assert (tmp_path / "cert/server.crt").exists() and (tmp_path / "cert/server.key").exists()
