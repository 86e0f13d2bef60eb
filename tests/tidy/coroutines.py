#!/usr/bin/python3
"""Refuses `co_await` in conditions: GCC 12 miscompiles some into coroutines that never start. And format
strings that are constants of a function: GCC 14 takes none that lies in a coroutine's frame."""

import re

from lib import sources

# Files that contain the pattern on purpose, each with its reason.
ALLOWED = {
    "tests/coro/never_started_test.cc": "tests what becomes of such a coroutine",
    "tests/http/h1/connection_test.cc": "tests what becomes of such a handler",
    "tests/install/consumer/main.cc": "the same, of a program with the shared library",
}

_CONDITION = re.compile(r"\b(if|while|for|switch)\s*(?:constexpr\s*)?\(")
_AWAIT = re.compile(r"\bco_await\b")
_STATEMENT = re.compile(r"[^;{}]*\bco_await\b[^;{}]*")
_REFERENCE = re.compile(r"&&\s*\w*\s*(?=[=,)>\[])")  # auto&& name = ..., T&&
_OPERATOR = re.compile(r"&&|\|\|")
_LOCAL_FORMAT = re.compile(r'^ +constexpr (?:std::string_view|auto|const char\*) \w+ =\s*"[^"\n]*\{[^"\n]*\}', re.MULTILINE)


def _end_of_parentheses(code, start):
    depth = 0
    for match in re.compile(r"[()]").finditer(code, start):
        depth += 1 if match[0] == "(" else -1
        if depth == 0:
            return match.end()
    return len(code)


def awaits_in_conditions(code):
    """Yields the positions in `code` where a condition awaits."""
    for match in _CONDITION.finditer(code):
        condition = code[match.start() : _end_of_parentheses(code, match.end() - 1)]
        if _AWAIT.search(condition):
            yield match.start()
    for match in _STATEMENT.finditer(code):
        if _OPERATOR.search(_REFERENCE.sub("", match[0])):
            yield match.start() + _AWAIT.search(match[0]).start()


def check(root, allowed=None):
    allowed = ALLOWED if allowed is None else allowed
    problems = []
    for file in sources.cpp_files(root, "src", "include", "examples", "lab", "fuzz", "tests"):
        if file.as_posix() in allowed:
            continue
        text = (root / file).read_text()
        for match in _LOCAL_FORMAT.finditer(sources.without_comments(text)):
            line = sources.line_of(text, match.start())
            problems.append(f"{file}:{line}: a format string of a function: put it before the function")
        code = sources.code_only(text)
        for position in awaits_in_conditions(code):
            line = sources.line_of(code, position)
            problems.append(f"{file}:{line}: co_await in a condition: name the result first")
    return problems


if __name__ == "__main__":
    sources.run(check)
