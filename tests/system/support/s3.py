"""S3 stores: MinIO and versitygw, which `scripts/setup test` builds in some minutes. The tests that
need one are skipped if neither H2SERVER_TEST_MINIO or H2SERVER_TEST_VERSITYGW names it nor it is in
build/tools/bin."""

import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import urllib.parse

import pytest

from support.configured import Configured, free_port
from support.environment import LAST_RESORT_S, TOOLS, tool
from support.waiting import holds_within


def _program(name):
    found = TOOLS / "bin" / name
    return os.environ.get(f"H2SERVER_TEST_{name.upper()}", str(found) if found.exists() else "")


MINIO = _program("minio")
VERSITYGW = _program("versitygw")


def _needs(program, name):
    return pytest.mark.skipif(not program, reason=f"there is no {name}; scripts/setup test builds one")


needs_s3 = _needs(MINIO, "MinIO")

KEY_ID = "the-key-id"
SECRET = "the-secret-of-the-test"
BUCKET = "bucket"


@contextlib.contextmanager
def credentials_given():
    """The environment has the credentials for these stores, and nothing else for AWS's tools."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            patch.delenv(name)
        patch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
        patch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        yield patch


class Objects:
    """The objects of one bucket of a store at a URL."""

    def __init__(self, url):
        self.url = url

    def make_bucket(self):
        unsigned = ("-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD")
        try:
            self._request(f"/{BUCKET}", "-X", "PUT", *unsigned)
        except subprocess.CalledProcessError as error:
            # A node of MinIO that has only just begun may make it and say 503; then it is there already.
            if b"409" not in error.stderr:
                raise
            self._request(f"/{BUCKET}", "-I", *unsigned)

    def put(self, key, content, *fields):
        """Stores an object. `fields`: such as "Content-Type: text/css"."""
        arguments = ["--data-binary", "@-", "-X", "PUT"]
        if not any(field.startswith("Content-Type:") for field in fields):
            fields = ("Content-Type: binary/octet-stream", *fields)  # not that of a form
        for field in (*fields, "x-amz-content-sha256: UNSIGNED-PAYLOAD"):
            arguments += ["-H", field]
        path = f"/{BUCKET}/" + urllib.parse.quote(key, safe="/~")
        self._request(path, *arguments, content=content)

    def remove(self, key):
        self._request(f"/{BUCKET}/" + urllib.parse.quote(key, safe="/~"), "-X", "DELETE",
                      "-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD")

    def put_many(self, pattern):
        """Stores empty objects. The pattern is one of curl: "key[1-9]"."""
        self._request(f"/{BUCKET}/{pattern}", "-X", "PUT", "--data-binary", "",
                      "-H", "Content-Type: binary/octet-stream",
                      "-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD")

    def get(self, key):
        """Returns the content of an object."""
        return self._request(f"/{BUCKET}/" + urllib.parse.quote(key, safe="/~"),
                             "-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD")

    def checksum(self, key):
        """Returns the algorithm and the text of the checksum of an object; None if it has none."""
        head = self._request(f"/{BUCKET}/" + urllib.parse.quote(key, safe="/~"), "-I",
                             "-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD",
                             "-H", "x-amz-checksum-mode: ENABLED").decode()
        found = re.search(r"(?im)^x-amz-checksum-(?!type)(\w+): (\S+)", head)
        return (found[1].lower(), found[2]) if found else None

    def keys(self, prefix):
        keys = []
        while True:  # a page has 1000 at most
            after = [f"start-after={urllib.parse.quote(keys[-1], safe='')}"] if keys else []
            page = self._list(prefix, "list-type=2", *after)
            keys += re.findall(r"<Key>(.*?)</Key>", page)
            if "<IsTruncated>true" not in page:
                return keys

    def parts_begun(self, key):
        """Returns the ids of multipart uploads. MinIO lists those of a whole key only."""
        return re.findall(r"<UploadId>(.*?)</UploadId>", self._list(key, "uploads="))

    def has_parts(self, key, upload):
        """Returns true if a multipart upload has any parts. MinIO lists some that it does not have."""
        query = f"uploadId={urllib.parse.quote(upload, safe='')}"
        try:
            return b"<PartNumber>" in self._request(
                f"/{BUCKET}/" + urllib.parse.quote(key, safe="/~") + "?" + query,
                "-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD")
        except subprocess.CalledProcessError as error:
            if b"404" in error.stderr:
                return False
            raise

    def _list(self, prefix, *parameters):
        query = f"prefix={urllib.parse.quote(prefix, safe='')}"
        query = "&".join(sorted([*parameters, query]))  # as it is signed
        return self._request(f"/{BUCKET}?{query}",
                             "-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD").decode()

    def _request(self, path, *arguments, content=b""):
        # libcurl waits for a "100 Continue" before a large body, and MinIO sends it. MinIO, and HAProxy in
        # front of it, may say 503 on a busy machine.
        return subprocess.run(
            [tool("curl"), "-sSf", "--retry", "60", "--retry-delay", "1", "--aws-sigv4", "aws:amz:us-east-1:s3",
             "--user", f"{KEY_ID}:{SECRET}", *arguments, self.url + path],
            input=content, check=True, capture_output=True).stdout


class S3(Objects):
    """with S3() as s3: a MinIO with one bucket, whose objects survive kill() and start(). `variables`:
    more of its environment."""

    def __init__(self, variables=None):
        self._more_variables = variables or {}
        self._folder = pathlib.Path(tempfile.mkdtemp(prefix="h2server-s3-"))
        self._address = f"127.0.0.1:{free_port()}"
        self._process = None
        super().__init__(f"http://{self._address}")

    def __enter__(self):
        try:
            self.start()
            self.make_bucket()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.kill()
        shutil.rmtree(self._folder)

    def start(self):
        (self._folder / "data").mkdir(exist_ok=True)
        with open(self._folder / "log", "ab") as log:
            self._process = subprocess.Popen(
                self._command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**os.environ, **self._variables, **self._more_variables})
        ready = [tool("curl"), "-sf", "-o", "/dev/null", self.url + self._health]
        assert holds_within(lambda: subprocess.run(ready).returncode == 0, LAST_RESORT_S), \
            (self._folder / "log").read_text()

    _health = "/minio/health/cluster"
    _variables = {"MINIO_ROOT_USER": KEY_ID, "MINIO_ROOT_PASSWORD": SECRET, "MINIO_BROWSER": "off"}

    def _command(self):
        return [MINIO, "server", "--quiet", "--address", self._address, self._folder / "data"]

    def kill(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()


class Versitygw(S3):
    """The same with versitygw."""

    _health = "/health"
    _variables = {"ROOT_ACCESS_KEY": KEY_ID, "ROOT_SECRET_KEY": SECRET}

    def _command(self):
        return [VERSITYGW, "--quiet", "--port", self._address, "--health", self._health, "posix",
                self._folder / "data"]


# For the parameters of a fixture.
STORES = [pytest.param(S3, id="minio", marks=needs_s3),
          pytest.param(Versitygw, id="versitygw", marks=_needs(VERSITYGW, "versitygw"))]


def serving(s3, *lines, place=f"s3://{BUCKET}/pre", tls=False, **options):
    """Returns the server of a site whose objects are in the store. The environment must have the
    credentials."""
    text = ['host = "127.0.0.1"', "port = 0", f'store = "{place}"', f's3-endpoint = "{s3.url}"',
            "self-signed = true" if tls else "h2c = true", *lines]
    return Configured("\n".join(text) + "\n", tls=tls, **options)
