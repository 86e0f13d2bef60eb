"""A service manager for the program under test: it hears what the program tells, and passes
listening sockets, as systemd does."""

import socket
import sys
import threading

from support.environment import LAST_RESORT_S
from support.reloading import Upgrading
from support.waiting import wait_until

# Becomes the program argv[2], with the sockets that come by the Unix socket argv[1].
_ACTIVATE = """
import fcntl, os, socket, sys
with socket.socket(socket.AF_UNIX) as giver:
    giver.connect(sys.argv[1])
    passed = socket.recv_fds(giver, 1, 16)[1]
for number, one in enumerate([fcntl.fcntl(one, fcntl.F_DUPFD, 100) for one in passed]):
    os.dup2(one, 3 + number)
    os.close(one)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(passed)))
os.execv(sys.argv[2], sys.argv[2:])
"""


class Managed(Upgrading):
    """`variables`: further ones of its environment. `sockets`: listening ones that are passed."""

    def __init__(self, text, files=None, variables=(), sockets=()):
        super().__init__(text, files)
        self._sockets = sockets
        self._notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._notify.bind(str(self.folder / "notify"))
        self._notify.settimeout(LAST_RESORT_S)
        self._giver = socket.socket(socket.AF_UNIX)
        self._giver.bind(str(self.folder / "giver"))
        self._giver.listen()
        if sockets:
            self.command = [sys.executable, "-c", _ACTIVATE, self.folder / "giver", *self.command]
        self.command = ["env", f"NOTIFY_SOCKET={self.folder / 'notify'}", *variables, *self.command]

    def start(self):
        giving = threading.Thread(target=self._give)
        giving.start()
        super().start()
        giving.join()

    def _give(self):
        if self._sockets:
            connection, _ = self._giver.accept()
            with connection:
                socket.send_fds(connection, [b"1"], [one.fileno() for one in self._sockets])

    def __exit__(self, *exception):
        super().__exit__(*exception)
        self._notify.close()
        self._giver.close()

    def told(self):
        """Returns the next message, as names and values."""
        text = self._notify.recv(65536).decode()
        assert text.endswith("\n"), text
        return dict(line.split("=", 1) for line in text.splitlines())

    def told_until(self, name):
        """Returns the next message with that name."""
        while name not in (message := self.told()):
            pass
        return message

    def is_silent(self):
        """Returns true if nothing was told that has not been read."""
        self._notify.setblocking(False)
        try:
            self._notify.recv(65536, socket.MSG_PEEK)
            return False
        except BlockingIOError:
            return True
        finally:
            self._notify.settimeout(LAST_RESORT_S)

    def wait_for_successor(self, process):
        wait_until(lambda: self.serving not in (process, 0), "a successor serves")
