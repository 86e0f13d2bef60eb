"""Horizontal bars from zero: one row for each cell, in groups, with its number at the end.

Rows instead of a legend, so that a name stands beside its bar and a cell that is missing says why
in its row.
"""

import dataclasses
import textwrap

from harness import cells, looks, measures, spread

_ROW_IN, _GROUP_IN, _EDGE_IN = 0.21, 0.22, 0.6
_NAME_CHARACTERS, _WHY_CHARACTERS, _NOTE_CHARACTERS = 22, 36, 44  # per line
_NUMBER_SHARE = 0.36  # of the axis, right of the longest bar
_APART = 4.0  # from this ratio of the groups' largest bars on, each group has its own scale
_CUT = 5.0  # a bar so many times longer than the next one of its group is cut
_GAP = (0.94, 0.965)  # in a cut bar, of its length


@dataclasses.dataclass(frozen=True)
class Reason:
    """Why a cell has no numbers."""

    name: str
    factors: dict
    why: str


def reasons(experiment, where):
    """Returns the Reasons of the cells within `where` that were skipped, or failed each time."""
    measured = [run.factors for run in experiment.runs]
    found = {}
    for entry in [*experiment.skipped, *experiment.failed]:
        factors = entry.get("factors")
        if factors and factors not in measured and cells.fits(factors, where):
            name = cells.name_of(factors)
            found.setdefault(name, Reason(name, factors, entry["why"]))
    return list(found.values())


@dataclasses.dataclass
class _Row:
    """A bar; a cell that is missing; or, without a key, the name of a group."""

    text: str
    y: float = 0.0
    key: tuple | None = None
    cell: object = None
    why: str = ""
    scale: float = 1.0  # of its group: the value of a full bar
    cut: bool = False  # its bar would be longer


def draw(figure, canvas, axes, experiment, _):
    """Draws a plots.Bars. Returns True if there was anything to draw."""
    rows = _layout(figure, experiment, lambda cell: bool(cell.values(figure.y)), canvas,
                   lambda cell: cell.spread(figure.y).high)
    if not rows:
        return False
    look = _looks(rows)
    unit = measures.unit_after(figure.y)
    for row in rows:
        if row.cell:
            _bar(axes, row, row.cell.spread(figure.y), look, unit)
    _finish(axes, rows, figure.label or measures.axis(figure.y))
    return True


def draw_stacked(figure, canvas, axes, experiment, _):
    """Draws a plots.Stacked. Returns True if there was anything to draw."""
    def whole(cell):
        return sum(cell.median(part) or 0 for part in figure.parts)

    first = next(iter(figure.parts))
    rows = _layout(figure, experiment, lambda cell: bool(cell.values(first)), canvas, whole)
    if not rows:
        return False
    unit = measures.unit_after(first)
    for place, (part, name) in enumerate(figure.parts.items()):
        shown = [row for row in rows if row.cell]
        lefts = [sum(row.cell.median(one) or 0 for one in list(figure.parts)[:place]) / row.scale
                 for row in shown]
        widths = [(row.cell.median(part) or 0) / row.scale for row in shown]
        axes.barh([row.y for row in shown], widths, 0.8 * _ROW_IN, left=lefts, linewidth=0,
                  color=looks.series_colour(place), label=name)
    for row in rows:
        if row.cell:
            _number(axes, whole(row.cell) / row.scale, row.y, whole(row.cell), unit)
    _finish(axes, rows, "")
    canvas.legend(loc="outside lower center", ncols=3)
    width, height = canvas.get_size_inches()
    canvas.set_size_inches(width, height + 0.2 * -(-len(figure.parts) // 3))
    return True


def _layout(figure, experiment, has_value, canvas, highest):
    """Returns the rows from top to bottom, placed in inches below the top; sets the canvas' size."""
    picked = [cell for cell in cells.cells_of(experiment, figure.where) if has_value(cell)]
    if not picked:
        return []
    absent = [cells.Cell(reason.name, reason.factors, [])
              for reason in reasons(experiment, figure.where)]
    why = {reason.name: reason.why for reason in reasons(experiment, figure.where)}
    group_by = cells.as_tuple(figure.group)
    factors = tuple(name for name in
                    cells.telling_apart(picked, (*group_by, *cells.as_tuple(figure.bars)))
                    if name not in group_by)
    scales = _scales(picked, group_by, highest)
    rows = []
    for key, members in cells.grouped([*picked, *absent], group_by, figure.order).items():
        if key not in scales:
            continue  # nothing of the group was measured
        if len(scales) > 1:
            rows.append(_Row(cells.label(key, group_by)))
        for cell in cells.in_order(members, factors, figure.order):
            name = cells.key_of(cell, factors)
            rows.append(_Row(cells.label(name, factors), key=(factors, name),
                             cell=cell if cell.runs else None, why=why.get(cell.name, ""),
                             scale=scales[key],
                             cut=bool(cell.runs) and highest(cell) > scales[key]))
    _place(rows, canvas)
    return rows


def _scales(picked, group_by, highest):
    """Returns {group: value of a full bar}: one for all, unless they are too far apart."""
    tops = {key: _top([highest(cell) for cell in members])
            for key, members in cells.grouped(picked, group_by).items()}
    tops = {key: top if top > 0 else 1.0 for key, top in tops.items()}  # memory may have shrunk
    if max(tops.values()) < _APART * min(tops.values()):
        return dict.fromkeys(tops, max(tops.values()))
    return tops


def _top(values):
    """Returns the value of a full bar: the largest, or the second of several if it is far shorter."""
    *others, second, first = [0.0, *sorted(values)]
    return second if len(others) > 1 and first > _CUT * second else first


def _place(rows, canvas):
    width, y = canvas.get_size_inches()[0], 0.0
    for row in rows:
        if row.key is None:
            y += _GROUP_IN if y else 0.5 * _GROUP_IN
            row.y = y
            y += 0.9 * _ROW_IN
        else:
            row.text = "\n".join(textwrap.wrap(row.text, _NAME_CHARACTERS)) or row.text
            row.why = "\n".join(textwrap.wrap(f"not measured: {row.why}", _WHY_CHARACTERS))
            lines = max(row.text.count("\n"), 0 if row.cell else row.why.count("\n"))
            row.y = y + 0.35 * lines * _ROW_IN
            y += _ROW_IN * (1 + 0.72 * lines)
    canvas.set_size_inches(width, y + _EDGE_IN)


def _looks(rows):
    keys = list(dict.fromkeys(row.key[1] for row in rows if row.cell))
    return looks.Looks(keys, next(row.key[0] for row in rows if row.cell))


def _bar(axes, row, value, look, unit):
    key = row.key[1]
    median, low, high = (one / row.scale for one in (value.median, value.low, value.high))
    style = {"height": 0.8 * _ROW_IN, "color": look.colour(key), "alpha": look.tint(key), "linewidth": 0}
    if row.cut:
        axes.barh(row.y, _GAP[0], **style)
        axes.barh(row.y, 1 - _GAP[1], left=_GAP[1], **style)
        high = 1.0
    else:
        axes.barh(row.y, median, **style)
        axes.errorbar(median, row.y, xerr=[[median - low], [high - median]], fmt="none",
                      ecolor=looks.INK, elinewidth=1, capsize=2, capthick=1)
    mark = " †" if row.cell.client_bound else ""
    _number(axes, max(high, 0.0), row.y, value.median, unit + mark)


def _number(axes, x, y, value, unit):
    axes.annotate(spread.number(value) + unit, (x, y), xytext=(5, 0), textcoords="offset points",
                  ha="left", va="center_baseline", fontsize=8.5)


def _finish(axes, rows, measured):
    named = [row for row in rows if row.key]
    axes.set_yticks([row.y for row in named], [row.text for row in named], fontsize=9)
    axes.tick_params(length=0)
    axes.set_xticks([])
    axes.grid(visible=False)
    axes.spines["bottom"].set_visible(False)
    axes.set_xlim(0, 1 / (1 - _NUMBER_SHARE))
    axes.set_ylim(rows[-1].y + _ROW_IN, rows[0].y - _ROW_IN)
    for row in rows:
        if row.key is None:
            axes.text(0.004, row.y, row.text, fontsize=9, fontweight="bold", va="center_baseline")
        elif not row.cell:
            axes.text(0.01, row.y, row.why, fontsize=8.5, color=looks.SOFT, va="center",
                      fontstyle="italic")
    scales = {row.scale for row in named}
    said = [measured, "each group has its own scale" if len(scales) > 1 else "",
            "a bar with a gap is cut" if any(row.cut for row in named) else "",
            "† the client was the limit" if any(row.cell and row.cell.client_bound for row in named)
            else ""]
    text = textwrap.wrap("; ".join(part for part in said if part), _NOTE_CHARACTERS)
    axes.set_xlabel("\n".join(text), fontsize=8, loc="left")
