#!/usr/bin/python3
"""Refuses words, paths and expressions that are banned in the project."""

import re

from lib import sources

# Split in halves, so that this file passes its own check.
BANNED = {
    "/" "work/": "a path of one machine",
    "/" "farm/": "a path of one machine",
    "/tmp/" "bash_jobs": "a path of one machine",
    "TO" "DO": "do it, or file an issue",
    "FIX" "ME": "fix it, or file an issue",
    "XX" "X": "say what is meant",
    "HA" "CK": "say why it is needed",
}

# Files that may use `new` or `delete`, each with its reason. `operator new` and `= delete` are
# allowed everywhere.
ALLOWED_NEW = {
    "src/base/memory/buffer_chain.cc": "makes blocks of two sizes, with their header in front of the bytes",
    "src/coro/frame_pool.cc": "is an allocator: it builds its free list inside the freed memory",
    "src/io/epoll_engine.cc": "open() makes it: make_unique cannot reach the private constructor",
    "src/io/uring_engine.cc": "open() makes it: make_unique cannot reach the private constructor",
}

_TEXT_BYTES_MAX = 1_000_000
_BANNED = re.compile(
    "|".join(rf"\b{word}\b" if word.isalpha() else re.escape(word) for word in BANNED)
)
_DEFAULT_BREAK = re.compile(r"\bdefault\s*:\s*break\s*;")
_USING_NAMESPACE = re.compile(r"\busing\s+namespace\b")
_NEW_OR_DELETE = re.compile(r"\b(new|delete)\b")
_OPERATOR_NAME = re.compile(r"\boperator\s+$")
_DELETED_FUNCTION = re.compile(r"=\s*$")


def banned_words(root):
    problems = []
    for file in sources.project_files(root):
        data = (root / file).read_bytes()
        if b"\0" in data or len(data) > _TEXT_BYTES_MAX:
            continue  # not a text file of the project
        for number, line in enumerate(data.decode(errors="replace").splitlines(), 1):
            for match in _BANNED.finditer(line):
                problems.append(f"{file}:{number}: {match[0]}: {BANNED[match[0]]}")
    return problems


def new_expressions(code):
    """Yields the uses of `new` and `delete` in `code` that allocate, construct or free."""
    for match in _NEW_OR_DELETE.finditer(code):
        before = code[max(0, match.start() - 40) : match.start()]
        if _OPERATOR_NAME.search(before):
            continue
        if match[0] == "delete" and _DELETED_FUNCTION.search(before):
            continue
        yield match


def banned_expressions(root, allowed_new):
    problems = []
    used = set()
    for file in sources.cpp_files(root, "src", "include", "examples", "lab", "fuzz"):
        code = sources.code_only((root / file).read_text())
        for match in _DEFAULT_BREAK.finditer(code):
            line = sources.line_of(code, match.start())
            problems.append(f"{file}:{line}: default: break;: decide on every value")
        if file.suffix == ".h":
            for match in _USING_NAMESPACE.finditer(code):
                line = sources.line_of(code, match.start())
                problems.append(f"{file}:{line}: using namespace, in a header")
        for match in new_expressions(code):
            used.add(file.as_posix())
            if file.as_posix() not in allowed_new:
                line = sources.line_of(code, match.start())
                problems.append(f"{file}:{line}: {match[0]}: use an owner (ALLOWED_NEW in words.py)")
    for name in sorted(set(allowed_new) - used):
        problems.append(f"{name}: is in ALLOWED_NEW of words.py and has no new or delete")
    return problems


def check(root, allowed_new=None):
    return banned_words(root) + banned_expressions(
        root, ALLOWED_NEW if allowed_new is None else allowed_new
    )


if __name__ == "__main__":
    sources.run(check)
