"""A server under Valgrind's callgrind, which counts the instructions that it executes."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

from support.environment import BUILD, CLIENTS, LAST_RESORT_S
from support.server import Server

_PRELOADED = CLIENTS / "openat2_for_valgrind.c"
# The C library's functions for the oldest x86-64 processors, so that all machines count the same.
_HWCAPS = "glibc.cpu.hwcaps=" + ",".join(
    f"-{name}" for name in ("AVX512F", "AVX512VL", "AVX2", "AVX", "BMI1", "BMI2", "ERMS", "FSRM",
                            "LZCNT", "MOVBE", "POPCNT", "SSE4_2", "SSE4_1", "SSSE3"))


class CountedServer(Server):
    """Counts the instructions of all its threads in user mode. The engine's thread is the only
    one that works."""

    start_s = 2 * LAST_RESORT_S  # callgrind is some fifty times slower
    time_limits = []  # as users have them

    def __init__(self, *arguments, **options):
        for program in ("valgrind", "vgdb", "cc"):
            if not shutil.which(program):
                pytest.skip(f"{program} is not installed")
        super().__init__(*arguments, **options)
        library = self._folder / "openat2.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, _PRELOADED], check=True)
        self.command = ["env", f"LD_PRELOAD={library}", f"GLIBC_TUNABLES={_HWCAPS}", "valgrind", "--tool=callgrind",
                        f"--log-file={self._folder / 'valgrind.log'}",
                        "--callgrind-out-file=/dev/null", f"--vgdb-prefix={self._folder / 'vgdb'}",
                        *self.command]

    def instructions(self):
        """Returns the number of instructions so far."""
        done = subprocess.run(["vgdb", f"--pid={self.pid}",
                               f"--vgdb-prefix={self._folder / 'vgdb'}", "status", "internal"],
                              capture_output=True, text=True, check=False, timeout=LAST_RESORT_S)
        counts = re.findall(r"^events-\d+: (\d+)$", done.stdout, re.MULTILINE)
        if not counts:  # vgdb wakes a server that waits by ptrace
            pytest.skip(f"callgrind can't be asked here: {(done.stdout + done.stderr)[-200:]}")
        return sum(map(int, counts))


def build_kind():
    """Returns what decides on the machine code, such as "GNU 12 Release x86_64 -O2"."""
    options = dict(re.findall(r"^(\w+):\w+=(.*)$", pathlib.Path(BUILD, "CMakeCache.txt").read_text(),
                              re.MULTILINE))
    compiler = _settings("CMakeCXXCompiler.cmake")
    build_type = options["CMAKE_BUILD_TYPE"]
    return " ".join(filter(None, [
        compiler["CMAKE_CXX_COMPILER_ID"], compiler["CMAKE_CXX_COMPILER_VERSION"].split(".")[0],
        build_type, _settings("CMakeSystem.cmake")["CMAKE_SYSTEM_PROCESSOR"],
        options["CMAKE_CXX_FLAGS"], options[f"CMAKE_CXX_FLAGS_{build_type.upper()}"],
    ]))


def _settings(name):
    """Returns the settings of the newest file with that name: each version of CMake writes one."""
    newest = max(pathlib.Path(BUILD, "CMakeFiles").glob(f"*/{name}"), key=os.path.getmtime)
    return dict(re.findall(r'^set\((\w+) "(.*)"\)$', newest.read_text(), re.MULTILINE))
