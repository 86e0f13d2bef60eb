"""Findings: one sentence each, with its size, its spread and what it does not show.

The functions below derive the sentence from the cells, so it states what was measured, in favour of
h2server or not. Each returns None if a cell was not measured.
"""

import dataclasses

from harness import cells, measures, spread

KINDS = ("win", "loss", "even", "note")
_ALIKE = 1.02  # medians closer than by this ratio are alike, whatever their ranges
# What a server needs, however fast it is asked.
_OF_SERVER = ("cpu_us", "cpu_ns_byte", "rss_kib", "syscalls", "wire_bytes", "switches",
              "kib_per_connection")


@dataclasses.dataclass(frozen=True)
class Finding:
    """A statement about h2server, derived from measurements."""

    text: str
    kind: str  # of KINDS: a win or a loss of h2server, no difference beyond the spread, or neither
    not_shown: str = ""  # conclusions that a reader must not draw
    measure: str = ""  # that was compared
    cells: tuple = ()  # cells.Cell …: of those; the report puts it below a figure that shows them


def compare_cells(experiment, measure, ours, theirs, what="", not_shown="", names=None):
    """h2server needs 0.71 × (0.68–0.75) the CPU per request of nginx: 7.4 µs against 10.4 µs (…).

    `ours` and `theirs` are factors that match one cell each. `names` default to the names of the
    servers. For two cells of the same server the finding is a note.
    """
    one, other = only(experiment, ours, measure), only(experiment, theirs, measure)
    if not one or not other:
        return None
    found = spread.ratio(one.values(measure), other.values(measure))
    if not found:
        return None
    name, other_name = names or (_server(one), _server(other))
    sizes = (f"{_with_unit(one.median(measure), measure)} against "
             f"{_with_unit(other.median(measure), measure)}{_context(what)}")
    verb, of_what = measures.words(measure)
    if found.rounds < spread.ROUNDS_MIN or _differs(found):
        text = f"{name} {verb} {spread.times(found)} {of_what} of {other_name}: {sizes}"
    else:
        text = (f"{name} and {other_name} do not differ beyond the spread in "
                f"{of_what.removeprefix('the ')}: {sizes}, {spread.times(found)}")
    kind = _kind(found, measure, _server(one), _server(other))
    return _finding(text, kind, measure, [one, other], not_shown)


def best_of(experiment, measure, where=None, by="server", what="", not_shown=""):
    """Names the best of several cells, and how far behind the second and h2server are.

    `by` are the factors that name a cell. The floor is excluded. A note: comparisons judge.
    """
    found = [cell for cell in cells.cells_of(experiment, where)
             if cell.values(measure) and _server(cell) != cells.FLOOR]
    by = cells.telling_apart(found, by)
    better = -1 if measures.higher_is_better(measure) else 1
    found.sort(key=lambda cell: better * cell.median(measure))
    if len(found) < 2:
        return None
    best, second = found[:2]
    best_name = cells.label(cells.key_of(best, by), by)
    of_what = measures.words(measure)[1]
    rank = "most" if better < 0 else "least"
    text = (f"Of {len(found)}, {best_name} is best in {of_what.removeprefix('the ')} ({rank}): "
            f"{_with_unit(best.median(measure), measure)}{_context(what)}; next is "
            f"{cells.label(cells.key_of(second, by), by)}{_behind(second, best, measure)}")
    ours = next((cell for cell in found if _server(cell) == cells.OURS), None)
    if "server" not in by or not ours:
        return _finding(text, "note", measure, [best, second], not_shown)
    if ours not in (best, second):
        text += (f", and {cells.label(cells.key_of(ours, by), by)} is in place "
                 f"{found.index(ours) + 1}{_behind(ours, best, measure)}")
    return _finding(text, "note", measure, [best, second, ours], not_shown)


def ratio_to_floor(experiment, measure, ours, what="", not_shown=""):
    """Compares the cell `ours` with the floor, which answers without reading."""
    one = only(experiment, ours, measure)
    floor = one and cells.floor_of(one, cells.cells_of(experiment), measure)
    found = floor and spread.ratio(one.values(measure), floor.values(measure))
    if not found:
        return None
    verb, of_what = measures.words(measure)
    text = (f"{_server(one)} {verb} {spread.times(found)} {of_what} of the floor, which answers "
            f"without reading: {_with_unit(one.median(measure), measure)} against "
            f"{_with_unit(floor.median(measure), measure)}{_context(what)}")
    return _finding(text, "note", measure, [one, floor],
                    not_shown or "How near a server could come: it must read requests.")


def knee_of(experiment, x, where, what="", not_shown="", p99="p99_ms", achieved="rps"):
    """Names the offered rate, factor `x`, from which the server of `where` is overloaded."""
    found = [cell for cell in cells.cells_of(experiment, where) if cell.values(p99)]
    points = [(cell.factors[x], cell.spread(p99), cell.median(achieved)) for cell in found
              if x in cell.factors]
    if len(points) < 2 or len({point[0] for point in points}) < len(points):
        return None
    rate, last = spread.knee(points), max(point[0] for point in points)
    deciding = next(cell for cell in found if cell.factors[x] == (rate or last))
    if rate is None:
        text = f"{_server(found[0])} keeps up to {spread.number(last)}/s, the highest rate offered"
    elif deciding.client_bound:
        text = f"{_server(found[0])} keeps up as far as the client does, below {spread.number(rate)}/s"
    else:
        text = f"{_server(found[0])} is overloaded from {spread.number(rate)}/s on"
    return Finding(f"{text}{_context(what)}.", "note",
                   not_shown or "Where exactly: only the offered rates were tried.", p99,
                   tuple(found))


def crossing_of(experiment, measure, x, one, other, names, what="", not_shown="", unit=""):
    """Names the values of factor `x` between which the curves of `one` and `other` cross."""
    curves, shown = [], []
    for where in (one, other):
        found = [cell for cell in cells.cells_of(experiment, where)
                 if cell.values(measure) and isinstance(cell.factors.get(x), int | float)]
        curve = {cell.factors[x]: cell.spread(measure) for cell in found}
        if len(curve) < len(found):
            raise ValueError(f"{where} leaves several cells for one {x}")
        curves.append(curve)
        shown += found
    places = spread.sides(*curves)
    if len(places) < 2:
        return None
    of_what = measures.words(measure)[1].removeprefix("the ")
    (first, side), (last, _) = places[0], places[-1]
    crossed = spread.crossing(places)
    if not crossed:
        text = (f"{names[0]} stays {'above' if side > 0 else 'below'} {names[1]} in {of_what} from "
                f"{spread.number(first)}{unit} to {spread.number(last)}{unit}")
    else:
        text = (f"{names[0]} {'falls below' if side > 0 else 'rises above'} {names[1]} in {of_what} "
                f"between {spread.number(crossed[0])} and {spread.number(crossed[1])}{unit}")
    return Finding(text + _context(what) + ".", "note",
                   not_shown or "Where exactly: only the measured points, and of those the ones "
                                "that differ beyond the spread.", measure, tuple(shown))


def only(experiment, where, measure):
    """Returns the single cell that `where` matches, or None if none has `measure`."""
    found = [cell for cell in cells.cells_of(experiment, where) if cell.values(measure)]
    if len(found) > 1:
        raise ValueError(f"{where} leaves {len(found)} cells of {experiment.name}: "
                         + "; ".join(cell.name for cell in found))
    return found[0] if found else None


def _server(cell):
    return cell.factors.get("server", cells.OURS)


def _with_unit(value, measure):
    return spread.number(value) + measures.unit_after(measure)


def _context(what):
    return f" ({what})" if what else ""


def _behind(cell, best, measure):
    found = spread.ratio(cell.values(measure), best.values(measure))
    if not found:
        return ""
    return f" with {spread.times(found)}" + (
        "" if found.differs or found.rounds < spread.ROUNDS_MIN else ", not beyond the spread")


def _kind(found, measure, ours, theirs):
    """Returns the kind of a comparison. One round or two have no spread to judge by."""
    if cells.is_ours(theirs) or ours != cells.OURS or found.rounds < spread.ROUNDS_MIN:
        return "note"
    return kind_of(found, measure)


def kind_of(found, measure):
    """Returns what a Ratio of h2server to another server is: "win", "loss" or "even"."""
    if not _differs(found):
        return "even"
    return "win" if (found.value > 1) == measures.higher_is_better(measure) else "loss"


def _differs(found):
    """Returns True if the ranges are apart and the medians, too."""
    return found.differs and not 1 / _ALIKE < found.value < _ALIKE


def client_decides(measure):
    """Returns True if the client bounds the measure where it is the limit."""
    return measure not in _OF_SERVER


def _finding(text, kind, measure, compared, not_shown):
    """Adds the caveats of a comparison."""
    caveats = [not_shown or measures.not_shown(measure)]
    bound = [cell for cell in compared if cell.client_bound]
    if bound and client_decides(measure):
        text += "; the client was the limit"
        kind = "note"
        caveats.insert(0, "Which server could do more.")
    rounds = [len(cell.values(measure)) for cell in compared]
    if rounds and min(rounds) < spread.ROUNDS_MIN:
        caveats.insert(0, f"Whether it would be so again: only {min(rounds)} "
                          f"{'round' if min(rounds) == 1 else 'rounds'}.")
    return Finding(text + ".", kind, " ".join(caveat for caveat in caveats if caveat), measure,
                   tuple(compared))
