"""A FUSE file system whose calls block on demand. A test mounts it with StallingDisk; run as a
program, this file serves the file system. The kernel keeps its names, and no attributes."""

import contextlib
import errno
import os
import pathlib
import stat
import subprocess
import sys
import time

# Control files: calls of a kind block while `held-KIND` exists; one that is blocked makes
# `stuck-KIND`.
KINDS = ("getattr", "open", "read", "write", "flush")


def _control(controls, state, kind):
    return controls / f"{state}-{kind}"


class StallingDisk:
    """with StallingDisk(folder) as disk: ... disk.mount is its mount point."""

    def __init__(self, folder):
        self.mount = folder / "disk"
        self._controls = folder / "controls"
        self._process = None

    def __enter__(self):
        from support.waiting import wait_until  # not there when this file runs as a program
        self.mount.mkdir()
        self._controls.mkdir()
        self._process = subprocess.Popen(["/usr/bin/python3", __file__, self.mount, self._controls])
        wait_until(lambda: os.path.ismount(self.mount), "the file system is mounted")
        return self

    def __exit__(self, *_):
        self.release()
        subprocess.run(["umount", "--lazy", self.mount], check=True)
        self._process.wait(timeout=60)

    @contextlib.contextmanager
    def held(self, kind="write"):
        """Blocks all calls of that kind until release() or the end of the with block."""
        with contextlib.suppress(FileNotFoundError):
            _control(self._controls, "stuck", kind).unlink()
        _control(self._controls, "held", kind).touch()
        try:
            yield
        finally:
            self.release()

    def release(self):
        for kind in KINDS:
            with contextlib.suppress(FileNotFoundError):
                _control(self._controls, "held", kind).unlink()

    def stuck(self, kind="write"):
        """Returns true if a call of that kind is blocked."""
        return all(_control(self._controls, state, kind).exists() for state in ("held", "stuck"))


def obstacle():
    """Returns why the file system cannot be mounted here; empty if it can."""
    if os.geteuid() != 0:
        return "mounting needs privileges"
    if not os.path.exists("/dev/fuse"):
        return "this machine has no /dev/fuse"
    return ""


def serve(mount, controls):
    import fusepy

    class Memory(fusepy.Operations):
        """Files in one directory. fusepy calls from several threads; only held calls take long."""

        def __init__(self):
            self.files = {}  # by path

        def _pass(self, kind):
            while _control(controls, "held", kind).exists():
                _control(controls, "stuck", kind).touch()
                time.sleep(0.01)

        def _find(self, path):
            if path not in self.files:
                raise fusepy.FuseOSError(errno.ENOENT)
            return self.files[path]

        def getattr(self, path, fh=None):
            self._pass("getattr")
            if path == "/":
                return {"st_mode": stat.S_IFDIR | 0o755, "st_nlink": 2}
            return {"st_mode": stat.S_IFREG | 0o644, "st_nlink": 1,
                    "st_size": len(self._find(path))}

        def readdir(self, path, fh):
            return [".", "..", *(name[1:] for name in self.files)]

        def create(self, path, mode, fi=None):
            self.files[path] = bytearray()
            return 0

        def open(self, path, flags):
            self._pass("open")
            self._find(path)
            return 0

        def read(self, path, size, offset, fh):
            self._pass("read")
            return bytes(self._find(path)[offset:offset + size])

        def write(self, path, data, offset, fh):
            self._pass("write")
            content = self._find(path)
            content[offset:offset + len(data)] = data
            return len(data)

        def flush(self, path, fh):
            self._pass("flush")

        def truncate(self, path, length, fh=None):
            del self._find(path)[length:]

        def rename(self, old, new):
            self.files[new] = self.files.pop(old)

        def link(self, target, source):
            self.files[target] = self._find(source)

        def unlink(self, path):
            self._find(path)
            del self.files[path]

    fusepy.FUSE(Memory(), str(mount), foreground=True, big_writes=True, attr_timeout=0,
                entry_timeout=3600)


if __name__ == "__main__":
    serve(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
