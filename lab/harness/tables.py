"""Contents of the report's tables, before they become HTML."""

import dataclasses

from harness import cells, measures, seeds, spread

CLIENT_MARK, FLAG_MARK = "†", "‡"
_FIELDS_MAX = 9  # in a row, so that it fits a page of 1 280 pixels


@dataclasses.dataclass
class Value:
    """Content of one field."""

    text: str
    range: str = ""
    kind: str = "ours"  # or ratio, or seed
    mark: str = ""


@dataclasses.dataclass
class Row:
    names: list
    values: list
    mark: str = ""
    kind: str = ""  # "floor", or "seed" if the row has no value of ours


@dataclasses.dataclass
class Column:
    """A measure with its parts: ours, × floor, the source's."""

    measure: str
    title: str
    unit: str
    parts: list
    heads: list  # of the parts


@dataclasses.dataclass
class Piece:
    """Some of a table's columns, with their fields row by row."""

    columns: list
    fields: list

    @property
    def parted(self):
        return any(len(column.parts) > 1 for column in self.columns)

    @property
    def heads(self):
        """The head of each field."""
        return [column.title if head == "here" else f"{column.title}, {head}"
                for column in self.columns for head in column.heads]


@dataclasses.dataclass
class View:
    title: str
    factors: list
    columns: list
    rows: list
    notes: list  # below the table, one or two sentences each

    @property
    def pieces(self):
        """The columns as Pieces, each narrow enough for a page; each has all rows."""
        room = _FIELDS_MAX - len(self.factors)
        groups = [[]]
        for column in self.columns:
            used = _fields_of(groups[-1])
            if used and used + len(column.parts) > room:
                groups.append([])
            groups[-1].append(column)
        found, first = [], 0
        for columns in groups:
            end = first + _fields_of(columns)
            found.append(Piece(columns, [row.values[first:end] for row in self.rows]))
            first = end
        return found


def _fields_of(columns):
    return sum(len(column.parts) for column in columns)


@dataclasses.dataclass
class _Entry:
    """Data of a row: our cell (without runs if only the seed has one) and the seed's row."""

    cell: cells.Cell
    seed: seeds.Row | None
    floor: cells.Cell | None = None


def view(table, experiment):
    """Returns the View of a plots.Table, or None if nothing of it was measured."""
    picked = cells.cells_of(experiment, table.where)
    if not picked:
        return None
    entries = _entries(table, picked, cells.cells_of(experiment))
    factors = cells.telling_apart([entry.cell for entry in entries], table.rows)
    entries.sort(key=lambda entry: cells.place_of(cells.key_of(entry.cell, factors), factors,
                                                  table.order))
    columns = [_column(measure, table, entries) for measure in table.columns]
    rows = [_row(entry, factors, columns, table) for entry in entries]
    return View(table.title, list(factors), columns, rows, _notes(table, entries, columns))


def _ratio_of(table):
    return table.ratio or table.columns[0]


def _entries(table, picked, everything):
    entries = []
    for cell in picked:
        seed = seeds.row_of(table.seed, cell.factors) if table.seed else None
        floor = (cells.floor_of(cell, everything, _ratio_of(table), table.floor)
                 if table.floor else None)
        entries.append(_Entry(cell, seed, floor))
    used = [id(entry.seed) for entry in entries]
    with_server = any("server" in cell.factors for cell in picked)
    for row in seeds.rows_within(table.seed, table.where) if table.seed else ():
        if id(row) not in used and _beside(row, table, picked):
            own = {"server": cells.OURS} if with_server else {}
            entries.append(_Entry(cells.Cell("", {**own, **row.factors}, []), row))
    return entries


def _beside(row, table, picked):
    """Returns True if a seed's row without a row of ours belongs in the table.

    Factors in table.rows may have values of their own; all other factors must have values of ours.
    """
    return all(name in cells.as_tuple(table.rows)
               or value in [cell.factors.get(name) for cell in picked]
               for name, value in row.factors.items())


def _column(measure, table, entries):
    title, unit = measures.heading(measure)
    parts, heads = ["ours"], ["here"]
    if measure == _ratio_of(table) and any(entry.floor for entry in entries):
        parts.append("ratio")
        heads.append(f"× {table.floor}")
    if any(entry.seed and measure in entry.seed.measures for entry in entries):
        parts.append("seed")
        heads.append(seeds.TABLES[table.seed].source.short)
    return Column(measure, title, unit, parts, heads)


def _row(entry, factors, columns, table):
    names = [_name(value) for value in cells.key_of(entry.cell, factors)]
    values = [_VALUES[part](entry, column.measure) for column in columns for part in column.parts]
    if not entry.cell.runs:
        return Row(names, values, "", "seed")
    kind = "floor" if table.floor and entry.cell.factors.get("server") == table.floor else ""
    return Row(names, values, CLIENT_MARK if entry.cell.client_bound else "", kind)


def _name(value):
    if value is None:
        return "–"
    return spread.number(value) if isinstance(value, float) else str(value)


def _own_value(entry, measure):
    found = entry.cell.spread(measure)
    if not found:
        return Value("–")
    span = f"{spread.number(found.low)}–{spread.number(found.high)}" if found.rounds > 1 else ""
    return Value(spread.number(found.median), span)


def _floor_ratio(entry, measure):
    found = entry.floor and spread.ratio(entry.cell.values(measure), entry.floor.values(measure))
    return Value(f"{spread.share(found.value)} ×" if found else "–", kind="ratio")


def _seed_value(entry, measure):
    value = entry.seed.measures.get(measure) if entry.seed else None
    if value is None:
        return Value("–", kind="seed")
    text = spread.number(value)
    if value < 100:
        text = min(text, f"{value:g}", key=len)  # 0.2 stays 0.2, as in the seed
    return Value(text, kind="seed", mark=FLAG_MARK if entry.seed.flag else "")


_VALUES = {"ours": _own_value, "ratio": _floor_ratio, "seed": _seed_value}


def _notes(table, entries, columns):
    rounds = sorted({len(entry.cell.runs) for entry in entries if entry.cell.runs})
    count = f"{rounds[0]}" if len(rounds) == 1 else f"{rounds[0]} to {rounds[-1]}"
    notes = ["One round, no spread." if rounds == [1] else f"Median and range of {count} rounds."]
    if any("ratio" in column.parts for column in columns):
        notes.append(f"× {table.floor}: {measures.heading(_ratio_of(table))[0]} over that of "
                     f"{table.floor} under the same load.")
    if any(entry.cell.client_bound for entry in entries):
        notes.append(f"{CLIENT_MARK} The client was the limit: it kept more than "
                     f"{cells.CLIENT_BOUND} processors busy. Throughput and latency are the "
                     "client’s as much as the server’s.")
    shown = [column.measure for column in columns if "seed" in column.parts]
    return notes + (_seed_notes(table, entries, shown) if shown else [])


def _seed_notes(table, entries, shown):
    source = seeds.TABLES[table.seed].source
    note = (f"{source.short}: {source.title}, by {source.author} ({source.where}). Measured there: "
            f"{source.machine}. {seeds.TABLES[table.seed].note}")
    if "cpu_us" in shown:
        note += " Its CPU a request is computed here, from its CPU usage and its QPS."
    flags = dict.fromkeys(entry.seed.flag for entry in entries if entry.seed and entry.seed.flag)
    wrong = [f"{FLAG_MARK} Evidently wrong in the source: {flag}." for flag in flags]
    return [note.strip(), *wrong]
