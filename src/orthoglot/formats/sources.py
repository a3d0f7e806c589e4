"""Sentence pairs of any corpus, read by the module of its form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from orthoglot.formats.base import Source
from orthoglot.text.bitext import (
    BLANK,
    NUL,
    BadRow,
    Item,
    LeftOut,
    SentencePair,
    bad_row,
    blocks,
    write_bytes,
)
from orthoglot.text.detokeniser import detokenised
from orthoglot.text.hashes import BINS, bins_of, hashes
from orthoglot.text.shifts import Window
from orthoglot.text.tables import SHOWN, check_few


def read_source(
    source: Source,
    first: str,
    second: str,
    judge: Callable[[Iterator[Item]], Iterator[Item]] = iter,
    *,
    nul: bool = True,
) -> Iterator[Item]:
    """The pairs of a source in two languages, and a `LeftOut` for each thing that made none.

    Args:
        source: The files.
        first: The language of the source side.
        second: The language of the other side.
        judge: Gets all items in the order of the files, before a sample is taken, and may replace them. For a sample
            it is called twice.
        nul: Whether a NUL character is text, which `orthoglot.corpora.cleaning` makes a space; if not, the pair is a
            bad row. In a table the row always is.
    Raises:
        ConfigError: a package is not installed.
        DataError: a file cannot be read, or has nothing in these languages, or more than one row in a hundred is bad.
    """

    def read() -> Iterator[Item]:
        return judge(_items(source, first, second))

    items = sampled(read, source.max_pairs) if source.max_pairs else read()
    if source.detokenise:
        # Only what is used is put together: that takes longer than reading.
        items = detokenised(items, first, second)
    return _few_bad(source, items if nul else _without_nul(items))


def read_windows(
    source: Source, first: str, second: str, judge: Callable[[Iterator[Item]], Iterator[Window]]
) -> Iterator[Window]:
    """The same of a source without a limit, in windows; `judge` may leave some of them out."""
    for window in judge(_few_bad(source, _items(source, first, second))):
        items = detokenised(iter(window.items), first, second) if source.detokenise else window.items
        yield window._replace(items=[*items])


def _few_bad(source: Source, items: Iterator[Item]) -> Iterator[Item]:
    """The items of a source; a DataError at their end if more than one row in a hundred is bad."""
    bad: list[BadRow] = []
    count = total = 0
    for item in items:
        total += 1
        if isinstance(item, LeftOut) and item.row:
            count += 1
            bad += [item.row] * (count <= SHOWN)
        yield item
    if count:
        check_few(source.name, bad, count, total)


def _items(source: Source, first: str, second: str, *, nul: bool = True) -> Iterator[Item]:
    """All items of a source; without `nul`, a pair with a NUL character is a bad row."""
    items = source.read(*(source.tags or (first, second)))
    return items if nul else _without_nul(items)


def _without_nul(items: Iterator[Item]) -> Iterator[Item]:
    """The items; a pair with a NUL character is a bad row."""
    for number, item in enumerate(items, 1):
        if isinstance(item, SentencePair) and (NUL in item.source or NUL in item.target):
            yield bad_row(number, "has a NUL character", "\t".join(item))
        else:
            yield item


def write_bad_rows(output: Path, texts: Iterable[tuple[Source, str, str]], *, nul: bool = True) -> None:
    """Write the bad rows of sources in two languages, see `bad_lines`; `read_source` says what `nul` is."""

    def lines() -> Iterator[bytes]:
        for source, first, second in texts:
            items = _items(source, first, second, nul=nul)
            yield from bad_lines(
                source.name, (item.row for item in items if isinstance(item, LeftOut) and item.row)
            )

    write_bytes(output, lines())


def bad_lines(name: str, rows: Iterable[BadRow]) -> Iterator[bytes]:
    """Bad rows as lines of a file: name of the text, line, fault, and the row with the bytes that it has."""
    for row in rows:
        about = (
            name.translate(BLANK),
            str(row.line),
            row.fault.translate(BLANK),
            row.content.replace("\n", " "),
        )
        yield ("\t".join(about) + "\n").encode(errors="surrogateescape")


def sampled(read: Callable[[], Iterator[Item]], most: int) -> Iterator[Item]:
    """At most so many pairs, those with the lowest hashes, and a `LeftOut` for each other one.

    The text is read twice, once to count the hashes. A pair stays in the sample whatever text is added or removed, as
    long as its hash is low enough; pairs with the same first two bytes of the hash count in the order of the text.
    """
    bins = np.zeros(BINS, dtype=np.int64)
    for block in blocks(item for item in read() if isinstance(item, SentencePair)):
        bins += np.bincount(_bins(block), minlength=BINS)
    if bins.sum() <= most:
        yield from read()
        return
    edge = int(np.searchsorted(bins.cumsum(), most))
    room = most - int(bins[:edge].sum())
    for items in blocks(read()):
        places = iter(_bins([item for item in items if isinstance(item, SentencePair)]).tolist())
        for item in items:
            if isinstance(item, SentencePair):
                place = next(places)
                room -= place == edge
                taken = place < edge or (place == edge and room >= 0)
                yield item if taken else LeftOut("over_max_pairs")
            else:
                yield item


def _bins(pairs: Sequence[SentencePair]) -> np.ndarray:
    return bins_of(hashes(("\t".join(pair) for pair in pairs), b"sample"))
