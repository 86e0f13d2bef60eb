"""Whether a server has given back what its connections took."""

from support.environment import PATIENCE
from support.processes import Census, difference
from support.waiting import holds_within, wait_until


class Base:
    """What a server has when it serves nobody, but has served before.

    `files_kept`: descriptors of files that its workers may keep to serve them again, or may have
    forgotten when the base was taken.
    """

    def __init__(self, server, files_kept):
        self._server = server
        self._files_kept = files_kept
        self._settle()

    def _settle(self):
        """The first connections are closed when nothing changes any more."""
        seen = []

        def settled():
            seen.append(Census.of(self._server.pid))
            return len(seen) >= 10 and len(set(seen[-10:])) == 1

        wait_until(settled, "the server comes to rest")
        self.census = seen[-1]

    def check(self, seconds=10):
        """Waits until all is back, temporary files included."""
        pid = self._server.pid
        back = holds_within(
            lambda: Census.of(pid).is_back_at(self.census, self._files_kept), seconds * PATIENCE)
        assert back, difference(pid, self.census)
        wait_until(lambda: not self._server.temporary_files(), "the uploads are removed")
