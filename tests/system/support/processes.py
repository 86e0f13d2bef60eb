"""What the kernel says about a process."""

import os
import pathlib
import threading

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def _status_field(pid, name):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1])
    raise AssertionError(f"no {name} in the status of process {pid}")


def anonymous_bytes(pid):
    """Memory of the process's own: heap and stacks, without mapped files."""
    return _status_field(pid, "RssAnon") * 1024


def thread_count(pid):
    return _status_field(pid, "Threads")


def descriptor_count(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def socket_count(pid):
    """Open sockets, listening ones among them."""
    count = 0
    for entry in os.scandir(f"/proc/{pid}/fd"):
        try:
            count += os.readlink(entry.path).startswith("socket:")
        except FileNotFoundError:
            pass  # closed meanwhile
    return count


def bytes_to_send(port):
    """What the kernel holds of the data that was sent from that port over IPv4."""
    total = 0
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, _, _, queues, *_ = line.split()
        if int(local.split(":")[1], 16) == port:
            total += int(queues.split(":")[0], 16)
    return total


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


class MemoryWatch:
    """By how much a process's own memory grew at most: with MemoryWatch(pid) as watch: ..."""

    _PERIOD_S = 0.02

    def __init__(self, pid):
        self._pid = pid
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._before = anonymous_bytes(pid)
        self._most = self._before

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()
        self._look()

    def _look(self):
        self._most = max(self._most, anonymous_bytes(self._pid))

    def _sample(self):
        while not self._ended.wait(self._PERIOD_S):
            try:
                self._look()
            except (FileNotFoundError, ProcessLookupError, AssertionError):
                return  # it has ended, which the test itself notices

    @property
    def growth(self):
        return self._most - self._before
