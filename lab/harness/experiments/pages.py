"""Many files: a page with all that it needs, fifty small files, and the features around a file."""

import gzip
import random

from harness.experiments.common import TABLE, floor, load_cell, ours
from harness.experiments.definition import Definition
from harness.findings import compare_cells, ratio_to_floor
from harness.loads import H2load
from harness.plots import Bars, Table

# 20 files of 0.3 to 120 kB, as a page of today refers to them: 8 texts and 12 that are compressed.
_PAGE = [("page.html", 24_000), ("site.css", 38_000), ("print.css", 900), ("vendor.js", 120_000),
         ("app.js", 60_000), ("menu.js", 6_000), ("data.json", 12_000), ("logo.svg", 3_000),
         ("icon.png", 300), ("favicon.png", 700), ("flag.png", 500), ("arrow.png", 400),
         ("text.woff2", 22_000), ("bold.woff2", 23_000), ("head.jpg", 110_000),
         ("one.jpg", 40_000), ("two.jpg", 35_000), ("three.jpg", 28_000), ("four.jpg", 18_000),
         ("map.png", 65_000)]
_TEXTS = {"html", "css", "js", "json", "svg"}
_SMALL_FILES = 50
_WHOLE, _ONE, _MANY = "page of 20 files", "one file", f"{_SMALL_FILES} files"

# What h2server does around a small file. {name in tables: options}
_FEATURES = {
    "none": ("--no-listing", "--compress", "off"),
    "by default": (),
    "fields": ("--header", "/** X-Content-Type-Options: nosniff", "--header",
               "/** Cache-Control: max-age=600", "--cors", "*"),
}


def _text(size):
    """Returns text of which gzip leaves about a third."""
    source = random.Random(size)
    words = ["".join(source.choices("etaoinshrdlu(){};:=<>/.-", k=source.randint(2, 9)))
             for _ in range(max(size // 20, 30))]
    return " ".join(source.choices(words, k=size // 2))[:size].encode()


def _make_page(lab):
    """Writes the page. Returns the paths of its files and one with the mean size of what is sent."""
    folder = lab.root / "page"
    folder.mkdir(exist_ok=True)
    sent = 0
    for name, size in _PAGE:
        is_text = name.rpartition(".")[2] in _TEXTS
        content = _text(size) if is_text else random.Random(size).randbytes(size)
        packed = gzip.compress(content) if is_text else content
        (folder / name).write_bytes(content)
        if is_text:
            (folder / f"{name}.gz").write_bytes(packed)
        sent += len(packed)
    mean = sent // len(_PAGE)
    return [f"/page/{name}" for name, _ in _PAGE], lab.file(f"{mean}.bin", mean)


def _page_cells(lab):
    paths, mean = _make_page(lab)
    load = H2load(lab.mode.pick(50, 50, 2), 32, lab.mode.pick(100_000, 20_000, 200),
                  paths=tuple(paths), fields=("accept-encoding: gzip",))
    for server in (ours(lab), lab.peers["nginx"], lab.peers["h2o"], floor(lab)):
        ready = {"nginx": ("precompressed",), "h2o": ("precompressed",)}.get(server.name, ())
        yield load_cell(server, "h2", load, {"load": _WHOLE}, options=ready, syscalls=True,
                        path=mean)


def _small_cells(lab):
    few = {_ONE: 1, _MANY: _SMALL_FILES}
    names = [lab.file(f"small{number}.html", 100 + number) for number in range(_SMALL_FILES)]
    for what, count in few.items():
        load = H2load(lab.mode.pick(100, 100, 10), 10, lab.mode.pick(150_000, 40_000, 1_000),
                      paths=tuple(names[:count]))
        for server in (ours(lab), lab.peers["nginx"], lab.peers["nghttpd"], lab.peers["h2o"],
                       floor(lab)):
            yield load_cell(server, "h2c", load, {"load": what}, path=names[0])


def _feature_cells(lab):
    path = lab.file("small0.html", 100)
    load = H2load(lab.mode.pick(100, 100, 10), 10, lab.mode.pick(150_000, 40_000, 1_000))
    for what, options in _FEATURES.items():
        yield load_cell(ours(lab), "h2c", load, {"features": what}, options=options, path=path)
    yield load_cell(floor(lab), "h2c", load, {"features": "none"}, path=path)


def _cells(lab):
    return [*_page_cells(lab), *_small_cells(lab), *_feature_cells(lab)]


def _findings(experiment):
    page = {"load": _WHOLE}
    ours_page = {**page, "server": "h2server"}
    found = [compare_cells(experiment, "cpu_us", ours_page, {**page, "server": peer}, _WHOLE)
             for peer in ("nginx", "h2o")]
    found.append(ratio_to_floor(experiment, "cpu_us", ours_page, _WHOLE))
    for server in ("h2server", "nginx", "nghttpd", "h2o"):
        found.append(compare_cells(experiment, "cpu_us", {"load": _MANY, "server": server},
                                   {"load": _ONE, "server": server}, f"{_MANY} and {_ONE}, h2c"))
    for what in ("by default", "fields"):
        found.append(compare_cells(
            experiment, "cpu_us", {"features": what, "server": "h2server"},
            {"features": "none", "server": "h2server"}, f"features {what} and none, h2c"))
    return found


DEFINITION = Definition(
    "pages",
    "Pages of many files",
    "What does a page cost with all its files, texts compressed beforehand, over TLS? What do fifty "
    "small files cost in turn, where one would be remembered? And what do the features of a file "
    "server cost that a request does not use?",
    _cells,
    [
        Bars("CPU per request of a page", "cpu_us", "load", "server", {"load": [_WHOLE]}),
        Table("A page of 20 files over TLS, 32 streams a connection", ("server",),
              [*TABLE, "syscalls", "wire_bytes"], {"load": _WHOLE},
              note="The floor answers each request with the mean size of the page's files."),
        Table("One small file and fifty, h2c, -c100 -m10", ("load", "server"), TABLE,
              {"load": [_ONE, _MANY]}),
        Table("Features of a file server, h2c, -c100 -m10", ("features", "server"), TABLE,
              {"features": list(_FEATURES)},
              note="none: no listings, no compression. by default: both, for a request that uses "
                   "neither. fields: three more fields in each response."),
    ],
    _findings,
)
