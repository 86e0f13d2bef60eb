"""Bars of the report: from zero, in proportion, with the reason where a cell is missing."""

import itertools
import re
from xml.etree import ElementTree

import canned
from harness import drawing, plots, results

SVG = "{http://www.w3.org/2000/svg}"


def cells_of(values, **factors):
    return [canned.run({"server": server, **factors}, number, cpu_us=value)
            for server, value in values.items() for number in range(3)]


def svg_of(figure, runs, **more):
    """Returns the SVG with the style of each class where that is used."""
    experiment = results.Experiment("x", "lab/run x", len(runs), runs, **more)
    svg = drawing.draw(figure, experiment, {}, "x")
    styles = dict(re.findall(r"\.(p\w+){([^}]*)}", svg))
    svg = re.sub(r"<style>.*?</style>", "", svg)
    return re.sub(r'class="(\w+)"', lambda found: f'style="{styles[found[1]]}"', svg)


def bars_of(svg):
    """Returns {colour: [(left, width) …]} of the rectangles."""
    found = {}
    for path in ElementTree.fromstring(svg).iter(f"{SVG}path"):
        fill = re.search(r"fill: (var\(--plot-\w+)", path.get("style") or "")
        numbers = [float(word) for word in re.findall(r"-?[\d.]+", path.get("d", ""))]
        xs = sorted(set(numbers[0:8:2]))
        if fill and len(numbers) == 8 and len(xs) == 2:
            found.setdefault(fill[1], []).append((xs[0], xs[1] - xs[0]))
    return found


def text_of(svg):
    return " ".join("".join(ElementTree.fromstring(svg).itertext()).split())


def test_bars_begin_at_zero():
    svg = svg_of(plots.Bars("t", "cpu_us", "protocol"),
                 cells_of({"h2server": 10.0, "nginx": 11.0, "floor": 2.5}, protocol="h1"))
    (blue, green, grey) = (bars_of(svg)[f"var(--plot-{name}"][0] for name in ("blue", "green", "grey"))
    assert blue[0] == green[0] == grey[0]
    assert abs(blue[1] / grey[1] - 4.0) < 0.05
    assert abs(green[1] / blue[1] - 1.1) < 0.02


def test_groups_far_apart_have_a_scale_each():
    runs = [*cells_of({"h2server": 1.0}, protocol="h2c"), *cells_of({"h2server": 10.0}, protocol="h1")]
    svg = svg_of(plots.Bars("t", "cpu_us", "protocol"), runs)
    (one, other) = bars_of(svg)["var(--plot-blue"]
    assert one == other
    assert "each group has its own scale" in text_of(svg)
    near = [*runs[:3], *cells_of({"h2server": 3.0}, protocol="h1")]
    svg = svg_of(plots.Bars("t", "cpu_us", "protocol"), near)
    widths = sorted(width for _, width in bars_of(svg)["var(--plot-blue"])
    assert abs(widths[1] / widths[0] - 3.0) < 0.05
    assert "own scale" not in text_of(svg)


def test_a_bar_far_longer_than_the_others_is_cut():
    svg = svg_of(plots.Bars("t", "cpu_us", "protocol"),
                 cells_of({"h2server": 1.0, "nginx": 2.0, "caddy": 50.0}, protocol="h1"))
    assert len(bars_of(svg)["var(--plot-sky"]) == 2  # with a gap
    assert "a bar with a gap is cut" in text_of(svg) and "50.0 µs" in text_of(svg)


def test_memory_may_have_shrunk():
    for values in ({"h2server": -5.0}, {"h2server": -5.0, "nginx": 0.0}):
        assert "-5.00 µs" in text_of(svg_of(plots.Bars("t", "cpu_us", "protocol"), cells_of(values)))


def test_bars_of_one_server_are_alike_if_they_are_many():
    def opacities(count):
        runs = [run for number in range(count)
                for run in cells_of({"h2server": 1.0}, protocol="h1", scheme=f"scheme {number}")]
        runs += cells_of({"floor": 1.0}, protocol="h1")
        svg = svg_of(plots.Bars("t", "cpu_us", "protocol", ("server", "scheme")), runs)
        return re.findall(r"fill: var\(--plot-blue[^;\"]*(?:; opacity: ([\d.]+))?", svg)

    assert opacities(3) == ["", "0.62", "0.4"]
    assert opacities(6) == [""] * 6


def test_a_missing_cell_says_why_in_its_row():
    missing = {"server": "h2o", "protocol": "h1"}
    other = {"server": "h2o", "protocol": "h2"}
    figure = plots.Bars("t", "cpu_us", "protocol", where={"protocol": "h1"})
    svg = svg_of(figure, cells_of({"h2server": 1.0}, protocol="h1"),
                 skipped=[{"what": "a", "factors": missing, "why": "h2o is not installed"},
                          {"what": "b", "factors": other, "why": "of another figure"}])
    assert "h2o" in text_of(svg) and "not measured: h2o is not installed" in text_of(svg)
    assert "of another" not in text_of(svg)


def test_a_cell_that_failed_once_is_not_missing():
    runs = cells_of({"h2server": 1.0, "nginx": 2.0}, protocol="h1")
    failed = [{"what": "x, round 1", "factors": runs[0].factors, "why": "status 500"}]
    assert "500" not in text_of(svg_of(plots.Bars("t", "cpu_us", "protocol"), runs, failed=failed))


def test_lines_name_what_is_missing():
    runs = [canned.run({"server": "h2server", "bytes": size}, number, cpu_us=1.0)
            for size in (21, 100) for number in range(3)]
    missing = [{"what": "a", "factors": {"server": "nginx", "bytes": 21}, "why": "not installed"}]
    svg = svg_of(plots.Lines("t", "bytes", "cpu_us"), runs, skipped=missing)
    assert "Not measured: server nginx, bytes 21: not installed" in text_of(svg)


def test_stacked_parts_add_up():
    runs = [canned.run({"server": server, "load": "x"}, number, kernel_us=kernel, parse_us=1.0)
            for server, kernel in (("h2server", 3.0), ("floor", 2.0)) for number in range(3)]
    svg = svg_of(plots.Stacked("t", {"kernel_us": "kernel", "parse_us": "parse"}, "load"), runs)
    found = bars_of(svg)
    kernel, parse = found["var(--plot-blue"], found["var(--plot-vermilion"]
    for (left, width), (next_left, next_width) in itertools.zip_longest(kernel[:2], parse[:2]):
        assert abs(left + width - next_left) < 0.1
        assert next_width > 0
    assert "4.00" in text_of(svg) and "3.00" in text_of(svg) and "kernel" in text_of(svg)
