"""Runs a server that may be replaced by its successor, and stays until the last one has ended.

    python -m harness.keeper COMMAND…

The processes of a server that was replaced become this one's children, so their processor time can
be found in /proc: of those that live, and of those that have ended (cutime of this process). SIGTERM
is passed on to all of them.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys

from harness import meter

_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h


def _end(number, _frame):
    for member in meter.family(os.getpid())[1:]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(member, number)


def main(command):
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGTERM, _end)
    subprocess.Popen(command)  # waited for below, like all that come after it
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()


if __name__ == "__main__":
    main(sys.argv[1:])
