"""What several programs share: tables of text that they read, intervals, and tables in Markdown that they print."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np


def rows(path: Path) -> Iterator[dict[str, str]]:
    """Lines of a table with a header."""
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        names = next(file).rstrip("\n").split("\t")
        for line in file:
            yield dict(zip(names, line.rstrip("\n").split("\t"), strict=True))


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


def table(heads: list[str], lines: list[list[str]]) -> None:
    """Print Markdown."""
    for line in (heads, ["---"] * len(heads), *lines):
        sys.stdout.write(f"| {' | '.join(line)} |\n")
    sys.stdout.write("\n")
