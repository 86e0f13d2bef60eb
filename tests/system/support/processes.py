"""What the kernel says about a server: a process and those that it forks, which share its group."""

import collections
import dataclasses
import os
import pathlib
import threading

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_ENDED = "ZX"


def _stat(pid):
    """The fields of /proc/PID/stat from the third on, the state; None: there is no such process."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return text.rpartition(")")[2].split()


def _group(leader):
    """{process: its stat} of all that belong to the group, zombies among them."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (stat := _stat(name)) and int(stat[2]) == leader:
            found[int(name)] = stat
    return found


def members(leader):
    """The group's processes that run."""
    return sorted(pid for pid, stat in _group(leader).items() if stat[0] not in _ENDED)


def zombies(leader):
    """The group's processes that have ended and for which nobody has waited."""
    return sorted(pid for pid, stat in _group(leader).items() if stat[0] == "Z")


def children(parent, leader):
    """Of one process of the group."""
    return sorted(pid for pid, stat in _group(leader).items() if int(stat[1]) == parent)


def _each(leader, look):
    """look(pid) of each member; those that end meanwhile are left out."""
    results = []
    for pid in members(leader):
        try:
            results.append(look(pid))
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            assert pid != leader, "the server has ended"
    return results


def anonymous_bytes(leader):
    """Memory of the server's own: heap and stacks, without mapped files. What processes share
    after a fork counts once."""
    return sum(_each(leader, lambda pid: _field(f"/proc/{pid}/smaps_rollup", "Pss_Anon"))) * 1024


def _field(path, name):
    for line in pathlib.Path(path).read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1])
    raise ProcessLookupError(path)  # it ends: its memory is gone already


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
    """The numbers of all threads, without those that the kernel adds for io_uring when it likes."""
    return [thread for one in _each(leader, _threads) for thread in one]


def thread_count(leader):
    return len(threads(leader))


def _open_files(pid):
    """What the process's descriptors lead to."""
    found = []
    for entry in os.scandir(f"/proc/{pid}/fd"):
        try:
            found.append(os.readlink(entry.path))
        except FileNotFoundError:
            pass  # closed meanwhile
    return found


def open_files(leader):
    """What the descriptors lead to."""
    return [name for one in _each(leader, _open_files) for name in one]


def descriptor_count(leader):
    return sum(_each(leader, lambda pid: len(os.listdir(f"/proc/{pid}/fd"))))


def socket_count(leader):
    """Open sockets, listening ones among them. One that several processes hold counts once."""
    return len({name for name in open_files(leader) if name.startswith("socket:")})


@dataclasses.dataclass(frozen=True)
class Census:
    """What a server has: numbers that must come back to what they were."""

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
        """`descriptors_more`: files that workers keep open, to serve them again."""
        fixed = ("processes", "zombies", "threads", "sockets")
        return (all(getattr(self, name) == getattr(base, name) for name in fixed)
                and self.descriptors <= base.descriptors + descriptors_more)


def difference(leader, base):
    """For the message when a census does not come back: the numbers, and what is open most."""
    often = collections.Counter(open_files(leader)).most_common(8)
    return f"before {base}, now {Census.of(leader)}; open: {often}"


def bytes_to_send(port):
    """What the kernel holds of the data that was sent from that port over IPv4."""
    total = 0
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, _, _, queues, *_ = line.split()
        if int(local.split(":")[1], 16) == port:
            total += int(queues.split(":")[0], 16)
    return total


def cpu_seconds(leader):
    """Of the server's processes, and of those for which they have waited."""
    times = _each(leader, lambda pid: sum(map(int, _stat(pid)[11:15])))
    return sum(times) / _TICKS_PER_S


class MemoryWatch:
    """By how much a process's own memory grew at most: with MemoryWatch(pid) as watch: ..."""

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
                return  # it has ended, which the test itself notices

    @property
    def growth(self):
        return self._most - self._before
