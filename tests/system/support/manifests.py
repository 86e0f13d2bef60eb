"""The manifests of deploy/kubernetes and deploy/helm, rendered."""

import functools
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from support.environment import SOURCE, TOOLS

KUSTOMIZE = SOURCE / "deploy/kubernetes"
CHART = SOURCE / "deploy/helm/h2server"
SCHEMAS = TOOLS / "kubernetes-schemas"
SERVER_ENVIRONMENT = {"ADMIN_TOKEN": "secret", "AWS_ACCESS_KEY_ID": "a",
                      "AWS_SECRET_ACCESS_KEY": "b"}


def optional_tool(name):
    """Returns the path of a tool. Skips the test if it is missing."""
    found = shutil.which(name, path=f"{TOOLS / 'bin'}{os.pathsep}{os.environ['PATH']}")
    if not found:
        pytest.skip(f"{name} is not installed; scripts/setup test does that")
    return found


def run(command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@functools.cache
def kustomized(*components):
    """Returns the text of the base with these components."""
    if shutil.which("kubectl"):
        command = [shutil.which("kubectl"), "kustomize"]
    else:
        command = [optional_tool("kustomize"), "build"]
    with tempfile.TemporaryDirectory(prefix="h2server-kustomize-") as folder:
        def relative(path):
            return os.path.relpath(path, os.path.realpath(folder))

        names = "".join(f"  - {relative(KUSTOMIZE / 'components' / name)}\n" for name in components)
        (pathlib.Path(folder) / "kustomization.yaml").write_text(
            f"resources:\n  - {relative(KUSTOMIZE / 'base')}\n"
            + (f"components:\n{names}" if components else ""))
        return run([*command, folder])


@functools.cache
def templated(values=None):
    """Returns the text of the chart with a file of values, of the release h2server."""
    options = ["--values", CHART / "ci" / f"{values}-values.yaml"] if values else []
    # A helm that was built by `go install` thinks of an old Kubernetes.
    return run([optional_tool("helm"), "template", "h2server", CHART, "--kube-version", "1.31.0",
                *options])


RENDERINGS = {
    "base": kustomized,
    **{f"base-{name}": functools.partial(kustomized, *name.split("+"))
       for name in ("ingress", "gateway", "tls", "service-monitor", "requests-autoscaler",
                    "tls+service-monitor+requests-autoscaler")},
    "chart": templated,
    **{f"chart-{name}": functools.partial(templated, name)
       for name in ("ingress", "gateway", "tls", "cache")},
}
