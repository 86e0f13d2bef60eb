"""A store that does what a test wants: it speaks as much of S3 and STS as the program asks for, checks
no signature, and lets tests hold requests up, refuse them and lie about objects."""

import dataclasses
import datetime
import hashlib
import http.server
import re
import threading
import urllib.parse

from support.s3 import BUCKET, KEY_ID, SECRET


@dataclasses.dataclass
class Request:
    number: int  # from 0 on
    method: str
    path: str
    query: dict
    fields: dict  # names in lower case
    body: bytes


@dataclasses.dataclass
class Reply:
    status: int = 200
    fields: dict = dataclasses.field(default_factory=dict)
    body: bytes = b""


class StubStore:
    """with StubStore() as store: store.put("pre/a", b"content"). `script` gets each Request on a thread
    of its own, and returns a Reply or None for what the store does by itself."""

    def __init__(self):
        self.objects = {}  # path: (content, fields)
        self.requests = []
        self.script = lambda request: None
        self.lifetime_s = 3600  # of credentials
        self.session_token = ""
        self._lock = threading.Lock()
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.address = f"127.0.0.1:{self._server.server_address[1]}"
        self.url = f"http://{self.address}"

    def __enter__(self):
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def put(self, key, content, **fields):
        """`fields`: x_amz_checksum_crc32c="…" and so on."""
        self.objects[f"/{BUCKET}/{key}"] = (
            content, {name.replace("_", "-"): value for name, value in fields.items()})

    def checksum(self, key):
        """As Objects.checksum() in s3.py."""
        return "crc32c", self.objects[f"/{BUCKET}/{key}"][1].get("x-amz-checksum-crc32c")

    def seen(self, method, key):
        """Returns the requests for an object."""
        return [one for one in self.requests
                if one.method == method and one.path == f"/{BUCKET}/{key}"]

    def _handler(store):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def answer(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                target = urllib.parse.urlsplit(self.path)
                with store._lock:
                    request = Request(len(store.requests), self.command,
                                      urllib.parse.unquote(target.path),
                                      dict(urllib.parse.parse_qsl(target.query, True)),
                                      {name.lower(): value for name, value in self.headers.items()},
                                      body)
                    store.requests.append(request)
                reply = store.script(request) or store._reply(request)
                try:
                    self.send_response(reply.status)
                    for name, value in reply.fields.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(reply.body)))
                    self.end_headers()
                    if self.command != "HEAD":
                        self.wfile.write(reply.body)
                except ConnectionError:
                    self.close_connection = True

            do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = answer

            def log_message(self, *_):
                pass

        return Handler

    def _reply(self, request):
        if request.method == "POST" and request.path == "/":
            return self._credentials()
        if "list-type" in request.query:
            return Reply(body=b"<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>")
        if request.method in ("GET", "HEAD"):
            return self._object(request)
        if request.method == "PUT":
            return self._store(request)
        return Reply(204)

    def _store(self, request):
        if request.fields.get("if-none-match") == "*" and request.path in self.objects:
            return Reply(412)
        kept = {name: value for name, value in request.fields.items()
                if name.startswith(("x-amz-checksum-", "x-amz-meta-", "content-type"))}
        self.objects[request.path] = (request.body, kept)
        return Reply(fields={"ETag": self._tag(request.body)})

    def _object(self, request):
        if request.path not in self.objects:
            return Reply(404)
        content, own = self.objects[request.path]
        fields = {"ETag": self._tag(content),
                  "Last-Modified": "Sun, 01 Feb 2026 10:00:00 GMT"}
        for name, value in own.items():
            if not name.startswith("x-amz-checksum") or "x-amz-checksum-mode" in request.fields:
                fields[name] = value
        if request.fields.get("if-none-match") == fields["ETag"]:
            return Reply(304, fields)
        if "range" in request.fields:
            first, last = re.fullmatch(r"bytes=(\d+)-(\d*)", request.fields["range"]).groups()
            part = content[int(first) : int(last or len(content) - 1) + 1]
            fields["Content-Range"] = \
                f"bytes {first}-{int(first) + len(part) - 1}/{len(content)}"
            return Reply(206, fields, part)
        return Reply(200, fields, content)

    @staticmethod
    def _tag(content):
        return '"' + hashlib.md5(content).hexdigest() + '"'

    def _credentials(self):
        end = datetime.datetime.utcnow() + datetime.timedelta(seconds=self.lifetime_s)
        text = f"""<?xml version="1.0" encoding="UTF-8"?>
<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
<AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>{KEY_ID}</AccessKeyId>
<SecretAccessKey>{SECRET}</SecretAccessKey><SessionToken>{self.session_token}</SessionToken>
<Expiration>{end:%Y-%m-%dT%H:%M:%SZ}</Expiration></Credentials></AssumeRoleWithWebIdentityResult>
</AssumeRoleWithWebIdentityResponse>"""
        return Reply(fields={"Content-Type": "text/xml"}, body=text.encode())
