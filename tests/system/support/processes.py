"""Kernel data about a server: its main process and the forked ones in the same process group."""

import collections
import contextlib
import dataclasses
import os
import pathlib
import threading

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_ENDED = "ZX"
_LISTENS = "0A"  # in /proc/net/tcp


def _stat(pid):
    """Returns the fields of /proc/PID/stat from the third (state) on; None if it has ended."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return text.rpartition(")")[2].split()


def _group(leader):
    """Returns {pid: stat fields} of the group's processes, including zombies."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (stat := _stat(name)) and int(stat[2]) == leader:
            found[int(name)] = stat
    return found


def members(leader):
    """Returns the pids of the group's live processes."""
    return sorted(pid for pid, stat in _group(leader).items() if stat[0] not in _ENDED)


def zombies(leader):
    """Returns the pids of the group's processes that have ended and were not reaped."""
    return sorted(pid for pid, stat in _group(leader).items() if stat[0] == "Z")


def children(parent, leader):
    """Returns the pids of the children of one process of the group."""
    return sorted(pid for pid, stat in _group(leader).items() if int(stat[1]) == parent)


def _each(leader, look):
    """Returns look(pid) of each member, without those that end meanwhile."""
    results = []
    for pid in members(leader):
        try:
            results.append(look(pid))
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            assert pid != leader, "the server has ended"
    return results


def anonymous_bytes(leader):
    """Returns the size of heap and stacks, without mapped files. Pages that processes share
    after a fork count once."""
    return sum(_each(leader, lambda pid: _field(f"/proc/{pid}/smaps_rollup", "Pss_Anon"))) * 1024


def _field(path, name):
    for line in pathlib.Path(path).read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1])
    raise ProcessLookupError(path)  # it is exiting and its memory is already freed


def of_threads(pid, name):
    """Returns the texts of the files of this name of all threads, see proc(5)."""
    texts = []
    for thread in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            texts.append((thread / name).read_text())
    return texts


def _threads(pid):
    found = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            name = pathlib.Path(f"/proc/{pid}/task/{thread}/comm").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue  # ended meanwhile
        if not name.startswith("iou-"):
            found.append(int(thread))
    return found


def threads(leader):
    """Returns the ids of all threads, without the kernel's io_uring workers (iou-*)."""
    return [thread for one in _each(leader, _threads) for thread in one]


def thread_count(leader):
    return len(threads(leader))


def _open_files(pid):
    """Returns the targets of the process's descriptors."""
    found = []
    for entry in os.scandir(f"/proc/{pid}/fd"):
        try:
            found.append(os.readlink(entry.path))
        except FileNotFoundError:
            pass  # closed meanwhile
    return found


def open_files(leader):
    """Returns the targets of all processes' descriptors."""
    return [name for one in _each(leader, _open_files) for name in one]


def descriptor_count(leader):
    return sum(_each(leader, lambda pid: len(os.listdir(f"/proc/{pid}/fd"))))


def socket_count(leader):
    """Counts open sockets, including listeners. A socket shared by processes counts once."""
    return len({name for name in open_files(leader) if name.startswith("socket:")})


@dataclasses.dataclass(frozen=True)
class Census:
    """Resource counts of a server, to compare before and after a load."""

    processes: int
    zombies: int
    threads: int
    sockets: int
    descriptors: int

    @classmethod
    def of(cls, leader):
        return cls(len(members(leader)), len(zombies(leader)), thread_count(leader),
                   socket_count(leader), descriptor_count(leader))

    def is_back_at(self, base, descriptors_more):
        """`descriptors_more`: allowance for files that workers keep open in their caches."""
        fixed = ("processes", "zombies", "sockets")
        # When the base was taken, threads may have been there that wait for the disk; they end 200 ms
        # after their last work.
        return (all(getattr(self, name) == getattr(base, name) for name in fixed)
                and self.threads <= base.threads and self.descriptors <= base.descriptors + descriptors_more)


def difference(leader, base):
    """Returns a failure message: both censuses and the most frequent open files."""
    often = collections.Counter(open_files(leader)).most_common(8)
    return f"before {base}, now {Census.of(leader)}; open: {often}"


def bytes_to_send(port):
    """Returns the bytes in the kernel's send queues of that local port, over IPv4."""
    return sum(sent for sent, _ in _queues(port))


def bytes_to_read(port):
    """The same of what has been received and not read."""
    return sum(received for _, received in _queues(port))


def _queues(port):
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, _, state, queues, *_ = line.split()
        if int(local.split(":")[1], 16) == port and state != _LISTENS:
            yield tuple(int(size, 16) for size in queues.split(":"))


def cpu_seconds(leader):
    """Returns the CPU time of the server's processes and of the children that they reaped."""
    times = _each(leader, lambda pid: sum(map(int, _stat(pid)[11:15])))
    return sum(times) / _TICKS_PER_S


class MemoryWatch:
    """Records the peak growth of anonymous memory: with MemoryWatch(pid) as watch: ..."""

    _PERIOD_S = 0.05

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
            except AssertionError:
                return  # the server has ended; the test detects that itself

    @property
    def growth(self):
        return self._most - self._before
