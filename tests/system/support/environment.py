"""Paths, and the kind of build under test. ctest sets the variables; the default is the release
build of this tree."""

import os
import pathlib
import shutil

import pytest

_TREE = pathlib.Path(__file__).resolve().parents[3]

SOURCE = pathlib.Path(os.environ.get("H2SERVER_SOURCE_DIR", _TREE))
BINARY = pathlib.Path(os.environ.get("H2SERVER_BINARY", SOURCE / "build/release/h2server"))
BUILD = pathlib.Path(os.environ.get("H2SERVER_BUILD_DIR", BINARY.parent))
TOOLS = pathlib.Path(os.environ.get("H2SERVER_TOOLS_DIR", SOURCE / "build/tools"))
CLIENTS = pathlib.Path(__file__).resolve().parents[1] / "clients"
HTTP2 = os.environ.get("H2SERVER_TEST_H2", "")  # the value of --h2, or empty for the default
SANITIZER = os.environ.get("H2SERVER_SANITIZED", "")  # "", "address" or "thread"

# Factor for deadlines: a sanitizer makes the program several times slower.
PATIENCE = 5 if SANITIZER else 1

# A test waits that long before it fails: no machine is so slow that it needs that much.
LAST_RESORT_S = 60 * PATIENCE

# Measurements (memory, CPU time, cache expiry) are meaningless with a sanitizer.
not_sanitized = pytest.mark.skipif(bool(SANITIZER), reason="measures an ordinary build")


def tool(name):
    """Returns the path of a test tool. Fails if it is missing: scripts/setup installs it."""
    found = shutil.which(name, path=f"{TOOLS / 'bin'}{os.pathsep}{os.environ['PATH']}")
    assert found, f"{name} is not installed; scripts/setup test does that"
    return found
