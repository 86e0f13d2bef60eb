"""A line to a server that can be slow, cut and mended."""

import contextlib
import selectors
import socket
import struct
import threading
import time

_RESET = struct.pack("ii", 1, 0)


class Line:
    """with Line(server.port) as line: ... line.port

    Passes bytes on in both directions, towards the server at most `bytes_per_s`, if that is given.
    cut() breaks all connections, and refuses others until mend(). `target` may be changed: a
    restarted server has another port.
    """

    def __init__(self, target, bytes_per_s=None):
        self.target = target
        self.bytes_per_s = bytes_per_s
        self._lock = threading.Lock()
        self._open = set()
        self._cut = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        # A small buffer, also of its connections: what waits here counts as sent for the sender.
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        self.port = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept)]

    def __enter__(self):
        self._threads[0].start()
        return self

    def __exit__(self, *_):
        self.cut()
        # Wakes accept().
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def cut(self):
        with self._lock:
            self._cut = True
            for connection in self._open:
                # The thread that serves it notices, and closes it with a reset.
                with contextlib.suppress(OSError):
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                    connection.shutdown(socket.SHUT_RD)

    def mend(self):
        with self._lock:
            self._cut = False

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(client,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, client):
        with client:
            try:
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                return
            with server:
                with self._lock:
                    if self._cut:
                        return
                    self._open |= {client, server}
                try:
                    self._pass_on(client, server)
                except OSError:
                    pass  # one of the two has left
                finally:
                    with self._lock:
                        self._open -= {client, server}

    def _pass_on(self, client, server):
        other = {client: server, server: client}
        with selectors.DefaultSelector() as ready:
            for one in other:
                ready.register(one, selectors.EVENT_READ)
            while True:
                for key, _ in ready.select():
                    piece = key.fileobj.recv(65536)
                    if not piece:
                        return
                    other[key.fileobj].sendall(piece)
                    if self.bytes_per_s and key.fileobj is client:
                        time.sleep(len(piece) / self.bytes_per_s)
