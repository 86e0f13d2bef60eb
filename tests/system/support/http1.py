"""An HTTP/1.1 client that sends arbitrary bytes and parses responses strictly."""

from support import sockets
from support.answer import Answer, Broken


class Connection:
    def __init__(self, server, receive_buffer=None):
        self.socket = sockets.connect(server, receive_buffer, alpn=("http/1.1",))
        self._buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def reset(self):
        sockets.reset(self.socket)

    def ended(self):
        """Returns true if the server closes the connection without sending anything."""
        try:
            return not self._buffer and self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def send(self, data):
        return sockets.send(self.socket, data)

    def send_slowly(self, data):
        """Sends each byte in its own segment (and TLS record)."""
        for byte in data:
            if not self.send(bytes([byte])):
                return

    def request(self, method, path, fields=(), body=b""):
        """Sends a well-formed request. A non-bytes body is sent chunked, one chunk per piece."""
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost"]
        lines += [f"{name}: {value}" for name, value in fields]
        whole = isinstance(body, bytes)
        if not whole:
            lines.append("Transfer-Encoding: chunked")
        elif body or method in ("POST", "PUT"):
            lines.append(f"Content-Length: {len(body)}")
        head = "".join(line + "\r\n" for line in lines).encode() + b"\r\n"
        self.send(head + (body if whole else b""))
        if not whole:
            for piece in body:
                self.send(chunk(piece))
            self.send(b"0\r\n\r\n")

    def answer(self, to_head=False):
        """Reads the next final response."""
        while (answer := self.answer_head()).status < 200:
            pass
        if not to_head and answer.status not in (204, 304):
            answer.body = b"".join(self.body_pieces(answer))
        return answer

    def answer_head(self):
        head = self._take_until(b"\r\n\r\n").decode("latin-1")
        status_line, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
        version, status = status_line.split(" ", 2)[:2]
        assert version == "HTTP/1.1", status_line
        pairs = [line.split(": ", 1) for line in lines]
        return Answer(int(status), [(name.lower(), value) for name, value in pairs])

    def body_pieces(self, answer):
        """Yields the body as it arrives. Raises Broken if it is truncated."""
        length = answer.field("content-length")
        coding = answer.field("transfer-encoding")
        assert length is None or coding is None, "two framings"
        if coding is not None:
            assert coding == "chunked", coding
            yield from self._chunks()
        elif length is not None:
            yield from self.pieces(int(length))
        else:
            assert answer.field("connection") == "close", "a body without an end"
            yield self.rest()

    def pieces(self, size, piece_size=65536):
        """Yields the next `size` bytes."""
        while size > 0:
            if not self._buffer:
                self._fill(min(size, piece_size))
            piece, self._buffer = self._buffer[:size], self._buffer[size:]
            size -= len(piece)
            yield piece

    def take(self, size):
        return b"".join(self.pieces(size))

    def rest(self):
        """Reads until the server closes the connection."""
        pieces = [self._buffer]
        self._buffer = b""
        while piece := sockets.receive(self.socket):
            pieces.append(piece)
        return b"".join(pieces)

    def closed(self):
        """Waits until the server closes the connection. Returns true if nothing more arrived."""
        return self.rest() == b""

    def _chunks(self):
        while size := int(self._take_until(b"\r\n"), 16):
            yield from self.pieces(size)
            assert self.take(2) == b"\r\n"
        while self._take_until(b"\r\n") != b"\r\n":
            pass

    def _take_until(self, end):
        while end not in self._buffer:
            self._fill()
        size = self._buffer.index(end) + len(end)
        taken, self._buffer = self._buffer[:size], self._buffer[size:]
        return taken

    def _fill(self, size=65536):
        piece = sockets.receive(self.socket, size)
        if not piece:
            raise Broken(f"closed after {self._buffer!r:.200}")
        self._buffer += piece


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data) if data else b""


def get(path, *lines):
    """Returns the bytes of a GET request."""
    head = [f"GET {path} HTTP/1.1", "Host: localhost", *lines, "", ""]
    return "\r\n".join(head).encode()
