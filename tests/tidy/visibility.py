#!/usr/bin/python3
"""Checks that what the public headers declare is visible outside of the shared library.

The library is compiled with -fvisibility=hidden. A public header therefore declares everything
between these lines, behind its #includes; only forward declarations of internal classes stand in
front of them:

    #pragma GCC visibility push(default)
    #pragma GCC visibility pop

An attribute of the namespace is not enough: Clang does not apply it to a function that is defined in
another block of the namespace.
"""

import re

from lib import sources

_FRONT = re.compile(
    r"""
    \s* \#pragma [ ] once
    (\s* \#include [^\n]*)*
    (\s* namespace \s h2server(::\w+)+ \s \{ (\s*(class|struct)\s+\w+;)+ \s* \})*
    \s*
    """,
    re.VERBOSE,
)
_PUBLIC = re.compile(
    r"#pragma GCC visibility push\(default\)\n(?P<text>.*?)#pragma GCC visibility pop\s*",
    re.DOTALL,
)


def check(root):
    files = sources.cpp_files(root, "include")
    problems = [] if files else ["no public header found: nothing was checked"]
    for file in files:
        text = sources.without_comments((root / file).read_text())
        front = _FRONT.match(text)
        rest = text[front.end() :] if front else text
        if rest == "":
            continue  # only includes
        public = _PUBLIC.fullmatch(rest)
        if not public:
            problems.append(
                f"{file}: put all declarations between #pragma GCC visibility push(default) and pop")
        elif "#include" in public["text"]:
            problems.append(f"{file}: an #include behind #pragma GCC visibility push(default)")
    return problems


if __name__ == "__main__":
    sources.run(check)
