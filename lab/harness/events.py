"""Clients of an event stream, and the floor of a server of events, as programs of their own.

    events.py clients PORT COUNT   opens the streams, says "ready", and for each line of its input
                                   posts one event, waits until every client has it, says "done"
    events.py serve PORT           one send() for each client that has asked for /events, whenever
                                   somebody posts to /event; reads nothing else
"""

import resource
import select
import socket
import sys

EVENT = b"x" * 80
_CHUNK_BYTES = 8 + len(EVENT)  # at least: "data: ", the text, two line ends
_HEAD = (b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
         b"Transfer-Encoding: chunked\r\n\r\n")
_CHUNK = b"58\r\ndata: " + EVENT + b"\n\n\r\n"


def connect(port):
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def receive(connection, complete):
    """Receives until complete(bytes)."""
    received = b""
    while not complete(received):
        part = connection.recv(4096)
        if not part:
            raise ConnectionError(f"the server closed a connection after {received!r}")
        received += part
    return received


def clients(port, count):
    streams = [connect(port) for _ in range(count)]
    for stream in streams:
        stream.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        head = receive(stream, lambda received: received.endswith(b"\r\n\r\n"))
        if b" 200 " not in head or b"text/event-stream" not in head:
            raise ConnectionError(f"no event stream: {head!r}")
    control = connect(port)
    print("ready", flush=True)
    for _ in sys.stdin:
        control.sendall(b"POST /event HTTP/1.1\r\nHost: localhost\r\n"
                        b"Content-Length: %d\r\n\r\n%s" % (len(EVENT), EVENT))
        receive(control, lambda received: b"\r\n\r\n" in received)
        for stream in streams:
            event = receive(stream, lambda received: len(received) >= _CHUNK_BYTES)
            if EVENT not in event:
                raise ConnectionError(f"not the event: {event!r}")
        print("done", flush=True)


def serve(port):
    listener = socket.create_server(("127.0.0.1", port), backlog=4096)
    poll = select.epoll()
    poll.register(listener, select.EPOLLIN)
    connections, streams = {}, {}
    while True:
        for descriptor, _ in poll.poll():
            if descriptor == listener.fileno():
                connection = listener.accept()[0]
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connections[connection.fileno()] = connection
                poll.register(connection, select.EPOLLIN)
                continue
            received = connections[descriptor].recv(4096)
            if received.startswith(b"GET"):
                streams[descriptor] = connections[descriptor]
                connections[descriptor].sendall(_HEAD)
            elif received:
                connections[descriptor].sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
                for stream in streams.values():
                    stream.send(_CHUNK)
            else:
                streams.pop(descriptor, None)
                connections.pop(descriptor).close()


def main():
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if sys.argv[1] == "serve":
        serve(int(sys.argv[2]))
    else:
        clients(int(sys.argv[2]), int(sys.argv[3]))


if __name__ == "__main__":
    main()
