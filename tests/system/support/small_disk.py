"""Servers with a directory that is a small file system."""

import os
import pathlib
import subprocess

import pytest

from support.environment import tool
from support.server import Server

_MOUNT = 'mkdir -p "$0" && mount -t tmpfs -o size=4m none "$0" && exec "$@"'


def with_small_disk(folder, command):
    """Returns a command in whose mount namespace the folder is a file system of 4 MiB."""
    as_root = [] if os.geteuid() == 0 else ["--map-root-user"]
    unshare = [tool("unshare"), "--mount", *as_root]
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("mount namespaces are not allowed here")
    return [*unshare, "sh", "-c", _MOUNT, folder, *command]


class OnASmallDisk(Server):
    """Its upload directory is a file system of 4 MiB, in a mount namespace of its own."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.command = with_small_disk(self.uploads, self.command)

    def stored(self):
        """Returns the sizes of all files by their paths, as the server sees them."""
        folder = pathlib.Path(f"/proc/{self.pid}/root{self.uploads}")
        return {str(path.relative_to(folder)): path.stat().st_size
                for path in folder.rglob("*") if path.is_file()}
