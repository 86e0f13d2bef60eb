"""An HTTP/2 client on python3-h2, with control over its flow-control windows."""

import collections
import time

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings

from support import sockets
from support.answer import Answer, Broken
from support.environment import LAST_RESORT_S

FRAME_BYTES = 16384

# python3-h2 treats GOAWAY as the end, but open streams continue (RFC 9113, 6.8).
h2.connection.H2ConnectionStateMachine._transitions[
    h2.connection.ConnectionState.CLIENT_OPEN, h2.connection.ConnectionInputs.RECV_GOAWAY
] = (None, h2.connection.ConnectionState.CLIENT_OPEN)


class Stream:
    def __init__(self, number):
        self.number = number
        self.informed = []  # statuses of informational responses
        self.status = None
        self.fields = []
        self.trailers = []
        self.pieces = []
        self.received = 0
        self.ended = False
        self.reset_code = None
        self.unsent = b""
        self.sent = 0

    @property
    def over(self):
        return self.ended or self.reset_code is not None

    @property
    def body(self):
        return b"".join(self.pieces)


class Connection:
    """With `reading=False` only take() and read_on() open the windows."""

    def __init__(self, server, receive_buffer=None, reading=True, settings=None):
        self.socket = sockets.connect(server, receive_buffer, alpn=("h2",))
        if server.tls:
            assert self.socket.selected_alpn_protocol() == "h2"
        self._reading = reading
        self.streams = {}
        self._turns = collections.deque()  # streams with unsent bodies, in round-robin order
        self.goaways = []  # (error code, last stream)
        self.ended = False  # the server has closed the connection
        self.protocol = h2.connection.H2Connection(h2.config.H2Configuration(
            client_side=True, header_encoding="utf-8", validate_outbound_headers=False,
            normalize_outbound_headers=False))
        self.protocol.clear_outbound_data_buffer = lambda: None  # keeps PING answers on GOAWAY
        self.protocol.initiate_connection()
        if settings:
            self.protocol.update_settings(settings)
        self.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def reset(self):
        sockets.reset(self.socket)

    def flush(self):
        if data := self.protocol.data_to_send():
            if not sockets.send(self.socket, data):
                self.ended = True

    def request(self, method, path, fields=(), body=None, ends=True, now=True):
        """Opens a stream. `body` is sent as the windows allow, while the connection is read.
        With `now=False` the request is sent with the next one, or on the next read."""
        stream = Stream(self.protocol.get_next_available_stream_id())
        scheme = "https" if self._encrypted else "http"
        head = [(":method", method), (":scheme", scheme), (":authority", "localhost"),
                (":path", path), *fields]
        self.protocol.send_headers(stream.number, head, end_stream=ends and body is None)
        self.streams[stream.number] = stream
        stream.unsent = memoryview(body or b"")
        stream.ends = ends and body is not None
        self._turns.append(stream)
        if body == b"" and ends:
            self.protocol.end_stream(stream.number)
        if now:
            self._send_bodies()
        return stream

    @property
    def _encrypted(self):
        return hasattr(self.socket, "selected_alpn_protocol")

    def resume(self, stream):
        """Continues to send stream.unsent."""
        self._turns.append(stream)
        self._send_bodies()

    def send_data(self, stream, data, end=False, padding=None):
        """Sends one DATA frame now, ahead of unsent bodies."""
        self.protocol.send_data(stream.number, data, end_stream=end, pad_length=padding)
        self.flush()

    def reset_stream(self, stream, code=h2.errors.ErrorCodes.CANCEL):
        stream.unsent = b""
        self.protocol.reset_stream(stream.number, code)
        self.flush()

    def answer(self, stream):
        """Waits for the whole response. Raises Broken if it is truncated."""
        self.run_until(lambda: stream.over, f"response on stream {stream.number}")
        if not stream.ended:
            raise Broken(f"stream {stream.number}: reset {stream.reset_code}, {self.goaways}")
        return Answer(stream.status, stream.fields, stream.body)

    def run_until(self, condition, what):
        """Reads and sends until the condition holds. Raises Broken if the connection ends."""
        until = time.monotonic() + LAST_RESORT_S
        self._send_bodies()
        while not condition():
            if self.ended:
                raise Broken(f"connection ended while waiting for: {what}; {self.goaways}")
            assert time.monotonic() < until, f"waited {LAST_RESORT_S} s in vain: {what}"
            self.read_once()

    def run_to_end(self):
        """Reads until the server closes the connection."""
        while not self.ended:
            self.read_once()

    def read_once(self):
        data = sockets.receive(self.socket, 1 << 18)
        if not data:
            self.ended = True
            return
        try:
            events = self.protocol.receive_data(data)
        except h2.exceptions.ProtocolError:
            self.flush()
            raise
        for event in events:
            self._handle(event)
        self._send_bodies()

    def read_on(self):
        """Opens the windows by what has been received, and from now on by what will be. For a
        connection with `reading=False` that has not called take()."""
        self._reading = True
        for stream in self.streams.values():
            if stream.received > 0:
                self.protocol.acknowledge_received_data(stream.received, stream.number)
        self.flush()

    def take(self, stream, size):
        """Opens the windows by `size` bytes."""
        self.protocol.increment_flow_control_window(size)
        if not stream.over:
            self.protocol.increment_flow_control_window(size, stream_id=stream.number)
        self.flush()

    def _handle(self, event):
        stream = self.streams.get(getattr(event, "stream_id", None))
        match event:
            case h2.events.InformationalResponseReceived():
                stream.informed.append(int(dict(event.headers)[":status"]))
            case h2.events.ResponseReceived():
                stream.status = int(event.headers[0][1])
                stream.fields = event.headers[1:]
            case h2.events.TrailersReceived():
                stream.trailers = event.headers
            case h2.events.DataReceived():
                stream.pieces.append(event.data)
                stream.received += len(event.data)
                if self._reading and event.flow_controlled_length:
                    self.protocol.acknowledge_received_data(
                        event.flow_controlled_length, event.stream_id)
            case h2.events.StreamEnded():
                stream.ended = True
            case h2.events.StreamReset():
                stream.reset_code = event.error_code
                stream.unsent = b""
            case h2.events.ConnectionTerminated():
                self.goaways.append((event.error_code, event.last_stream_id))

    def _send_bodies(self):
        """Sends one frame of each stream in turn while the windows are open. The next call
        continues with the stream at which the connection's window closed."""
        waiting = 0
        while self._turns and waiting < len(self._turns):
            stream = self._turns.popleft()
            if len(stream.unsent) == 0:
                continue
            waiting = 0 if self._send_frame(stream) else waiting + 1
            if waiting == 0 or self.protocol.outbound_flow_control_window > 0:
                self._turns.append(stream)
            else:
                self._turns.appendleft(stream)
                break
        self.flush()

    def _send_frame(self, stream):
        room = min(self.protocol.local_flow_control_window(stream.number), FRAME_BYTES,
                   len(stream.unsent))
        if room <= 0:
            return False
        last = stream.ends and room == len(stream.unsent)
        self.protocol.send_data(stream.number, bytes(stream.unsent[:room]), end_stream=last)
        stream.unsent = stream.unsent[room:]
        stream.sent += room
        return True


WIDE_WINDOWS = {h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 1 << 28}
