"""Tests of the installed library: its headers, its symbols, and programs that use it.

H2SERVER_BUILD_DIR is a build with both libraries (preset package)."""

import os
import pathlib
import subprocess

import pytest

SOURCE_DIR = pathlib.Path(__file__).resolve().parents[2]
BUILD_DIR = pathlib.Path(os.environ["H2SERVER_BUILD_DIR"])


@pytest.fixture(scope="session")
def prefix(tmp_path_factory):
    """Returns the folder into which the library is installed."""
    folder = tmp_path_factory.mktemp("prefix")
    subprocess.run(["cmake", "--install", BUILD_DIR, "--prefix", folder],
                   check=True, stdout=subprocess.DEVNULL)
    return folder


@pytest.fixture(scope="session")
def lib_dir(prefix):
    [library] = prefix.rglob("libh2server.a")
    return library.parent
