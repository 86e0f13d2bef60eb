"""Each public header compiles alone with both compilers, and includes no more than it needs."""

import re
import subprocess

import pytest

from conftest import SOURCE_DIR

INCLUDE_DIR = SOURCE_DIR / "include"
HEADERS = sorted(path.name for path in (INCLUDE_DIR / "h2server").glob("*.h"))
COMPILERS = ["g++", "clang++-19"]
OPTIONS = ["-std=c++23", "-O2", "-x", "c++", "-I", INCLUDE_DIR]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow",
            "-Wold-style-cast", "-Wnon-virtual-dtor", "-Werror"]
# GCC 12's library and all public headers have 72,000 lines together, which take it 0.8 s.
LINES_MAX = 76_000
# Each costs every file of a program a tenth of a second or more.
EXPENSIVE = {"algorithm", "filesystem", "format", "future", "iostream", "print", "ranges", "regex",
             "thread"}


def run(compiler, header, *options):
    # Twice: a header must allow that.
    text = f"#include <h2server/{header}>\n" * 2
    done = subprocess.run([compiler, *OPTIONS, *options, "-"], input=text, text=True,
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("header", HEADERS)
def test_compiles_alone(compiler, header):
    run(compiler, header, *WARNINGS, "-fsyntax-only")


@pytest.mark.parametrize("header", HEADERS)
def test_is_short(header):
    text = run("g++", header, "-E")
    lines = sum(1 for line in text.splitlines() if line and not line.startswith("#"))
    assert lines <= LINES_MAX
    reached = set(re.findall(r'^# \d+ "/usr/include/c\+\+/\d+/(\w+)"', text, re.MULTILINE))
    assert reached, "no header of the C++ library was recognised"
    assert not reached & EXPENSIVE


def test_the_whole_interface_has_every_header():
    rule = run("g++", "h2server.h", "-M")
    assert set(re.findall(r"/h2server/(\w+\.h)", rule)) == set(HEADERS)
