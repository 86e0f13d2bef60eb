"""What the checks share: which files there are, and C++ text without its comments and literals."""

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
    """`text` with spaces for comments; every other character keeps its place."""
    return _TOKEN.sub(lambda m: _blank(m[0]) if m["comment"] else m[0], text)


def code_only(text):
    """`text` with spaces for comments, literals and preprocessor lines."""

    def replace(match):
        return match[0] if match["number"] else _blank(match[0])

    return _DIRECTIVE.sub(lambda m: _blank(m[0]), _TOKEN.sub(replace, text))


def cpp_files(root, *folders):
    """The .h and .cc files below `folders`, as paths relative to `root`, in order."""
    found = []
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cc") and path.is_file():
                found.append(path.relative_to(root))
    return found


def project_files(root):
    """What git tracks, or would track, below `root`; all files where that is no repository."""
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
    """The main program of a check: prints what `check(ROOT)` found and exits accordingly."""
    problems = check(ROOT)
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problem(s)")
    sys.exit(1 if problems else 0)
