"""Draws the figures of plots.py as SVG. Text stays text, and equal data gives equal bytes."""

import io
import re
import textwrap

import matplotlib

matplotlib.use("svg")

from matplotlib import colormaps, colors, pyplot, ticker  # noqa: E402

from harness import cells, measures, plots, seeds, spread  # noqa: E402

# Okabe and Ito's palette, distinguishable by the colour-blind. Each server has a fixed colour.
_SERVER_COLOURS = {
    "h2server": "#0072B2", "nginx": "#009E73", "nghttpd": "#D55E00", "h2o": "#CC79A7",
    "lighttpd": "#E69F00", "caddy": "#56B4E9", "floor": "#555555", "zy-http": "#882255",
    "libevent-server": "#999933",
}
_COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#555555", "#882255",
            "#999933", "#332288"]
_MARKERS = "osD^vPX*<>"
_DASHES = ["-", "--", "-.", ":"]
_WIDTH_IN, _HEIGHT_IN = 9.0, 4.4
_LEGEND_CHARACTERS = 118  # per line, at the legend's font size
_STYLE = {
    "svg.fonttype": "none", "svg.hashsalt": "lab", "text.parse_math": False,
    "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"], "font.size": 10,
    "figure.facecolor": "white", "axes.facecolor": "white", "axes.edgecolor": "#9a9a9a",
    "axes.linewidth": 0.8, "axes.labelcolor": "#333333", "axes.spines.top": False,
    "axes.spines.right": False, "axes.grid": True, "axes.axisbelow": True,
    "grid.color": "#e4e4e4", "grid.linewidth": 0.8, "xtick.color": "#555555",
    "ytick.color": "#555555", "text.color": "#222222", "lines.linewidth": 1.8,
    "lines.markersize": 5, "legend.frameon": False, "legend.fontsize": 9, "hatch.linewidth": 0.6,
}


def draw(figure, experiment, histograms, prefix):
    """Returns the figure's SVG, its ids prefixed by `prefix`; None if there is nothing to show.

    `histograms` are the experiment's, by cell (results.py).
    """
    with matplotlib.rc_context(_STYLE):
        canvas, axes = pyplot.subplots(figsize=(_WIDTH_IN, _HEIGHT_IN), layout="constrained")
        try:
            if not _DRAW[type(figure)](figure, canvas, axes, experiment, histograms):
                return None
            axes.set_title(figure.title, loc="left", fontsize=11, fontweight="bold", pad=12)
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
    return svg.replace("<svg ", f'<svg role="img" aria-label="{_attribute(title)}" ', 1)


def _attribute(text):
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(character, entity)
    return text


# --- how series look ------------------------------------------------------------------------------


class _Looks:
    """Colour by server or by the first varying factor; marker, dash and hatch by the others."""

    def __init__(self, keys, factors):
        self._keys = list(keys)
        varying = [place for place in range(len(factors))
                   if len({key[place] for key in self._keys}) > 1] or list(range(len(factors)))
        servers = [place for place in varying if factors[place] == "server"]
        self._place = (servers or varying)[0]
        self._servers = factors[self._place] == "server"
        self._values = list(dict.fromkeys(key[self._place] for key in self._keys))
        self._rests = list(dict.fromkeys(self._rest(key) for key in self._keys))

    def _rest(self, key):
        return key[: self._place] + key[self._place + 1 :]

    def of(self, key):
        """Returns (colour, marker, dash)."""
        value, rest = key[self._place], self._rests.index(self._rest(key))
        place = self._values.index(value)
        colour = (server_colour(value, self._values) if self._servers
                  else _COLOURS[place % len(_COLOURS)])
        marker = rest if len(self._rests) > 1 else place
        return colour, _MARKERS[marker % len(_MARKERS)], _DASHES[rest % len(_DASHES)]


def server_colour(server, servers):
    """Returns the server's own colour, or one that depends only on the unknown servers' names."""
    if server in _SERVER_COLOURS:
        return _SERVER_COLOURS[server]
    unknown = sorted(str(name) for name in servers if name not in _SERVER_COLOURS)
    return _COLOURS[-1 - unknown.index(str(server)) % 3]


def _legend(canvas, axes):
    handles, names = axes.get_legend_handles_labels()
    if not handles:
        return
    columns = max(1, min(len(names), _LEGEND_CHARACTERS // (max(map(len, names)) + 8)))
    lines = -(-len(names) // columns)
    columns = -(-len(names) // lines)  # balanced lines
    canvas.set_size_inches(_WIDTH_IN, _HEIGHT_IN + 0.2 * (lines - 1))
    canvas.legend(handles, names, loc="outside lower center", ncols=columns)


def _number_axis(axis, log):
    """Sets plain numbers; on a log axis ticks at 1, 2 and 5, or at decades if there are many."""
    if log:
        low, high = axis.get_view_interval()
        subs = (1, 2, 5) if low > 0 and high / low < 2000 else (1,)
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
    looks = _Looks(groups, factors)
    for key, group in groups.items():
        group.sort(key=lambda cell: cell.factors[figure.x])
        colour, marker, dash = looks.of(key)
        x = [cell.factors[figure.x] for cell in group]
        y = [cell.spread(figure.y) for cell in group]
        axes.plot(x, [one.median for one in y], color=colour, marker=marker, linestyle=dash,
                  label=cells.label(key, factors))
        axes.fill_between(x, [one.low for one in y], [one.high for one in y], color=colour,
                          alpha=0.16, linewidth=0)
    if figure.seed:
        _seed_lines(figure, axes)
    _lines_axes(figure, axes, sorted({cell.factors[figure.x] for cell in picked}))
    _legend(canvas, axes)
    return True


def _series_factors(picked, figure):
    """Returns the factors that distinguish the lines. Cells of one line differ in x."""
    series = cells.as_tuple(figure.series)
    all_factors = cells.telling_apart(picked, (*series, figure.x))
    return tuple(factor for factor in all_factors if factor != figure.x)


def _seed_lines(figure, axes):
    """Draws the seed's numbers, dashed and grey: another machine, so only the shape compares."""
    found = {}
    for row in seeds.rows_within(figure.seed, figure.where):
        if figure.x in row.factors and figure.y in row.measures and not row.flag:
            key = tuple((name, value) for name, value in row.factors.items() if name != figure.x)
            found.setdefault(key, {})[row.factors[figure.x]] = row.measures[figure.y]
    for place, (key, points) in enumerate(found.items()):
        x = sorted(points)
        axes.plot(x, [points[one] for one in x], color="#888888", linewidth=1.2, markersize=4,
                  linestyle=(0, (2 + 2 * place, 2)), marker=_MARKERS[-1 - place % len(_MARKERS)],
                  label="seed: " + cells.label(*zip(*[(value, name) for name, value in key])))


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


def _bars(figure, canvas, axes, experiment, _):
    picked = [cell for cell in cells.cells_of(experiment, figure.where) if cell.values(figure.y)]
    if not picked:
        return False
    group_by = cells.as_tuple(figure.group)
    factors = tuple(name for name in
                    cells.telling_apart(picked, (*group_by, *cells.as_tuple(figure.bars)))
                    if name not in group_by)
    groups = list(cells.grouped(picked, group_by, figure.order))
    bars = cells.grouped(picked, factors, figure.order)
    looks = _Looks(bars, factors)
    width = 0.84 / len(bars)
    for place, (key, members) in enumerate(bars.items()):
        x = [groups.index(cells.key_of(cell, group_by)) + (place - (len(bars) - 1) / 2) * width
             for cell in members]
        _one_bar(axes, x, [cell.spread(figure.y) for cell in members], width, looks.of(key),
                 cells.label(key, factors), len(picked) <= 24)
    room = min(20, 100 // len(groups))  # characters
    axes.set_xticks(range(len(groups)), ["\n".join(textwrap.wrap(cells.label(key, group_by), room))
                                         for key in groups])
    axes.set_xlim(-0.6, len(groups) - 0.4)
    axes.tick_params(axis="x", length=0)
    axes.grid(visible=False, axis="x")
    if figure.log_y:
        axes.set_yscale("log")
    _number_axis(axes.yaxis, figure.log_y)
    axes.set_ylabel(measures.axis(figure.y))
    axes.margins(y=0.1)
    _legend(canvas, axes)
    return True


def _one_bar(axes, x, values, width, look, name, numbered):
    colour, _, dash = look
    medians = [value.median for value in values]
    whiskers = [[value.median - value.low for value in values],
                [value.high - value.median for value in values]]
    axes.bar(x, medians, width * 0.92, color=colour, label=name, yerr=whiskers,
             hatch={"--": "///", "-.": "...", ":": "xx"}.get(dash), edgecolor="white", linewidth=0,
             error_kw={"ecolor": "#222222", "elinewidth": 1, "capsize": 2.5, "capthick": 1})
    for place, value in zip(x, values, strict=True) if numbered else ():
        axes.annotate(spread.number(value.median), (place, value.high), xytext=(0, 3),
                      textcoords="offset points", ha="center", va="bottom", fontsize=8)


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
    canvas.set_size_inches(_WIDTH_IN, max(2.2, 1.4 + 0.42 * len(rows)))
    values = {(columns.index(cells.key_of(cell, x_by)), rows.index(cells.key_of(cell, y_by))):
              cell.median(figure.value) for cell in picked}
    _fields(axes, values, len(columns), len(rows))
    axes.set_xticks(range(len(columns)), ["\n".join(textwrap.wrap(cells.label(key, x_by), 20))
                                          for key in columns])
    axes.set_yticks(range(len(rows)), [cells.label(key, y_by) for key in rows])
    axes.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5))
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.set_xlabel(f"{measures.axis(figure.value)}; median, darker is more")
    return True


def _fields(axes, values, columns, rows):
    """Draws a rectangle with its number per field, so that the SVG contains no pixels."""
    low, high = min(values.values()), max(values.values())
    norm = colors.LogNorm if low > 0 and high > 20 * low else colors.Normalize
    scale, shades = norm(low, high if high > low else low + 1), colormaps["cividis_r"]
    for column in range(columns):
        for row in range(rows):
            value = values.get((column, row))
            shade = "#f2f2f2" if value is None else shades(float(scale(value)))
            axes.add_patch(pyplot.Rectangle((column - 0.48, row - 0.46), 0.96, 0.92, color=shade,
                                            linewidth=0))
            light = value is None or _luminance(shade) > 0.4
            axes.text(column, row, spread.number(value), ha="center", va="center", fontsize=9,
                      color="#111111" if light else "#ffffff")


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
    looks = _Looks(groups, factors)
    last = 10
    for key, group in groups.items():
        curve = spread.percentile_curve(spread.merge(histograms[cell.name] for cell in group))
        colour, _, dash = looks.of(key)
        curve = [(1, curve[0][1]), *curve]
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


_DRAW = {plots.Lines: _lines, plots.Bars: _bars, plots.HeatMap: _heat_map,
         plots.Percentiles: _percentiles}
