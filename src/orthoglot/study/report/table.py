"""A table of cells with small print, and its Markdown: of the report, of papers and of commands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import pandas as pd

from orthoglot.study.report.frame import rows

ARROWS = {"higher": "↑", "lower": "↓"}
# Form of a difference: its sign is shown, and -0.0 becomes +0.0.
POINTS = "+z.1f"


class Cell(NamedTuple):
    """One cell."""

    text: str
    small: str = ""  # small print: an interval, a reason
    tone: str = ""  # style: "best", "good", "bad", "absent" or none
    hint: str = ""  # what a pointer on it shows


EMPTY = Cell("–")


class Table(NamedTuple):
    """One table."""

    title: str
    note: str
    columns: list[str]
    rows: list[list[Cell]]
    groups: Sequence[tuple[str, int]] = ()  # headings over several columns, each with their number
    text: bool = False  # whether its cells are broken into lines

    @property
    def starts(self) -> set[int]:
        """The first column of each group but the first."""
        return set(accumulate(count for _, count in self.groups[:-1]))


def interval(low: float | None, high: float | None, form: str = ".1f") -> str:
    """The ends of an interval in brackets; "" where one is missing."""
    return "" if pd.isna(low) or pd.isna(high) else f"[{low:{form}}, {high:{form}}]"


def number(row: Any, form: str = ".1f", tone: str = "", more: str = "") -> Cell:
    """The `value` of a row with its interval, from `low` to `high`, and more small print; `EMPTY` for None."""
    if row is None:
        return EMPTY
    small = " ".join(filter(None, (interval(row.low, row.high, form), more)))
    return Cell(f"{row.value:{form}}", small, tone)


def reach(row: Any, form: str = ".1f") -> str:
    """What other seeds would change, see `spread`; "" where that is not known."""
    return f"± {row.reach:{form}}" if pd.notna(row.reach) else ""


def grid(
    values: pd.DataFrame,
    by: list[str],
    across: list[str],
    columns: Sequence[Any],
    show: Callable[[Any], Cell],
) -> list[list[Cell]]:
    """A row for each distinct `by`, in the order of the values; a cell for each of `columns`, which `across` has."""
    keys = values[by].itertuples(index=False, name=None)
    places = values[across[0]] if len(across) == 1 else values[across].itertuples(index=False, name=None)
    table: dict[tuple[Any, ...], dict[Any, Cell]] = {}
    for key, place, row in zip(keys, places, rows(values), strict=True):
        table.setdefault(key, {})[place] = show(row)
    return [
        [*(Cell(str(name)) for name in key), *(cells.get(column, EMPTY) for column in columns)]
        for key, cells in table.items()
    ]


def markdown(tables: Iterable[Table]) -> str:
    """Tables that have a row, in Markdown."""
    return "\n".join(_markdown(table) for table in tables if table.rows)


def _markdown(table: Table) -> str:
    columns = list(table.columns)
    groups = [name for name, count in table.groups for _ in range(count)]
    for place, group in enumerate(groups):
        if group:
            columns[place] = f"{group}: {columns[place]}"
    body = [[" ".join(filter(None, (cell.text, cell.small))) for cell in row] for row in table.rows]
    lines = [_markdown_row(cells) for cells in (columns, ["---"] * len(columns), *body)]
    return "\n".join([f"### {table.title}\n", f"{table.note}\n", *lines]) + "\n"


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("<", "&lt;") for cell in cells) + " |"
