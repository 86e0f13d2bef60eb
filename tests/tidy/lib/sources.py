"""Shared by the checks: lists the files and strips comments and literals from C++ text."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]

_TOKEN = re.compile(
    r"""
    (?P<comment> //(?:\\\n|[^\n])* | /\*.*?\*/ )
  | (?P<raw>     \b(?:u8|u|U|L)?R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)" )
  | (?P<number>  \b\d(?:'?[\w.])* )
  | (?P<string>  "(?:\\.|[^"\\\n])*" )
  | (?P<char>    '(?:\\.|[^'\\\n])+' )
    """,
    re.DOTALL | re.VERBOSE,
)
_DIRECTIVE = re.compile(r"^[ \t]*\#(?:\\\n|[^\n])*", re.MULTILINE)
_NOT_NEWLINE = re.compile(r"[^\n]")


def _blank(text):
    return _NOT_NEWLINE.sub(" ", text)


def without_comments(text):
    """Returns `text` with comments replaced by spaces; all other characters keep their places."""
    return _TOKEN.sub(lambda m: _blank(m[0]) if m["comment"] else m[0], text)


def code_only(text):
    """Returns `text` with comments, literals and preprocessor lines replaced by spaces."""

    def replace(match):
        return match[0] if match["number"] else _blank(match[0])

    return _DIRECTIVE.sub(lambda m: _blank(m[0]), _TOKEN.sub(replace, text))


def cpp_files(root, *folders):
    """Returns the .h and .cc files below `folders`, relative to `root`, sorted in each folder."""
    found = []
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cc") and path.is_file():
                found.append(path.relative_to(root))
    return found


def project_files(root):
    """Returns the files below `root` that git tracks or would track, or all without git."""
    listing = subprocess.run(
        ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        check=False,
    )
    if listing.returncode == 0:
        names = listing.stdout.decode().split("\0")
        return sorted(pathlib.Path(name) for name in names if name and (root / name).is_file())
    skipped = {".git", "build", "cert", "uploads", "node_modules", "__pycache__"}
    files = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return sorted(path for path in files if not skipped.intersection(path.parts))


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def run(check):
    """The main program of a check: prints the problems of `check(ROOT)`; exits with 1 if any."""
    problems = check(ROOT)
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problem(s)")
    sys.exit(1 if problems else 0)
