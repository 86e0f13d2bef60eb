"""deploy/kubernetes and deploy/helm: what they render is valid, fits together and runs the program.

Needs kubectl or kustomize, helm, kubeconform and the schemas that `scripts/setup test` makes; what
is missing is skipped. No cluster is needed.
"""

import collections
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import tomllib

import pytest

from support.configured import free_port
from support.environment import BINARY, LAST_RESORT_S, SANITIZER, tool
from support.manifests import (CHART, KUSTOMIZE, RENDERINGS, SCHEMAS, SERVER_ENVIRONMENT,
                               kustomized, optional_tool, run, templated)
from support.named import fetch
from support.waiting import wait_until

yaml = pytest.importorskip("yaml")
pytestmark = pytest.mark.skipif(bool(SANITIZER), reason="does not depend on the build")

SELECTOR = {"app.kubernetes.io/name": "h2server", "app.kubernetes.io/instance": "h2server"}


class Rendering:
    def __init__(self, text):
        self.text = text
        self.objects = [one for one in yaml.safe_load_all(text) if one]

    def all(self, kind):
        return [one for one in self.objects if one["kind"] == kind]

    def one(self, kind):
        found = self.all(kind)
        assert len(found) == 1, f"{len(found)} of {kind}"
        return found[0]

    def service(self, name="h2server"):
        return next(one for one in self.all("Service") if one["metadata"]["name"] == name)

    @property
    def pod(self):
        return self.one("Deployment")["spec"]["template"]["spec"]

    @property
    def container(self):
        assert len(self.pod["containers"]) == 1
        return self.pod["containers"][0]

    @property
    def configuration(self):
        return self.one("ConfigMap")["data"]["h2server.toml"]

    @property
    def ports(self):
        return {port["name"]: port["containerPort"] for port in self.container["ports"]}


@pytest.fixture(params=RENDERINGS)
def rendering(request):
    return Rendering(RENDERINGS[request.param]())


def seconds(time):
    number, unit = re.fullmatch(r"(\d+)(s|m)", time).groups()
    return int(number) * {"s": 1, "m": 60}[unit]


# --- valid --------------------------------------------------------------------------------------


def conforms(text):
    if not SCHEMAS.is_dir():
        pytest.skip("no schemas; scripts/setup test makes them")
    command = [optional_tool("kubeconform"), "-schema-location",
               f"{SCHEMAS}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stdout + done.stderr


def test_schemas(rendering):
    valid, reasons = conforms(rendering.text)
    assert valid, reasons


@pytest.mark.parametrize("change", [
    ("terminationGracePeriodSeconds", "terminationGraceSeconds"), ("path: /-/ready", "path: 5"),
    ("containerPort: 8080", "containerPort: http")])
def test_schemas_find_mistakes(change):
    assert change[0] in kustomized()
    assert not conforms(kustomized().replace(*change))[0]


def test_helm_lint():
    for values in [None, *sorted((CHART / "ci").glob("*.yaml"))]:
        run([optional_tool("helm"), "lint", "--strict", CHART,
             *(["--values", values] if values else [])])


@pytest.mark.parametrize("setting, reason", [
    ("storee.place=x", "storee"), ("store.place=http://x", "place"),
    ("store.cacheGiB=20Gi", "cacheGiB"),
    ("shutdownDelaySeconds=15s", "shutdownDelaySeconds"), ("admin.secret=", "secret"),
    ("ingress.enabled=true,tls.enabled=true", "ends TLS"),
    ("gateway.enabled=true,tls.enabled=true", "ends TLS")])
def test_helm_refuses(setting, reason):
    done = subprocess.run([optional_tool("helm"), "template", "h2server", CHART, "--kube-version",
                           "1.31.0", "--set", setting], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and reason in done.stderr


# --- what belongs together ----------------------------------------------------------------------


def test_pod_security(rendering):
    """The profile "restricted", and more."""
    pod, container = rendering.pod, rendering.container
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not {"runAsUser", "runAsGroup", "fsGroup"} & set(pod["securityContext"]), "any user id"
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]}}
    assert not {"hostNetwork", "hostPID", "hostIPC", "initContainers"} & set(pod)
    assert {key for volume in pod["volumes"] for key in volume} <= {"name", "configMap", "secret",
                                                                    "emptyDir"}
    assert pod["automountServiceAccountToken"] is False
    assert "memory" in container["resources"]["limits"] and "cpu" in container["resources"]["requests"]


def test_grace_period(rendering):
    options = tomllib.loads(rendering.configuration)
    stopping = seconds(options["shutdown-delay"]) + seconds(options["drain-timeout"])
    own = 5  # stop_margin of the program
    assert rendering.pod["terminationGracePeriodSeconds"] >= stopping + own + 5
    probe = rendering.container["readinessProbe"]
    noticed = probe["periodSeconds"] * probe["failureThreshold"] + probe["timeoutSeconds"]
    assert noticed < seconds(options["shutdown-delay"])


def test_ports(rendering):
    options = tomllib.loads(rendering.configuration)
    ports = rendering.ports
    listener, = options["listener"]
    public = "http" if listener.get("h2c") else "https"
    assert ports == {public: listener["port"], "admin": int(options["admin"].rsplit(":", 1)[1])}
    assert all(port >= 1024 for port in ports.values())

    for name, path in (("startup", "healthy"), ("liveness", "healthy"), ("readiness", "ready")):
        probe = rendering.container[f"{name}Probe"]["httpGet"]
        assert probe == {"path": f"/-/{path}", "port": "admin"}
    service, = rendering.service()["spec"]["ports"]
    assert (service["name"], service["targetPort"]) == (public, public)
    assert service["port"] == {"http": 80, "https": 443}[public]
    for policy in rendering.all("NetworkPolicy"):
        into = [port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]]
        assert into == [public, "admin"]
        assert "from" in policy["spec"]["ingress"][1], "not everybody reaches the admin listener"
    for ingress in rendering.all("Ingress"):
        path = ingress["spec"]["rules"][0]["http"]["paths"][0]
        assert path["backend"]["service"] == {"name": "h2server", "port": {"name": public}}
    for route in rendering.all("HTTPRoute"):
        assert route["spec"]["rules"][0]["backendRefs"] == [{"name": "h2server", "port": 80}]
    for monitor in rendering.all("ServiceMonitor"):
        admin = rendering.service("h2server-admin")
        assert monitor["spec"]["endpoints"][0]["port"] == admin["spec"]["ports"][0]["name"]
        assert admin["spec"]["ports"][0]["targetPort"] == "admin"
        wanted = monitor["spec"]["selector"]["matchLabels"].items()
        assert wanted <= admin["metadata"]["labels"].items()
        assert not wanted <= rendering.service()["metadata"]["labels"].items(), "scraped twice"


def test_selectors_and_names(rendering):
    deployment = rendering.one("Deployment")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert SELECTOR.items() <= labels.items()
    assert deployment["spec"]["selector"]["matchLabels"] == SELECTOR
    assert all(one["spec"]["selector"] == SELECTOR for one in rendering.all("Service"))
    assert rendering.one("PodDisruptionBudget")["spec"]["selector"]["matchLabels"] == SELECTOR
    assert all(one["spec"]["podSelector"]["matchLabels"] == SELECTOR
               for one in rendering.all("NetworkPolicy"))
    spread, = rendering.pod["topologySpreadConstraints"]
    assert spread["labelSelector"]["matchLabels"] == SELECTOR
    scaled = [one["spec"]["scaleTargetRef"]["name"]
              for one in rendering.all("HorizontalPodAutoscaler")]
    assert scaled in ([], ["h2server"])
    # One decides on their number.
    assert ("replicas" in deployment["spec"]) == (not scaled)
    counted = collections.Counter((one["kind"], one["metadata"]["name"])
                                  for one in rendering.objects)
    assert max(counted.values()) == 1, counted


def test_files(rendering):
    """Each file that the configuration names is in a volume."""
    mounts = {mount["name"]: mount for mount in rendering.container["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in rendering.pod["volumes"]}
    assert mounts.keys() == volumes.keys()
    assert all(mount["readOnly"] and "subPath" not in mount for name, mount in mounts.items()
               if name != "cache")
    assert volumes["config"]["configMap"]["name"] == rendering.one("ConfigMap")["metadata"]["name"]
    assert rendering.container["args"] == ["--config", "/etc/h2server/h2server.toml"]
    named = re.findall(r'"(/etc/[^"]+)/[^/"]+"', rendering.configuration)
    assert set(named) == {mount["mountPath"] for name, mount in mounts.items()
                          if name not in ("config", "cache")}
    for certificate in rendering.all("Certificate"):
        assert certificate["spec"]["secretName"] == volumes["tls"]["secret"]["secretName"]


def test_cache():
    """The kubelet evicts a pod whose copies exceed the limit."""
    rendering = Rendering(RENDERINGS["chart-cache"]())
    site, = tomllib.loads(rendering.configuration)["site"]
    mount, = (one for one in rendering.container["volumeMounts"] if one["name"] == "cache")
    volume, = (one for one in rendering.pod["volumes"] if one["name"] == "cache")
    assert site["store-cache"].startswith(mount["mountPath"] + "/")
    assert (site["store-cache-size"], volume["emptyDir"]) == ("20GiB", {"sizeLimit": "23Gi"})
    assert not mount.get("readOnly")


def test_web_identity():
    """The cluster gives it to the pods of a service account, so there is no Secret for the store."""
    text = run([optional_tool("helm"), "template", "h2server", CHART, "--kube-version", "1.31.0",
                "--set", "store.secret=,serviceAccount=downloads"])
    rendering = Rendering(text)
    assert rendering.pod["serviceAccountName"] == "downloads"
    assert "envFrom" not in rendering.container


def test_secrets_are_no_text(rendering):
    assert rendering.all("Secret") == []
    environment = rendering.container["env"]
    assert [entry["name"] for entry in environment] == ["ADMIN_TOKEN"]
    assert "valueFrom" in environment[0]
    assert 'admin-token = "${ADMIN_TOKEN}"' in rendering.configuration


def test_chart_equals_base():
    def meaning(rendering):
        found = {}
        for one in rendering.objects:
            one["metadata"] = {}
            if one["kind"] == "ConfigMap":
                one["data"] = tomllib.loads(rendering.configuration)
            if one["kind"] == "Deployment":
                one["spec"]["template"]["metadata"] = {}
                rendering.pod["volumes"][0]["configMap"] = {}
            assert one["kind"] not in found
            found[one["kind"]] = one
        return found

    assert meaning(Rendering(templated())) == meaning(Rendering(kustomized()))


@pytest.mark.parametrize("render", [kustomized, templated])
def test_changes_of_the_configuration_roll_the_pods(render):
    """Their template names a hash of it."""
    template = Rendering(render()).one("Deployment")["spec"]["template"]
    hashed = template["metadata"].get("annotations", {}).get("checksum/config", "")
    named = Rendering(render()).one("ConfigMap")["metadata"]["name"]
    assert re.fullmatch("[0-9a-f]{64}", hashed) or re.fullmatch(r"h2server-\w{10}", named)


# --- the program --------------------------------------------------------------------------------


def placed(rendering, folder):
    """Returns the configuration with its files in a folder, and makes them."""
    text = rendering.configuration.replace('"/etc/', f'"{folder}/').replace('"/var/', f'"{folder}/')
    for name in re.findall(rf'"({folder}/[^"]+\.key)"', text):
        os.makedirs(os.path.dirname(name), exist_ok=True)
        if not name.endswith("tls.key"):
            with open(name, "wb") as file:
                file.write(os.urandom(80))
            continue
        subprocess.run([tool("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=DNS:localhost", "-keyout", name, "-out",
                        name.replace(".key", ".crt")], check=True, capture_output=True)
    return text


def test_configuration_is_right(rendering, tmp_path):
    (tmp_path / "h2server.toml").write_text(placed(rendering, tmp_path))
    done = subprocess.run([BINARY, "check", "--config", "h2server.toml"], cwd=tmp_path, text=True,
                          capture_output=True, check=False, timeout=LAST_RESORT_S,
                          env={"PATH": os.environ["PATH"], **SERVER_ENVIRONMENT})
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["base", "base-tls", "chart-tls"])
@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to be another user")
def test_pod_runs(name):
    """With a user id that nobody knows and a home that can't be written to, as in a pod. The probes
    ask for an address as Host and have no token."""
    with tempfile.TemporaryDirectory(prefix="h2server-pod-") as folder:
        run_pod(Rendering(RENDERINGS[name]()), pathlib.Path(folder))


def run_pod(rendering, folder):
    text = placed(rendering, folder)
    admin = free_port()
    text = text.replace('"0.0.0.0:9000"', f'"0.0.0.0:{admin}"')
    text = re.sub("^port = .*", f"port = {free_port()}", text, flags=re.MULTILINE)
    text = re.sub('^shutdown-delay = .*', 'shutdown-delay = "1h"', text, flags=re.MULTILINE)
    (folder / "h2server.toml").write_text(text)
    program = shutil.copy(BINARY, folder)
    subprocess.run(["chmod", "-R", "u=rwX,g=rX,o=", folder], check=True)  # 0440 for files of Secrets

    server = subprocess.Popen(
        [program, "--config", folder / "h2server.toml"], cwd="/", user=54321, group=0,
        extra_groups=[], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        env={"PATH": os.environ["PATH"], **SERVER_ENVIRONMENT, "XDG_STATE_HOME": "/srv/cert"})
    try:
        def answers(path, *lines):
            try:
                return fetch(admin, "10.244.1.7:9000", path, *lines).status
            except ConnectionError:
                return 0

        wait_until(lambda: answers("/-/ready") == 200 or server.poll() is not None, "it is ready")
        assert server.poll() is None, server.stderr.read()
        assert answers("/-/healthy") == 200
        assert answers("/-/metrics") == 401
        assert answers("/-/metrics", "Authorization: Bearer secret") == 200
        server.terminate()
        wait_until(lambda: answers("/-/ready") == 503, "it is not ready")
        assert answers("/-/healthy") == 200, "nor is it killed while it goes on"
        server.terminate()
        assert server.wait(LAST_RESORT_S) == 0
    finally:
        server.kill()
        server.wait()
        server.stderr.close()


def test_versions():
    """The chart and the base have the program's version."""
    version = run([BINARY, "--version"]).split()[1]
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == version
    image = Rendering((KUSTOMIZE / "base/deployment.yaml").read_text()).container["image"]
    assert image == f"h2server:{version}"
