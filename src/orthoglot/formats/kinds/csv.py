"""Sentence pairs in CSV: columns of one file, or of two files whose rows belong together."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from orthoglot.errors import DataError
from orthoglot.formats import base
from orthoglot.settings import Count
from orthoglot.text.bitext import SentencePair, read_table

SUFFIXES = (".csv", ".csv.gz", ".csv.zst")


class Source(base.Source):
    """Files of CSV."""

    columns: Annotated[list[Count], Field(min_length=1)]
    """Of one file the columns of source and target, of two files those that translate each other; from 1 on."""

    @model_validator(mode="after")
    def _one_file_has_two_columns(self) -> Self:
        if len(self.paths) == 1 and len(self.columns) != 2:
            raise ValueError("columns: of one file, name the source's and the target's")
        return self


def read(source: Source, first: str, second: str) -> Iterator[SentencePair]:
    """The pairs of each row.

    Raises:
        DataError: a file cannot be read or has fewer columns, or two files have different numbers of rows.
    """
    paths = [Path(path) for path in source.paths]
    for number, rows in enumerate(zip_longest(*map(read_table, paths)), 1):
        for path, row in zip(paths, rows, strict=True):
            if row is None:
                raise DataError(f"{path} has {number - 1} rows, fewer than the other file")
            if max(source.columns) > len(row):
                raise DataError(f"{path}: row {number} has {len(row)} columns, not {max(source.columns)}")
        cells = [[row[column - 1] for column in source.columns] for row in rows]
        yield from [SentencePair(*cells[0])] if len(rows) == 1 else map(SentencePair, *cells)
