"""The documentation: the library's C++ compiles, its excerpts are in the files that they name, and
all links lead somewhere. test_manual.py tries the manual of the program.

A block ```cpp compiles by itself after `#include <h2server/h2server.h>` and `using namespace
h2server;`. One behind the comment <!-- from FILE --> is an excerpt of that file instead. One that
includes a header which is not installed is not compiled.
"""

import concurrent.futures
import dataclasses
import os
import pathlib
import re
import subprocess

import pytest

from support.environment import PATIENCE, SANITIZER, SOURCE

PAGES = sorted(SOURCE.glob("docs/library/*.md"))
COMPILER = [os.environ.get("CXX", "g++"), "-std=c++23", "-Wall", "-Wextra", "-Werror",
            f"-I{SOURCE / 'include'}"]

_BLOCK = re.compile(r"(?:^<!-- from (\S+) -->\n+)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
_CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)


@dataclasses.dataclass
class Block:
    page: pathlib.Path
    line: int  # of its first line of code
    source: str | None  # the file that it is an excerpt of
    language: str
    code: str

    def __str__(self):
        return f"{self.page.relative_to(SOURCE)}:{self.line}"


def blocks_of(page, text=None):
    text = page.read_text() if text is None else text
    return [Block(page, text.count("\n", 0, match.start(3)) + 1, match[1], match[2], match[3])
            for match in _BLOCK.finditer(text)]


def library_section(page):
    """Returns the README without what is not about the library; lines keep their numbers."""
    text = page.read_text()
    start = text.index("\n## The library\n")
    return "\n" * text.count("\n", 0, start) + text[start:text.index("\n## ", start + 1)]


def all_blocks():
    readme = SOURCE / "README.md"
    return [block for page in PAGES for block in blocks_of(page)] + \
        blocks_of(readme, library_section(readme))


def compile_block(block, folder):
    """Returns the errors of the compiler, if any."""
    missing = [header for header in re.findall(r"#include <([^>]+)>", block.code)
               if "/" in header or header.endswith((".h", ".hpp"))]
    checks = "".join(f"#if !__has_include(<{header}>)\n#error {header}\n#endif\n"
                     for header in missing)
    present = subprocess.run([*COMPILER, *package_flags(), "-E", "-x", "c++", "-"], input=checks,
                             capture_output=True, text=True, check=False)
    if present.returncode != 0:
        return ""
    # Not by #line, which would make GCC take the block for a header.
    code = "using namespace h2server;" + "\n" * (block.line - 1) + block.code
    done = subprocess.run([*COMPILER, *package_flags(), "-fsyntax-only", "-include", folder / "all.h",
                           "-x", "c++", "-"], input=code, capture_output=True, text=True,
                          check=False, timeout=300 * PATIENCE)
    return done.stderr.replace("<stdin>:", f"{block.page}:") if done.returncode != 0 else ""


def package_flags():
    done = subprocess.run(["pkg-config", "--cflags", "glib-2.0"], capture_output=True, text=True,
                          check=False)
    return done.stdout.split()


@pytest.mark.skipif(bool(SANITIZER), reason="does not depend on the build")
def test_blocks_compile(tmp_path):
    (tmp_path / "all.h").write_text("#include <h2server/h2server.h>\n")
    subprocess.run([*COMPILER, *package_flags(), "-x", "c++-header", tmp_path / "all.h", "-o",
                    tmp_path / "all.h.gch"], check=True, timeout=300)
    blocks = [block for block in all_blocks() if block.language == "cpp" and not block.source]
    assert len(blocks) > 20
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        errors = list(pool.map(lambda block: compile_block(block, tmp_path), blocks))
    assert not any(errors), "\n".join(error for error in errors if error)


def test_a_wrong_block_is_reported(tmp_path):
    (tmp_path / "all.h").write_text("#include <cstdio>\nnamespace h2server {}\n")
    wrong = Block(tmp_path / "page.md", 7, None, "cpp", "int good;\nint bad = ;\n")
    assert "page.md:8:" in compile_block(wrong, tmp_path)
    absent = Block(tmp_path / "page.md", 7, None, "cpp", "#include <no/such.h>\nint bad = ;\n")
    assert compile_block(absent, tmp_path) == ""


def test_excerpts_are_in_their_files():
    excerpts = [block for block in all_blocks() if block.source]
    assert excerpts
    for block in excerpts:
        text = (SOURCE / block.source).read_text()
        assert f"\n{block.code}" in f"\n{text}", f"{block} is not in {block.source}"


def anchors_of(page):
    """Returns the anchors that GitHub makes of the headings, and those that the page sets."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    of_headings = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
                   for heading in _HEADING.findall(text)}
    return of_headings | set(re.findall(r'^<a id="([\w-]+)"></a>$', text, flags=re.M))


MANUAL = sorted(SOURCE.glob("docs/manual/*.md"))
ARCHITECTURE = SOURCE / "docs/ARCHITECTURE.md"
PARTS = sorted(SOURCE.glob("docs/architecture/*.md"))
OTHERS = [SOURCE / name for name in ("README.md", "SECURITY.md", "CHANGELOG.md",
                                     "docs/CONTRIBUTING.md")]


@pytest.mark.parametrize("page", [*PAGES, *MANUAL, ARCHITECTURE, *PARTS, *OTHERS],
                         ids=lambda page: f"{page.parent.name}/{page.name}")
def test_links_lead_somewhere(page):
    for link in _LINK.findall(_CODE.sub("", page.read_text())):
        if re.match(r"https?:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name} links to {link}"
        if anchor and target.suffix == ".md":
            assert anchor in anchors_of(target), f"{page.name} links to {link}"


@pytest.mark.parametrize("pages", [PAGES, MANUAL], ids=["library", "manual"])
def test_the_index_lists_all_pages(pages):
    index = (pages[0].parent / "README.md").read_text()
    for page in pages:
        assert page.name == "README.md" or f"]({page.name})" in index, page.name


def test_the_architecture_is_short_and_lists_its_parts():
    text = ARCHITECTURE.read_text()
    assert text.count("\n") <= 500
    assert PARTS and not [page.name for page in PARTS if f"](architecture/{page.name})" not in text]
