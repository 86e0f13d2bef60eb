"""Cells: the runs of an experiment grouped by their factors, with selection and ordering."""

import dataclasses
import re

from harness import measures, spread

OURS = "h2server"
FLOOR = "floor"
# The order of these factors' values, where a figure gives none. The floor is sorted last.
_ORDER = {
    "server": [OURS, "nginx", "nghttpd", "h2o", "lighttpd", "caddy"],
    "protocol": ["h1", "h1 TLS", "h2c", "h2", "spdy", "spdy TLS"],
}
CLIENT_BOUND = 0.95  # a client_cpu above it: the client was the limit
SERVER_BOUND = 0.9  # a server_cpu per thread above it: the server was the limit


def is_ours(server):
    """Returns True for h2server and its variants: "h2server, a file", "h2server (lab/load)"."""
    return server.partition(" ")[0].removesuffix(",") == OURS


@dataclasses.dataclass
class Cell:
    """All rounds of one load on one server."""

    name: str
    factors: dict
    runs: list

    def values(self, measure):
        return spread.measured(run.measures.get(measure) for run in self.runs)

    def spread(self, measure):
        """Returns a Spread, or None if nothing was measured."""
        return spread.spread(self.values(measure))

    def median(self, measure):
        found = self.spread(measure)
        return found.median if found else None

    @property
    def client_bound(self):
        """True if the client was the limit, not the server."""
        if "rate" in self.factors:
            # At a fixed rate the client spins between arrivals, so its processor time says nothing.
            # It was the limit if the rate was not reached and the server had time left.
            reached = (self.median("rps") or 0) >= spread.KEPT_UP * self.factors["rate"]
            return not reached and (self.median("server_cpu") or 0) < SERVER_BOUND
        return (self.median("client_cpu") or 0) > CLIENT_BOUND


def cells_of(experiment, where=None):
    """Returns the Cells that match `where`: {factor: value, or a collection of values}."""
    found = {}
    for run in experiment.runs:
        if fits(run.factors, where or {}):
            found.setdefault(run.cell, Cell(run.cell, run.factors, [])).runs.append(run)
    return list(found.values())


def name_of(factors):
    """Returns a cell's name: its factors in one line."""
    return ", ".join(f"{name} {value}" for name, value in factors.items())


def fits(factors, where):
    for factor, wanted in where.items():
        several = wanted if isinstance(wanted, list | tuple | set | frozenset) else [wanted]
        if factor not in factors or factors[factor] not in several:
            return False
    return True


def as_tuple(factors):
    """Returns a tuple of factor names, from a name or a tuple."""
    return (factors,) if isinstance(factors, str) else tuple(factors)


def key_of(cell, factors):
    return tuple(cell.factors.get(factor) for factor in factors)


def telling_apart(cells, factors):
    """Returns `factors`, extended by those factors that are needed to make all cells distinct."""
    factors = as_tuple(factors)
    others = {name: None for cell in cells for name in cell.factors if name not in factors}
    while len({key_of(cell, factors) for cell in cells}) < len(cells):
        apart = {name: len({key_of(cell, (*factors, name)) for cell in cells}) for name in others}
        best = max(apart, key=apart.get, default=None)
        if best is None or apart[best] == len({key_of(cell, factors) for cell in cells}):
            break  # their factors cannot distinguish them
        factors = (*factors, best)
        del others[best]
    return factors


def place(factor, value, order=None):
    """Returns a sort key: place in `order` or _ORDER, numbers by value, texts."""
    listed = (order or {}).get(factor, _ORDER.get(factor, []))
    if value in listed:
        return (0, listed.index(value))
    if value is None:
        return (4,)
    if factor == "server" and value == FLOOR:
        return (3,)
    if isinstance(value, int | float):
        return (1, value)
    pieces = re.split(r"(\d+)", str(value))
    return (2, *((int(piece), "") if piece.isdigit() else (-1, piece) for piece in pieces))


def place_of(key, factors, order=None):
    """Returns the sort key of a tuple of values."""
    return tuple(place(factor, value, order) for factor, value in zip(factors, key, strict=True))


def in_order(cells, factors, order=None):
    return sorted(cells, key=lambda cell: place_of(key_of(cell, factors), factors, order))


def grouped(cells, factors, order=None):
    """Returns {values of `factors`: [Cell …]}, in order."""
    groups = {}
    for cell in in_order(cells, factors, order):
        groups.setdefault(key_of(cell, factors), []).append(cell)
    return groups


def label(key, factors):
    """Returns the values as one line, numbers with their factor's name: nginx · threads 4."""
    words = []
    for factor, value in zip(factors, key, strict=True):
        if value is None:
            continue
        text = spread.number(value) if isinstance(value, float) else str(value)
        words.append(f"{factor} {text}" if isinstance(value, int | float) else text)
    return " · ".join(words) or "all"


def floor_of(cell, cells, measure, floor=FLOOR):
    """Returns the floor's cell whose common factors equal those of `cell`, or None.

    If several match, as with one per engine, returns the cheapest. The floor has no blocking
    engine, so a blocking cell matches a floor on any engine.
    """
    if cell.factors.get("server") == floor:
        return None
    own = {**cell.factors}
    if own.get("engine") == "blocking":
        del own["engine"]
    found = [
        other for other in cells
        if other.factors.get("server") == floor and other.values(measure)
        and all(own.get(name, value) == value
                for name, value in other.factors.items() if name != "server")
    ]
    best = max if measures.higher_is_better(measure) else min
    return best(found, key=lambda other: other.median(measure), default=None)
