"""A server of tus 1.0.0, of plain PUT, or of both, whose faults a test prescribes."""

import base64
import hashlib
import http.server
import json
import socket
import struct
import threading


class TusStub:
    """with TusStub() as stub: ...

    `tus`: the path where uploads are created, or None. `put`: the path below which PUT stores, or
    None. `faults`: what goes wrong with the next requests of a method, for instance
    {"PATCH": [1000, 503, None]}: the connection is reset after 1000 bytes of the body, then the
    response is 503, then all is well. `digest`: where the SHA-256 is told: "json", "field" or None.
    """

    def __init__(self, tus="/uploads", put="/files", faults=None, digest="json", token=None):
        self.tus = tus
        self.put = put
        self.faults = {method: list(list_) for method, list_ in (faults or {}).items()}
        self.digest = digest
        self.token = token
        self.requests = []  # (method, path with the query, fields)
        self.uploads = {}  # id: {"name", "length", "bytes"}
        self.files = {}  # path: bytes
        self.corrupts = False  # changes a byte of what is stored
        self._lock = threading.Lock()
        self._server = None
        self.port = 0

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        stub = self

        class Handler(_Handler):
            pass

        Handler.stub = stub
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.01,)).start()

    def stop(self):
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def count(self, method):
        return len([one for one in self.requests if one[0] == method])

    def fields_of(self, method):
        """The fields of the first request with that method."""
        return next(one[2] for one in self.requests if one[0] == method)

    def next_fault(self, method):
        with self._lock:
            faults = self.faults.get(method)
            return faults.pop(0) if faults else None


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    stub = None

    def log_message(self, *_):
        pass

    def reply(self, status, fields=(), body=b""):
        # A close with unread bytes would reset the connection, and the response be lost.
        self.rfile.read(self.left)
        self.left = 0
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def reset(self):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.rfile.close()
        self.wfile.close()
        self.connection.close()

    def handle_one_request(self):
        try:
            super().handle_one_request()
        except (OSError, ValueError):
            self.close_connection = True  # it was reset

    def begin(self):
        """Returns false if the request was answered by a fault."""
        self.left = int(self.headers.get("Content-Length", 0))  # bytes of the body
        self.stub.requests.append((self.command, self.path, dict(self.headers)))
        if self.stub.token and self.headers.get("Authorization") != f"Bearer {self.stub.token}":
            self.reply(401, [("Content-Type", "text/plain")], b"a token is needed\n")
            return False
        fault = self.stub.next_fault(self.command)
        self.cut = None
        if isinstance(fault, int) and 200 <= fault < 600:
            self.reply(fault, [("Content-Type", "text/plain"), ("Tus-Resumable", "1.0.0")],
                       b"a fault of the stub\n")
            return False
        if fault == "reset":
            self.reset()
            return False
        if isinstance(fault, tuple):
            self.cut = fault[0]
        return True

    def body(self):
        """Yields pieces of the body; resets after `cut` bytes."""
        taken = 0
        while self.left > 0:
            most = min(self.left, 65536)
            if self.cut is not None:
                most = min(most, self.cut - taken)
                if most == 0:
                    self.reset()
                    return
            piece = self.rfile.read(most)
            if not piece:
                return
            taken += len(piece)
            self.left -= len(piece)
            yield piece

    def path_only(self):
        return self.path.split("?")[0]

    def upload(self):
        base = self.stub.tus
        path = self.path_only()
        if base is None or not path.startswith(base.rstrip("/") + "/"):
            return None
        return self.stub.uploads.get(path[len(base.rstrip("/")) + 1 :])

    def do_POST(self):
        if not self.begin():
            return
        if self.path_only() != self.stub.tus or "Tus-Resumable" not in self.headers:
            self.reply(404)
            return
        name = base64.b64decode(self.headers["Upload-Metadata"].split()[1]).decode()
        number = f"u{len(self.stub.uploads) + 1}"
        self.stub.uploads[number] = {"name": name, "length": int(self.headers["Upload-Length"]),
                                     "bytes": b""}
        self.reply(201, [("Location", f"{self.stub.tus.rstrip('/')}/{number}"),
                         ("Tus-Resumable", "1.0.0")])

    def do_HEAD(self):
        if not self.begin():
            return
        upload = self.upload()
        if upload is None:
            self.reply(404)
            return
        self.reply(200, [("Upload-Offset", str(len(upload["bytes"]))),
                         ("Upload-Length", str(upload["length"]))])

    def do_PATCH(self):
        if not self.begin():
            return
        upload = self.upload()
        if upload is None:
            self.reply(404)
            return
        if int(self.headers["Upload-Offset"]) != len(upload["bytes"]):
            self.reply(409, [("Content-Type", "text/plain")], b"another offset\n")
            return
        for piece in self.body():
            upload["bytes"] += piece
        if self.connection.fileno() < 0:
            return
        fields = [("Upload-Offset", str(len(upload["bytes"])))]
        if len(upload["bytes"]) == upload["length"]:
            self.store("/files/" + upload["name"], upload["bytes"])
            fields += self.digest_field(upload["bytes"])
        self.reply(204, fields)

    def digest_field(self, content):
        if self.stub.digest != "field":
            return []
        digest = base64.b64encode(hashlib.sha256(self.changed(content)).digest()).decode()
        return [("Repr-Digest", f"sha-256=:{digest}:")]

    def changed(self, content):
        return b"!" + content[1:] if self.stub.corrupts else content

    def store(self, path, content):
        self.stub.files[path] = self.changed(content)

    def do_GET(self):
        if not self.begin():
            return
        upload = self.upload()
        if upload is None or self.stub.digest != "json":
            self.reply(404)
            return
        digest = hashlib.sha256(self.changed(upload["bytes"])).hexdigest()
        body = json.dumps({"offset": len(upload["bytes"]), "sha256": digest}).encode()
        self.reply(200, [("Content-Type", "application/json")], body)

    def do_PUT(self):
        if not self.begin():
            return
        path = self.path_only()
        if self.stub.put is None or not path.startswith(self.stub.put):
            self.reply(405)
            return
        if path in self.stub.files:
            self.reply(412)
            return
        content = b"".join(self.body())
        if self.connection.fileno() < 0:
            return
        self.store(path, content)
        self.reply(201, self.digest_field(content))
