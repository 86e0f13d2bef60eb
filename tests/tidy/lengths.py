#!/usr/bin/python3
"""Refuses files, headers and functions that are too long (src/, include/ and lab/)."""

import re

from lib import sources

FILE_LINES_MAX = 600
HEADER_LINES_MAX = 200
FUNCTION_LINES_MAX = 70

_ACCESS = re.compile(r"^\s*(public|protected|private)\s*$")
_TEMPLATE = re.compile(r"^(export\s+)?template\s*<")
_NAMESPACE = re.compile(r"^(inline\s+)?namespace\b|^extern$")
_TYPE = re.compile(r"^(typedef\s+)?(class|struct|union|enum)\b")
_TYPE_RETURNED = re.compile(r"^(class|struct|union|enum)\s+[\w:<>, ]+[\s&*]+[\w:~]+\s*\(")
_NAME = re.compile(r"([\w:~]*(?:operator\s*[^\s\w(]+)?)\s*\(")


def _skip_template_lists(head):
    while _TEMPLATE.match(head):
        depth = 0
        for position, character in enumerate(head):
            depth += (character == "<") - (character == ">")
            if character == ">" and depth == 0:
                break
        head = head[position + 1 :].lstrip()
    return head


def kind_of_brace(before):
    """Returns what the brace after the text `before` opens: scope, function or data."""
    head = _skip_template_lists(before.strip())
    if _NAMESPACE.match(head):
        return "scope"
    if _TYPE.match(head) and not _TYPE_RETURNED.match(head):
        return "scope"
    if not before[-1:].isspace():
        return "data"  # value{…}: a function's body has a space before its brace
    if head.endswith("=") or re.match(r"^(constexpr\s+)?concept\b", head):
        return "data"
    return "function" if ")" in head or head.endswith("]") else "data"


def _end_of_braces(code, start):
    depth = 0
    for match in re.compile(r"[{}]").finditer(code, start):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return match.start()
    return len(code) - 1


def functions_of(text):
    """Returns [(name, first line, number of lines)] of the functions that `text` defines.

    Matches braces without parsing C++. Relies on the layout that clang-format produces.
    """
    code = sources.code_only(text)
    found = []
    head = 0  # start of the current declaration
    parentheses = 0
    position = 0
    while position < len(code):
        character = code[position]
        if character in "()":
            parentheses += 1 if character == "(" else -1
        elif character == "{":
            kind = kind_of_brace(code[head:position]) if parentheses == 0 else "data"
            if kind == "scope":
                head = position + 1
            else:
                end = _end_of_braces(code, position)
                if kind == "function":
                    start = head + len(code[head:end]) - len(code[head:end].lstrip())
                    name = _NAME.search(code, start, end)
                    first, last = sources.line_of(code, start), sources.line_of(code, end)
                    found.append((name[1] if name else "?", first, last - first + 1))
                    head = end + 1
                position = end
        elif character in ";}" and parentheses == 0:
            head = position + 1
        elif character == ":" and _ACCESS.match(code[head:position]):
            head = position + 1
        position += 1
    return found


def check(root):
    files = sources.cpp_files(root, "src", "include", "lab", "fuzz")
    problems = [] if files else ["no C++ file found: nothing was checked"]
    for file in files:
        text = (root / file).read_text()
        lines = len(text.splitlines())
        lines_max = HEADER_LINES_MAX if file.suffix == ".h" else FILE_LINES_MAX
        if lines > lines_max:
            problems.append(f"{file}: {lines} lines, {lines_max} at most")
        for name, first, length in functions_of(text):
            if length > FUNCTION_LINES_MAX:
                problems.append(
                    f"{file}:{first}: {name}() has {length} lines, {FUNCTION_LINES_MAX} at most"
                )
    return problems


if __name__ == "__main__":
    sources.run(check)
