#!/usr/bin/python3
"""Each folder of src/ is a room that one can know: it has at most 40 files, and a README.md of at most
ten lines that says what it is, what enters, what leaves, and which of its files to read first."""

import re

from lib import sources

FILES_MAX = 40
README_LINES_MAX = 10
_SAYS = re.compile(r"\A# (\S+)\n\n\S[^#]*\n\n- In: \S.*\n(  \S.*\n)?- Out: \S.*\n(  \S.*\n)?- Read first: `([\w/]+\.(?:h|cc))`\.\n\Z")


def problems_of_readme(root, folder):
    """Yields what is wrong with the README.md of a folder of src/."""
    readme = root / folder / "README.md"
    if not readme.is_file():
        yield f"{folder}: has no README.md"
        return
    text = readme.read_text()
    if text.count("\n") > README_LINES_MAX:
        yield f"{folder}/README.md: {text.count(chr(10))} lines (at most {README_LINES_MAX})"
    said = _SAYS.match(text)
    if not said:
        yield f"{folder}/README.md: does not say what the folder is, In, Out and Read first"
    elif said[1] != folder.relative_to("src").as_posix():
        yield f"{folder}/README.md: its heading is that of {said[1]}"
    elif not (root / folder / said[4]).is_file():
        yield f"{folder}/README.md: there is no {said[4]}"


def check(root):
    files = [file for file in sources.project_files(root) if file.parts[0] == "src"]
    problems = []
    for folder in sorted({file.parent for file in files if file.suffix in (".h", ".cc")}):
        count = sum(file.parent == folder for file in files)
        if count > FILES_MAX:
            problems.append(f"{folder}: {count} files (at most {FILES_MAX})")
        problems += problems_of_readme(root, folder)
    return problems


if __name__ == "__main__":
    sources.run(check)
