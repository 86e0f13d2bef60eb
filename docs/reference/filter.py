#!/usr/bin/python3
"""Doxygen's filter of the public headers: prints one with comments that Doxygen reads.

The headers have plain comments. The one at the start of a header describes the class that it names
("Server: ..."), otherwise the header; those before a declaration become `///`, and those behind a
member `///<`.
"""

import re
import sys

_BEFORE = re.compile(r"^(\s*)//(?!/)( ?.*)$")
_BEHIND = re.compile(r"^(.*\S)(\s+)// (.*)$")
# What the comment before it does not describe: directives, access and braces.
_NO_DECLARATION = re.compile(r"^\s*(#|public:|private:|protected:|\}|$)")


def escaped(text):
    """Returns text without commands and tags for Doxygen."""
    return re.sub(r"([\\@<>#%&])", r"\\\1", text)


def description(lines):
    """Returns the lines of a comment; what is indented by three spaces is an example."""
    result, in_code = [], False
    for line in lines:
        is_code = line.startswith("   ")
        if is_code or (in_code and not line.strip()):
            if not in_code:
                result[-1] += " @code"
            result.append(line)
            in_code = True
            continue
        if in_code:
            result[-1] += " @endcode"
            in_code = False
        result.append(escaped(line))
    if in_code:
        result[-1] += " @endcode"
    return result


def behind(line):
    """Returns a line of code; a comment behind a member becomes its description."""
    match = _BEHIND.match(line)
    if not match or "NOLINT" in line or not match[1].endswith((";", ",")):
        return line
    return f"{match[1]}{match[2]}///< {escaped(match[3])}"


def subject(first_line, text, name):
    """Returns the command for what the first comment of a header describes."""
    named = re.match(r"^ (\w+)(?:\\<.*\\>)?:", first_line)
    if named and re.search(rf"^(class|struct) {named[1]}\b[^;]*{{", text, re.MULTILINE):
        return f"class h2server::{named[1]}"
    return f"file {name}"


def filtered(text, name):
    lines = text.split("\n")
    result = []
    at = 0
    while at < len(lines):
        end = at
        while end < len(lines) and _BEFORE.match(lines[end]):
            end += 1
        if end == at:
            result.append(behind(lines[at]))
            at += 1
            continue
        matches = [_BEFORE.match(line) for line in lines[at:end]]
        texts = description([match[2] for match in matches])
        follower = lines[end] if end < len(lines) else ""
        if at == 0:
            result.append(f"/// @{subject(texts[0], text, name)}")
        plain = at > 0 and _NO_DECLARATION.match(follower)
        for match, comment in zip(matches, texts):
            result.append(lines[at] if plain else f"{match[1]}///{comment}")
            at += 1
    return "\n".join(result)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as header:
        sys.stdout.write(filtered(header.read(), sys.argv[1].split("/")[-1]))
