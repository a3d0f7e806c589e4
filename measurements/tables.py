"""What several programs share: tables of text that they read, records that they write, tables that they print."""

from __future__ import annotations

import csv
import gzip
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from orthoglot.statistics.intervals import wilson


def rows(path: Path) -> Iterator[dict[str, str]]:
    """Lines of a table with a header."""
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        names = next(file).rstrip("\n").split("\t")
        for line in file:
            yield dict(zip(names, line.rstrip("\n").split("\t"), strict=True))


def lines(path: Path) -> list[list[str]]:
    """The cells of a packed table without a header."""
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n").split("\t") for line in file]


def write(path: Path, records: Sequence[dict], missing: object = "") -> None:
    """Write a CSV file with a column for each name that occurs."""
    names = dict.fromkeys(name for record in records for name in record)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names, restval=missing, lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            {name: f"{value:.5g}" if isinstance(value, float) else value for name, value in record.items()}
            for record in records
        )


def interval(draws: np.ndarray) -> tuple[float, float]:
    """95 % of the draws that have a value."""
    if np.isnan(draws).all():
        return np.nan, np.nan
    low, high = np.nanquantile(draws, [0.025, 0.975])
    return float(low), float(high)


def cell(row: dict, what: str, sign: str = "") -> str:
    """A share in percent with its interval."""
    if np.isnan(row[what]):
        return "–"
    low, high = row[f"{what}_low"], row[f"{what}_high"]
    return f"{100 * row[what]:{sign}.1f} [{100 * low:{sign}.1f}, {100 * high:{sign}.1f}]"


def share(count: int, n: int, digits: int = 1) -> str:
    """Percent with a Wilson interval."""
    low, high = (100 * end for end in wilson(count / n, n, 0.95))
    return f"{100 * count / n:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def table(heads: list[str], lines: list[list[str]]) -> None:
    """Print Markdown."""
    for line in (heads, ["---"] * len(heads), *lines):
        sys.stdout.write(f"| {' | '.join(line)} |\n")
    sys.stdout.write("\n")
