"""Programs that use the library in each way are built with strict warnings, and serve requests."""

import contextlib
import os
import re
import shutil
import subprocess

import pytest

from conftest import SOURCE_DIR
from exports import missing_in

CONSUMER_DIR = SOURCE_DIR / "tests/install/consumer"
COMPILERS = ["g++", "clang++-19"]
KINDS = ["static", "shared"]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow",
            "-Wold-style-cast", "-Wnon-virtual-dtor", "-Werror"]


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True,
                          check=False, **more)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def build(folder, compiler, way, *definitions):
    """Builds the consumer's project and returns the program."""
    # Without debug information, for speed.
    run("cmake", "-G", "Ninja", "-S", CONSUMER_DIR, "-B", folder, f"-DCMAKE_CXX_COMPILER={compiler}",
        f"-DWAY={way}", f"-DWARNINGS={';'.join(WARNINGS)}", "-DCMAKE_BUILD_TYPE=Debug",
        "-DCMAKE_CXX_FLAGS_DEBUG=-O1", *definitions)
    run("cmake", "--build", folder, "--parallel", os.cpu_count())
    return folder / "consumer"


def libraries_of(program):
    return set(re.findall(r"NEEDED\s+(\S+)", run("objdump", "--private-headers", program)))


def assert_kind(program, kind):
    linked = any(name.startswith("libh2server.so.") for name in libraries_of(program))
    assert linked == (kind == "shared")


@contextlib.contextmanager
def running(program, *arguments, **more):
    """Starts the program. Yields its URL and the line about its engine; it has to end with 0."""
    process = subprocess.Popen([program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               text=True, **more)
    try:
        port = process.stdout.readline().split()
        assert port[:1] == ["port"], port
        yield f"http://127.0.0.1:{port[1]}", process.stdout.readline()
        process.stdin.close()
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()


def curl(*arguments):
    return run("curl", "--silent", "--show-error", "--noproxy", "*", "--max-time", "60", *arguments)


def assert_serves(program, **more):
    with running(program, **more) as (url, _):
        assert curl(f"{url}/hello/world") == "hello world\n"
        assert curl("--http2-prior-knowledge", "--data", "text", f"{url}/echo") == "text"
        assert curl(f"{url}/countdown") == "3\n2\n1\n"
        # 500 if GCC 12 has miscompiled the handler and the library has noticed.
        status = curl("--output", "/dev/null", "--write-out", "%{http_code}", f"{url}/condition")
        assert status in ("200", "500")
        assert curl(f"{url}/hello/again") == "hello again\n"


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("selected_by", ["component", "BUILD_SHARED_LIBS"])
def test_find_package(prefix, tmp_path, compiler, kind, selected_by):
    if selected_by == "component":
        selection = f"-DCOMPONENTS=COMPONENTS;{kind}"
    else:
        selection = f"-DBUILD_SHARED_LIBS={kind == 'shared'}"
    program = build(tmp_path, compiler, "find_package", f"-DCMAKE_PREFIX_PATH={prefix}", selection)
    assert_kind(program, kind)
    assert_serves(program)


@pytest.mark.parametrize("asked,found", [("0.1", False), ("0.2", True), ("0.2.9", False), ("0.3", False)])
def test_find_package_checks_the_version(prefix, tmp_path, asked, found):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(version CXX)\n"
        f"find_package(h2server {asked} QUIET)\n"
        'message(STATUS "found: ${h2server_FOUND}")\n')
    output = run("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    assert f"found: {int(found)}" in output


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("kind", KINDS)
def test_pkg_config(prefix, lib_dir, tmp_path, compiler, kind):
    moved = tmp_path / "moved"  # the files name no absolute path
    shutil.copytree(prefix, moved, symlinks=True)
    libraries = moved / lib_dir.relative_to(prefix)
    options = ["--static"] if kind == "static" else []
    flags = run("pkg-config", *options, "--cflags", "--libs", "h2server",
                env=os.environ | {"PKG_CONFIG_PATH": str(libraries / "pkgconfig")}).split()
    if kind == "static":  # the linker prefers the shared library
        flags = ["-l:libh2server.a" if flag == "-lh2server" else flag for flag in flags]
    program = tmp_path / "consumer"
    run(compiler, "-std=c++23", "-O1", *WARNINGS, CONSUMER_DIR / "main.cc", "-o", program, *flags)
    assert_kind(program, kind)
    assert_serves(program, env=os.environ | {"LD_LIBRARY_PATH": str(libraries)})


def test_add_subdirectory(tmp_path):
    program = build(tmp_path, "g++", "add_subdirectory", f"-DH2SERVER_SOURCE_DIR={SOURCE_DIR}")
    assert_kind(program, "static")
    assert_serves(program)
    assert not (tmp_path / "h2server/h2server").exists()  # not the program
    # A project installs what belongs to it, not what it uses.
    run("cmake", "--install", tmp_path, "--prefix", tmp_path / "prefix")
    assert not (tmp_path / "prefix").exists()


def test_fetch_content_without_optional_libraries(tmp_path):
    program = build(tmp_path, "clang++-19", "FetchContent", f"-DH2SERVER_SOURCE_DIR={SOURCE_DIR}",
                    "-DBUILD_SHARED_LIBS=ON", "-DH2SERVER_IO_URING=OFF", "-DH2SERVER_COMPRESSION=OFF")
    assert_kind(program, "shared")
    [library] = tmp_path.rglob("libh2server.so")
    assert not missing_in(library)
    optional = ("liburing", "libbrotli", "libzstd")
    assert not any(name.startswith(optional) for name in libraries_of(library))
    assert_serves(program)

    reason = "io_uring does not work here: this build was made without H2SERVER_IO_URING"
    with running(program, "automatic") as (_, engine):
        assert engine == f"engine epoll: {reason}\n"
    done = subprocess.run([program, "io_uring"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, f"{reason}\n")
