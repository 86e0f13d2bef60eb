"""Draws the figures of plots.py as SVG. Text stays text, and equal data gives equal bytes."""

import hashlib
import io
import re
import textwrap

import matplotlib

matplotlib.use("svg")

from matplotlib import colormaps, colors, pyplot, ticker  # noqa: E402

from harness import bars, cells, looks, measures, plots, seeds, spread  # noqa: E402

# Narrow enough that the text can be read on a phone, where a plot is scaled to the page's width.
_WIDTH_IN, _HEIGHT_IN = 4.6, 3.3
_TITLE_CHARACTERS = 52  # per line, each at its font size
_LEGEND_CHARACTERS = 58
_NOTE_CHARACTERS = 56
_CURVE_STEP = 0.05  # of a percentile curve's plotted points, as a share of the value
_STYLE = {
    "svg.fonttype": "none", "svg.hashsalt": "lab", "text.parse_math": False,
    "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"], "font.size": 9,
    "figure.facecolor": "none", "axes.facecolor": "none", "savefig.facecolor": "none",
    "axes.edgecolor": looks.AXIS, "axes.linewidth": 0.8, "axes.labelcolor": looks.SOFT,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "axes.axisbelow": True,
    "grid.color": looks.GRID, "grid.linewidth": 0.8, "xtick.color": looks.SOFT,
    "ytick.color": looks.SOFT, "text.color": looks.INK, "lines.linewidth": 1.6,
    "lines.markersize": 4.5, "legend.frameon": False, "legend.fontsize": 8.5,
}


def draw(figure, experiment, histograms, prefix):
    """Returns the figure's SVG, its ids prefixed by `prefix`; None if there is nothing to show.

    `histograms` are the experiment's, by cell (results.py). Colours are CSS variables with the
    light theme's values as fallbacks (looks.py).
    """
    with matplotlib.rc_context(_STYLE):
        canvas, axes = pyplot.subplots(figsize=(_WIDTH_IN, _HEIGHT_IN), layout="constrained")
        try:
            if not _DRAW[type(figure)](figure, canvas, axes, experiment, histograms):
                return None
            title = "\n".join(textwrap.wrap(figure.title, _TITLE_CHARACTERS))
            canvas.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
            out = io.StringIO()
            canvas.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
        finally:
            pyplot.close(canvas)
    return _tidy(out.getvalue(), prefix, figure.title)


def _tidy(svg, prefix, title):
    """Returns a single <svg> element without prolog and metadata, with ids unique in the report."""
    svg = svg[svg.index("<svg"):]
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = re.sub(r"url\(#", f"url(#{prefix}-", svg)
    svg = re.sub(r'href="#', f'href="#{prefix}-', svg)
    svg = svg.replace("'DejaVu Sans'", "'DejaVu Sans', Verdana, sans-serif")
    svg = svg.replace(", sans-serif, sans-serif", ", sans-serif")
    svg = _without_what_nobody_sees(svg)
    svg = looks.for_both_themes(svg)
    svg = _with_classes(svg)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{_attribute(title)}" ', 1)


def _without_what_nobody_sees(svg):
    """Returns the SVG without ids that nothing refers to, empty groups, and digits behind a tenth."""
    svg = re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\.\d\d)\d+", r"\1", tag[0]), svg)
    svg = re.sub(r'\b(d|x|y|width|height|transform)="[^"]*"',
                 lambda found: re.sub(r"(\.\d)\d+", r"\1", found[0]).replace(".0 ", " "), svg)
    svg = re.sub(r' transform="rotate\(-0 [^)]*\)"', "", svg)
    referred = set(re.findall(r'(?:url\(#|href="#)([^")]+)', svg))
    svg = re.sub(r' id="([^"]*)"', lambda found: found[0] if found[1] in referred else "", svg)
    svg = re.sub(r'<path d="[^"]*" style="fill: none"/>', "", svg)
    svg = re.sub(r'\bd="([^"]*)"', lambda found: f'd="{" ".join(found[1].split())}"', svg)
    svg = re.sub(r">\s+<", ">\n<", svg)
    before = None
    while svg != before:  # groups in groups
        before = svg
        svg = re.sub(r"<g[^>]*/>\n|<g[^>]*>\n</g>\n", "", svg)
        svg = re.sub(r"<g>\n((?:(?!</?g\b).)*)</g>\n", r"\1", svg, flags=re.DOTALL)
    return svg


def _with_classes(svg):
    """Returns the SVG with a class for each style, named after it: figures of a page agree on them."""
    styles = {}

    def class_of(found):
        name = "p" + hashlib.sha256(found[1].encode()).hexdigest()[:6]
        styles[name] = found[1]
        return f'class="{name}"'

    svg = re.sub(r'\bstyle="([^"]*)"', class_of, svg)
    rules = "".join(f".{name}{{{style}}}" for name, style in sorted(styles.items()))
    head, end, rest = svg.partition(">")
    return f"{head}{end}<style>{rules}</style>{rest}"


def _attribute(text):
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(character, entity)
    return text


def _legend(canvas, axes):
    handles, names = axes.get_legend_handles_labels()
    if not handles:
        return
    columns = max(1, min(len(names), _LEGEND_CHARACTERS // (max(map(len, names)) + 8)))
    lines = -(-len(names) // columns)
    columns = -(-len(names) // lines)  # balanced lines
    canvas.set_size_inches(_WIDTH_IN, _HEIGHT_IN + 0.2 * (lines - 1))
    canvas.legend(handles, names, loc="outside lower center", ncols=columns)


def _say_missing(axes, experiment, figure):
    """Writes below the axes which cells could not be measured, and why."""
    lines = []
    for reason in bars.reasons(experiment, figure.where):
        lines += textwrap.wrap(f"Not measured: {reason.name}: {reason.why}", _NOTE_CHARACTERS)
    if lines:
        label = axes.get_xlabel()
        axes.set_xlabel("\n".join([label, *lines]), fontsize=8)


def _number_axis(axis, log):
    """Sets plain numbers; on a log axis ticks at 1, 2 and 5, or at decades if there are many."""
    if log:
        low, high = axis.get_view_interval()
        subs = (1, 2, 5) if low > 0 and high / low < 500 else (1,)
        axis.set_major_locator(ticker.LogLocator(subs=subs, numticks=20))
        axis.set_minor_formatter(ticker.NullFormatter())
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: _short(value)))


def _short(value):
    """Returns an axis label: 20k for 20 000."""
    for limit, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= limit:
            return f"{value / (1e3 if letter == 'k' else limit):g}{letter}"
    return f"{value:g}"


# --- one function per kind of figure; returns True if it drew anything ---------------------------


def _lines(figure, canvas, axes, experiment, _):
    picked = [cell for cell in cells.cells_of(experiment, figure.where)
              if isinstance(cell.factors.get(figure.x), int | float) and cell.values(figure.y)]
    if not picked:
        return False
    factors = _series_factors(picked, figure)
    groups = cells.grouped(picked, factors, figure.order)
    look = looks.Looks(groups, factors)
    for key, group in groups.items():
        group.sort(key=lambda cell: cell.factors[figure.x])
        colour, marker, dash = look.line(key)
        x = [cell.factors[figure.x] for cell in group]
        y = [cell.spread(figure.y) for cell in group]
        axes.plot(x, [one.median for one in y], color=colour, marker=marker, linestyle=dash,
                  label=cells.label(key, factors))
        axes.fill_between(x, [one.low for one in y], [one.high for one in y], color=colour,
                          alpha=0.16, linewidth=0)
    if figure.seed:
        _seed_lines(figure, axes)
    _lines_axes(figure, axes, sorted({cell.factors[figure.x] for cell in picked}))
    _say_missing(axes, experiment, figure)
    _legend(canvas, axes)
    return True


def _series_factors(picked, figure):
    """Returns the factors that distinguish the lines. Cells of one line differ in x."""
    series = cells.as_tuple(figure.series)
    all_factors = cells.telling_apart(picked, (*series, figure.x))
    return tuple(factor for factor in all_factors if factor != figure.x)


def _seed_lines(figure, axes):
    """Draws the source's numbers, dashed and grey: another machine, so only the shape compares."""
    source = seeds.TABLES[figure.seed].source.short
    found = {}
    for row in seeds.rows_within(figure.seed, figure.where):
        if figure.x in row.factors and figure.y in row.measures and not row.flag:
            key = tuple((name, value) for name, value in row.factors.items() if name != figure.x)
            found.setdefault(key, {})[row.factors[figure.x]] = row.measures[figure.y]
    for place, (key, points) in enumerate(found.items()):
        x = sorted(points)
        axes.plot(x, [points[one] for one in x], color=looks.SOFT, linewidth=1.2, markersize=4,
                  linestyle=(0, (2 + 2 * place, 2)), marker=looks.source_marker(place),
                  label=f"{source}: " + cells.label(*zip(*[(value, name) for name, value in key])))


def _lines_axes(figure, axes, xs):
    if figure.log_x and xs[0] > 0:
        axes.set_xscale("log")
    if figure.log_y:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    _number_axis(axes.xaxis, figure.log_x and xs[0] > 0)
    _number_axis(axes.yaxis, figure.log_y)
    if len(xs) <= 7 and figure.log_x:
        axes.set_xticks(xs)
        axes.xaxis.set_minor_locator(ticker.NullLocator())
    axes.set_xlabel(figure.x_label or figure.x)
    axes.set_ylabel(measures.axis(figure.y))


def _heat_map(figure, canvas, axes, experiment, _):
    picked = [cell for cell in cells.cells_of(experiment, figure.where)
              if cell.values(figure.value)]
    if not picked:
        return False
    x_by = cells.as_tuple(figure.x)
    y_by = tuple(name for name in cells.telling_apart(picked, (*x_by, *cells.as_tuple(figure.y)))
                 if name not in x_by)
    columns = list(cells.grouped(picked, x_by, figure.order))
    rows = list(cells.grouped(picked, y_by, figure.order))
    canvas.set_size_inches(_WIDTH_IN, max(2.2, 1.5 + 0.42 * len(rows)))
    values = {(columns.index(cells.key_of(cell, x_by)), rows.index(cells.key_of(cell, y_by))):
              cell.median(figure.value) for cell in picked}
    _fields(axes, values, len(columns), len(rows))
    axes.set_xticks(range(len(columns)), ["\n".join(textwrap.wrap(cells.label(key, x_by), 11))
                                          for key in columns], fontsize=7)
    axes.set_yticks(range(len(rows)), ["\n".join(textwrap.wrap(cells.label(key, y_by), 24))
                                       for key in rows], fontsize=9)
    axes.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5))
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.set_xlabel(f"{measures.axis(figure.value)}\ndarker is more; – was not measured", fontsize=8)
    _say_missing(axes, experiment, figure)
    return True


def _fields(axes, values, columns, rows):
    """Draws a rectangle with its number per field, so that the SVG contains no pixels."""
    low, high = min(values.values()), max(values.values())
    norm = colors.LogNorm if low > 0 and high > 20 * low else colors.Normalize
    scale, shades = norm(low, high if high > low else low + 1), colormaps["cividis_r"]
    for column in range(columns):
        for row in range(rows):
            value = values.get((column, row))
            shade = looks.GRID if value is None else shades(float(scale(value)))
            axes.add_patch(pyplot.Rectangle((column - 0.48, row - 0.46), 0.96, 0.92, color=shade,
                                            linewidth=0))
            dark_on_light = value is not None and _luminance(shade) > 0.4
            colour = looks.INK if value is None else "#111111" if dark_on_light else "#ffffff"
            axes.text(column, row, spread.number(value), ha="center", va="center", fontsize=9,
                      color=colour)


def _luminance(shade):
    red, green, blue = shade[:3]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _percentiles(figure, canvas, axes, experiment, histograms):
    picked = [cell for cell in cells.cells_of(experiment, figure.where)
              if histograms.get(cell.name)]
    if not picked:
        return False
    factors = cells.telling_apart(picked, figure.series)
    groups = cells.grouped(picked, factors, figure.order)
    look = looks.Looks(groups, factors)
    last = 10
    for key, group in groups.items():
        curve = spread.percentile_curve(spread.merge(histograms[cell.name] for cell in group))
        colour, _, dash = look.line(key)
        curve = spread.thinned([(1, curve[0][1]), *curve], _CURVE_STEP)
        axes.plot([x for x, _ in curve], [y / 1000 for _, y in curve], color=colour, linestyle=dash,
                  drawstyle="steps-pre", label=cells.label(key, factors))
        last = max(last, curve[-1][0])
    axes.set_xscale("log")
    if figure.log_y:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    ticks = [1, 2, *(10**power for power in range(1, 8) if 10**power <= last * 1.01)]
    axes.set_xticks(ticks, ["0"] + [f"{100 - 100 / tick:.6g}" for tick in ticks[1:]])
    axes.xaxis.set_minor_locator(ticker.NullLocator())
    _number_axis(axes.yaxis, figure.log_y)
    axes.set_xlabel("percentile of requests, all rounds together")
    axes.set_ylabel("latency, ms")
    _legend(canvas, axes)
    return True


_DRAW = {plots.Lines: _lines, plots.Bars: bars.draw, plots.Stacked: bars.draw_stacked,
         plots.HeatMap: _heat_map, plots.Percentiles: _percentiles}
