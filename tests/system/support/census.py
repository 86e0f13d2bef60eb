"""Checks that a server has released everything that its connections used."""

from support.environment import LAST_RESORT_S
from support.processes import Census, difference
from support.waiting import holds_within, wait_until


class Base:
    """Resources of a server that is idle but has already served connections.

    `files_kept`: upper bound of the file descriptors that the server keeps: one per mapped file, and
    a spare one per thread that reads files. They may be open now and not when the base was taken.
    """

    def __init__(self, server, files_kept):
        self._server = server
        self._files_kept = files_kept
        self._settle()

    def _settle(self):
        """Waits until ten consecutive censuses agree: earlier connections are then closed."""
        seen = []

        def settled():
            seen.append(Census.of(self._server.pid))
            return len(seen) >= 10 and len(set(seen[-10:])) == 1

        wait_until(settled, "the server comes to rest")
        self.census = seen[-1]

    def check(self):
        """Waits until everything is released, including temporary files."""
        pid = self._server.pid
        back = holds_within(
            lambda: Census.of(pid).is_back_at(self.census, self._files_kept), LAST_RESORT_S)
        assert back, difference(pid, self.census)
        wait_until(lambda: not self._server.temporary_files(), "the uploads are removed")
