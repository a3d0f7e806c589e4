"""Sentence pairs in columns of one table, CSV or TSV, or of two whose rows belong together."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from orthoglot.errors import DataError
from orthoglot.formats.base import Source
from orthoglot.text.bitext import BadRow, Item, SentencePair, bad_row
from orthoglot.text.tables import open_table, places_of, read_all_rows


def read(source: Source, first: str, second: str) -> Iterator[Item]:
    """The pairs of each row; a row that is bad in one of two files is no pair.

    Raises:
        DataError: a file cannot be read or lacks a column, or two files have different numbers of rows.
    """
    paths = [Path(path) for path in source.paths]
    if len(paths) == 1:
        yield from open_table(paths[0], source.columns, languages=(first, second)).pairs()
        return
    places: list[list[int]] = []
    for number, rows in enumerate(zip_longest(*map(read_all_rows, paths)), 1):
        if None in rows:
            raise DataError(f"{paths[rows.index(None)]} has {number - 1} rows, fewer than the other file")
        bad = [(path, row) for path, row in zip(paths, rows, strict=True) if isinstance(row, BadRow)]
        if bad:
            fault = ", ".join(f"{row.fault} in {path}" for path, row in bad)
            yield bad_row(number, fault, "\t".join(row.content for _, row in bad))
            continue
        good = [row for row in rows if not isinstance(row, BadRow)]
        if not places:
            places = [places_of(path, row, source.columns) for path, row in zip(paths, good, strict=True)]
            if isinstance(source.columns[0], str):
                continue
        cells = [[row[place] for place in wanted] for row, wanted in zip(good, places, strict=True)]
        yield from map(SentencePair, *cells)
