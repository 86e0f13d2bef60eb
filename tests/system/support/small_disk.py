"""A server whose upload directory is a small file system."""

import os
import pathlib
import subprocess

import pytest

from support.environment import tool
from support.server import Server

_MOUNT = 'mkdir -p "$0" && mount -t tmpfs -o size=4m none "$0" && exec "$@"'


class OnASmallDisk(Server):
    """Its upload directory is a file system of 4 MiB, in a mount namespace of its own."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        as_root = [] if os.geteuid() == 0 else ["--map-root-user"]
        unshare = [tool("unshare"), "--mount", *as_root]
        if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode != 0:
            pytest.skip("mount namespaces are not allowed here")
        self.command = [*unshare, "sh", "-c", _MOUNT, self.uploads, *self.command]

    def stored(self):
        """Returns the sizes of all files by their paths, as the server sees them."""
        folder = pathlib.Path(f"/proc/{self.pid}/root{self.uploads}")
        return {str(path.relative_to(folder)): path.stat().st_size
                for path in folder.rglob("*") if path.is_file()}
