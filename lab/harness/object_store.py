"""MinIO as the store behind a server: one node on the load's processors, so that a server keeps its
own. Everybody may read and write its bucket, since nginx and lab/load can't sign."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

from harness import processes
from harness.processes import Failure
from harness.servers import ROOT, Server

BUCKET = "objects"
KEY_ID, SECRET = "the-key-id", "the-secret-of-the-lab"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET,
               "AWS_REGION": "us-east-1"}

_POLICY = {"Version": "2012-10-17", "Statement": [
    {"Effect": "Allow", "Principal": {"AWS": ["*"]}, "Action": ["s3:GetObject", "s3:PutObject"],
     "Resource": [f"arn:aws:s3:::{BUCKET}/*"]}]}


def program(name):
    """Returns the path of a program that `scripts/setup store` builds, or its name."""
    built = ROOT / "build/tools/bin" / name
    return str(built) if built.exists() else name


MINIO = Server("minio", program("minio"), None, protocols=("h1",))


class ObjectStore:
    """Context manager: has .pid, .port, .url, and the folder .work."""

    def __init__(self, lab):
        self._lab = lab

    def __enter__(self):
        self.work = pathlib.Path(tempfile.mkdtemp(dir=self._lab.scratch, prefix="minio-"))
        (self.work / "data").mkdir()
        self.port = processes.free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        environment = {"MINIO_ROOT_USER": KEY_ID, "MINIO_ROOT_PASSWORD": SECRET,
                       "MINIO_BROWSER": "off", "HOME": str(self.work)}
        command = [MINIO.path(), "server", "--address", f"127.0.0.1:{self.port}",
                   self.work / "data"]
        self._running = processes.running(command, self._lab.load_cpus, self.port, self.work,
                                          environment)
        try:
            self.pid = self._running.__enter__()
            self._ask("-X", "PUT", f"{self.url}/{BUCKET}")
            self._ask("-X", "PUT", "--data-binary", json.dumps(_POLICY),
                      f"{self.url}/{BUCKET}?policy=")
        except BaseException:
            shutil.rmtree(self.work)
            raise
        return self

    def __exit__(self, *exception):
        try:
            return self._running.__exit__(*exception)
        finally:
            shutil.rmtree(self.work)

    def put(self, path):
        """Stores a file under its name."""
        self._ask("-T", path, f"{self.url}/{BUCKET}/{path.name}")

    def get(self, key, target):
        """Writes an object into a file."""
        self._ask("-o", target, f"{self.url}/{BUCKET}/{key}")

    def _ask(self, *arguments):
        done = subprocess.run(
            ["curl", "-sS", "--fail-with-body", "--retry", "10", "--retry-delay", "1",
             "--retry-all-errors", "--aws-sigv4", "aws:amz:us-east-1:s3", "--user", f"{KEY_ID}:{SECRET}",
             "-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD", *arguments],
            capture_output=True, text=True, check=False, env={**os.environ, "HOME": "/"})
        if done.returncode != 0:
            raise Failure(f"the store: {done.stdout[-200:]} {done.stderr[-200:]}")
