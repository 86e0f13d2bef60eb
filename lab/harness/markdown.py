"""Text and code as GitHub Flavored Markdown."""

import re

# Not the no-break spaces: they separate the thousands of a number.
_SPACE = re.compile(r"[ \t\r\n]+")
# An underscore between two letters is no emphasis: net.core.somaxconn, tcp_rmem.
_SIGN = re.compile(r"[\\`*\[\]<>&|$~]|(?<!\w)_|_(?!\w)")


def text(value):
    """Returns `value` on one line, with every sign escaped that Markdown or HTML would read."""
    return _SIGN.sub(r"\\\g<0>", _SPACE.sub(" ", str(value)).strip())


def code(value):
    """Returns `value` on one line as a code span; outside of tables."""
    value = _SPACE.sub(" ", str(value)).strip()
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", value)), default=0))
    pad = " " if value.startswith("`") or value.endswith("`") else ""
    return f"{fence}{pad}{value}{pad}{fence}" if value else ""


def code_cell(value):
    """Returns `value` as a code span in a field of a table, where a bar would end the field."""
    return code(value).replace("|", r"\|")
