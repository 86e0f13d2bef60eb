"""Every comparison of h2server with another server that the measurements allow, none chosen."""

import dataclasses

from harness import cells, findings, measures, plots, spread


# What stands for the least that is possible, and is no other server.
_LIMITS = (cells.FLOOR, "OpenSSL in memory", "minio")


@dataclasses.dataclass(frozen=True)
class Comparison:
    """One cell of h2server and the other server's cell under the same load."""

    experiment: str
    measure: str
    ours: cells.Cell
    theirs: cells.Cell
    ratio: spread.Ratio
    kind: str  # "win", "loss" or "even"

    @property
    def load(self):
        """The factors in one line, without the server."""
        return cells.name_of({name: value for name, value in self.ours.factors.items()
                              if name != "server"})

    @property
    def values(self):
        """The medians of both with the unit."""
        unit = measures.unit_after(self.measure)
        return tuple(spread.number(cell.median(self.measure)) + unit
                     for cell in (self.ours, self.theirs))

    @property
    def times(self):
        return spread.times(self.ratio)


def all_of(experiment, definition):
    """Returns the Comparisons in each measure that a plot of the experiment shows.

    A cell with fewer rounds than a comparison needs is left out, and so are differences in
    throughput or latency where the client was the limit.
    """
    shown = [getattr(figure, "y", None) for figure in definition.figures
             if isinstance(figure, plots.Lines | plots.Bars)]
    everything = cells.cells_of(experiment)
    found = []
    for measure in dict.fromkeys(name for name in shown if name):
        for ours in everything:
            if ours.factors.get("server") == cells.OURS:
                pairs = (_compared(experiment, measure, ours, theirs) for theirs in everything)
                found += [pair for pair in pairs if pair]
    return found


def _compared(experiment, measure, ours, theirs):
    server = theirs.factors.get("server", cells.OURS)
    if server in _LIMITS or cells.is_ours(server):
        return None
    if any(ours.factors.get(name) != value for name, value in theirs.factors.items()
           if name != "server"):
        return None
    found = spread.ratio(ours.values(measure), theirs.values(measure))
    bound = findings.client_decides(measure) and (ours.client_bound or theirs.client_bound)
    if not found or found.rounds < spread.ROUNDS_MIN or bound:
        return None
    kind = findings.kind_of(found, measure)
    return Comparison(experiment.name, measure, ours, theirs, found, kind)
