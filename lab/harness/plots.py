"""Declarations of figures: what an experiment shows, not how it is drawn.

Bars begin at zero; only lines may have a logarithmic axis. A cell of `where` that could not be
measured is named in the figure, with the reason.

`where` selects runs by factors: {"protocol": "h2c"} or {"protocol": ["h1", "h2c"]}. A run without
the factor is not selected. `series`, `bars`, `group` and `rows` are a factor or a tuple of factors.
If they do not distinguish all cells, further factors are added: different cells are never averaged.
`order` gives the order of a factor's values, {"stage": ["prototype", "mmap"]}. By default numbers
are ordered by value, servers in a fixed order, other texts by name. `seed` is a name in
seeds.TABLES, whose numbers are shown beside ours where the factors agree.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Lines:
    """The measure y over the numeric factor x, one line per series: median with a min–max band."""

    title: str
    x: str
    y: str
    series: str | tuple = "server"
    where: dict = dataclasses.field(default_factory=dict)
    log_x: bool = False
    log_y: bool = False
    seed: str | None = None
    x_label: str = ""  # the factor's name otherwise
    order: dict = dataclasses.field(default_factory=dict)
    note: str = ""  # a sentence below the figure


@dataclasses.dataclass(frozen=True)
class Bars:
    """The measure y: horizontal bars in groups, with whiskers from min to max.

    Groups whose largest bars differ much have a scale each. A bar that is far longer than the
    others of its group is cut.
    """

    title: str
    y: str
    group: str | tuple
    bars: str | tuple = "server"
    where: dict = dataclasses.field(default_factory=dict)
    label: str = ""  # of the measure; its name and unit otherwise
    order: dict = dataclasses.field(default_factory=dict)
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Stacked:
    """Several measures of one unit that add up: a horizontal bar of their medians for each cell.

    `parts` is {measure: name in the legend}, from left to right.
    """

    title: str
    parts: dict
    group: str | tuple
    bars: str | tuple = "server"
    where: dict = dataclasses.field(default_factory=dict)
    order: dict = dataclasses.field(default_factory=dict)
    note: str = ""


@dataclasses.dataclass(frozen=True)
class HeatMap:
    """The median of the measure `value`, in a field for each combination of the factors x and y."""

    title: str
    x: str | tuple
    y: str | tuple
    value: str
    where: dict = dataclasses.field(default_factory=dict)
    order: dict = dataclasses.field(default_factory=dict)
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Percentiles:
    """Latency over percentile, from the histograms of all rounds, on a log(1 / (1 - p)) axis."""

    title: str
    series: str | tuple = "server"
    where: dict = dataclasses.field(default_factory=dict)
    log_y: bool = True
    order: dict = dataclasses.field(default_factory=dict)
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Table:
    """Median (min–max) of each measure in `columns`, and the first one's ratio to the floor.

    The ratio is to the cell of the server `floor` with equal common factors; if there are several,
    to the cheapest. `ratio` names a measure other than the first. Rows are ordered by their factors
    from left to right: with "server" last, a seed's server is next to ours under the same load. A
    seed's row without a row of ours is added if it fits beside one.
    """

    title: str
    rows: str | tuple
    columns: list
    where: dict = dataclasses.field(default_factory=dict)
    seed: str | None = None
    floor: str | None = "floor"
    ratio: str = ""
    order: dict = dataclasses.field(default_factory=dict)
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Statements:
    """Statements of a seed that are in none of its tables: a name in seeds.STATEMENTS."""

    title: str
    seed: str
    note: str = ""
