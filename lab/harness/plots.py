"""The vocabulary of figures: what an experiment wants shown, without how it is drawn.

`where` picks runs by their factors: {"protocol": "h2c"} or {"protocol": ["h1", "h2c"]}; a run
without the factor is not picked. `series`, `bars`, `group` and `rows` are a factor or a tuple of
factors. Should they not tell two cells apart, the factors that do are added to them: different
cells are never averaged. `order` puts a factor's values in order, {"stage": ["prototype", "mmap"]};
numbers are ordered by value, servers always alike, other texts by name. `seed` is a name in
seeds.TABLES, whose numbers are shown beside ours where the factors of both agree.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Lines:
    """The measure y over the numeric factor x: the median with a min–max band, a line a series."""

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
    """The measure y, a group of bars for each value of `group`, whiskers from min to max."""

    title: str
    y: str
    group: str | tuple
    bars: str | tuple = "server"
    where: dict = dataclasses.field(default_factory=dict)
    log_y: bool = False
    order: dict = dataclasses.field(default_factory=dict)
    note: str = ""


@dataclasses.dataclass(frozen=True)
class HeatMap:
    """The median of the measure `value`, written into a field for each x and y (factors)."""

    title: str
    x: str | tuple
    y: str | tuple
    value: str
    where: dict = dataclasses.field(default_factory=dict)
    order: dict = dataclasses.field(default_factory=dict)
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Percentiles:
    """Latency over percentile, from the histograms of all rounds; the axis is log(1 / (1 - p))."""

    title: str
    series: str | tuple = "server"
    where: dict = dataclasses.field(default_factory=dict)
    log_y: bool = True
    order: dict = dataclasses.field(default_factory=dict)
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Table:
    """Median (min–max) of each measure in `columns`, and the first one's ratio to the floor's row.

    The floor's row is that of the server `floor` with the same other factors, as far as it has
    them; of several, the one that costs least. `ratio` names another measure than the first.
    Rows are put in order by their factors from left to right: with "server" last, a seed's server
    stands under ours of the same load. A seed's row without one of ours is added, if it could stand
    beside one.
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
    """What a seed says that is in no table of it: a name in seeds.STATEMENTS."""

    title: str
    seed: str
    note: str = ""
