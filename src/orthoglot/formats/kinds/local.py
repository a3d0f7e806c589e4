"""Sentence pairs in one table, or in two files of lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from orthoglot.formats.base import Source
from orthoglot.text.bitext import Item, aligned, read_lines
from orthoglot.text.tables import open_table


def read(source: Source, first: str, second: str) -> Iterator[Item]:
    """The pairs of one table or two Moses files; languages matter only where a table names them."""
    if len(source.paths) > 1:
        names = source.paths
        ours, theirs = (read_lines(Path(name), escaped=True) for name in names)
        return aligned(ours, theirs, names[0], names[1])
    return open_table(Path(source.paths[0]), languages=(first, second)).pairs()
