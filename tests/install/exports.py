"""What a shared library exports, and what the public headers say that it has to."""

import functools
import json
import pathlib
import subprocess

INCLUDE_DIR = pathlib.Path(__file__).resolve().parents[2] / "include"
FUNCTIONS = {"FunctionDecl", "CXXMethodDecl", "CXXConstructorDecl", "CXXDestructorDecl",
             "CXXConversionDecl"}
BODIES = {"CompoundStmt", "CoroutineBodyStmt", "CXXTryStmt"}


def documents(text):
    """Yields the JSON values that follow each other in `text`."""
    decoder = json.JSONDecoder()
    position = text.find("{")
    while position >= 0:
        value, position = decoder.raw_decode(text, position)
        yield value
        position = text.find("{", position)


def functions_below(node):
    """Yields the nodes of functions below `node` that are no templates."""
    if node.get("kind", "").endswith("TemplateDecl"):
        return
    if node.get("kind") in FUNCTIONS:
        if "mangledName" in node and not node.get("isImplicit"):
            yield node
        return
    for child in node.get("inner", []):
        yield from functions_below(child)


def is_defined(function):
    return (any(child.get("kind") in BODIES for child in function.get("inner", []))
            or function.get("pure") or function.get("explicitlyDeleted")
            or function.get("explicitlyDefaulted"))


@functools.cache
def declared():
    """Returns {mangled name: name} of the functions that the public headers only declare."""
    headers = sorted((INCLUDE_DIR / "h2server").glob("*.h"))
    text = "".join(f"#include <h2server/{header.name}>\n" for header in headers)
    done = subprocess.run(
        ["clang++-19", "-std=c++23", "-I", INCLUDE_DIR, "-x", "c++", "-fsyntax-only", "-Xclang",
         "-ast-dump=json", "-Xclang", "-ast-dump-filter=h2server", "-"],
        input=text, text=True, capture_output=True, check=True)
    functions = [function for document in documents(done.stdout)
                 for function in functions_below(document)]
    defined = {function["mangledName"] for function in functions if is_defined(function)}
    return {function["mangledName"]: function["name"] for function in functions
            if function["mangledName"] not in defined}


def symbols_of(library, *options):
    listing = subprocess.run(["nm", "--dynamic", "--defined-only", *options, library],
                             text=True, capture_output=True, check=True).stdout
    return {line.split(" ", 2)[2] for line in listing.splitlines()}


def missing_in(library):
    """Returns the names of the functions that the library should export and does not."""
    exported = symbols_of(library)
    return {name for mangled, name in declared().items() if mangled not in exported}
