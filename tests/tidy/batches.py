"""In a batch (cmake/Batches.cmake), the anonymous namespaces of several files of a layer are one. So
a function in one of them must not have the name of a function in another file or in a header of the
same namespace: a call could silently become one of the other's."""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
_NAMESPACE = re.compile(r"^namespace ([\w:]+) \{$", re.MULTILINE)
_ANONYMOUS = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.MULTILINE | re.DOTALL)
# A definition or declaration begins at the left margin: "Type name(".
_FUNCTION = re.compile(r"^[A-Za-z_][\w:<>,&*\[\] ]*[ &*>](\w+)\(", re.MULTILINE)
_NO_FUNCTION = re.compile(r"^(return|using|static_assert|namespace|#)")


def functions_in(text):
    """Yields the names of the functions that begin lines of the text."""
    for found in _FUNCTION.finditer(text):
        if not _NO_FUNCTION.match(found[0]):
            yield found[1]


def hidden_functions(text):
    """Returns the names of the functions in the anonymous namespaces of a file."""
    return {name for part in _ANONYMOUS.findall(text) for name in functions_in(part)}


def problems_in(files):
    """`files`: {path: text} of one layer. Yields a line for each name that two files have."""
    places = collections.defaultdict(set)
    for path, text in files.items():
        namespace = _NAMESPACE.search(text)
        for name in functions_in(text) if path.suffix == ".h" else hidden_functions(text):
            places[namespace[1] if namespace else "", name].add(path)
    for (_, name), paths in sorted(places.items()):
        if len(paths) > 1 and any(path.suffix == ".cc" for path in paths):
            yield f"{name}(): {', '.join(sorted(map(str, paths)))}"


def main():
    layers = collections.defaultdict(dict)
    for path in sorted(ROOT.glob("src/**/*.cc")) + sorted(ROOT.glob("src/**/*.h")):
        name = path.relative_to(ROOT)
        layers[name.parts[1]][name] = path.read_text()
    problems = [line for layer in sorted(layers) for line in problems_in(layers[layer])]
    print(*problems, f"{len(problems)} problem(s)", sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
