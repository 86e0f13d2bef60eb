"""The shared library exports every function that a public header declares, and nothing internal."""

import re
import subprocess

from conftest import SOURCE_DIR
from exports import declared, missing_in, symbols_of


def test_recognises_declarations():
    # A sample of each kind: a change of the dump's format must not empty the list.
    assert {"Server", "~Server", "start", "sleep_for", "problem_of", "allocate_frame", "add",
            "load_file_from_filecache"} <= set(declared().values())


# test_consumers.py checks the same of a library that Clang has compiled.
def test_exports_what_the_headers_declare(lib_dir):
    assert not missing_in(lib_dir / "libh2server.so")


def test_exports_nothing_internal(lib_dir):
    internal = re.compile(r"^(typeinfo for |vtable for )?h2server::"
                          r"(app|base|content|file|http|io|net|server)::")
    names = symbols_of(lib_dir / "libh2server.so", "--demangle")
    assert not [name for name in names if internal.match(name)]


def test_soname_has_the_minor_version(lib_dir):
    [version] = re.findall(r"project\(h2server VERSION (\d+\.\d+)\.",
                           (SOURCE_DIR / "CMakeLists.txt").read_text())
    headers = subprocess.run(["objdump", "--private-headers", lib_dir / "libh2server.so"],
                             text=True, capture_output=True, check=True).stdout
    assert re.findall(r"SONAME\s+(\S+)", headers) == [f"libh2server.so.{version}"]
