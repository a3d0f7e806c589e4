"""Sentence pairs of any corpus, read by the module of its form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePath
from typing import Annotated, Any

import numpy as np
from pydantic import PlainValidator, SerializeAsAny

from orthoglot.errors import ConfigError
from orthoglot.formats import kinds
from orthoglot.formats.base import Source
from orthoglot.registry import having, load
from orthoglot.text.bitext import Item, LeftOut, SentencePair, blocks
from orthoglot.text.hashes import BINS, bins_of, hashes

PACKED = (".gz", ".zst")


def parsed(values: Any) -> Source:
    """A `Source` of the class that its form has, of values from JSON."""
    if isinstance(values, Source):
        return values
    form = load(kinds, values["kind"]) if isinstance(values, dict) and "kind" in values else None
    source: Source = getattr(form, "Source", Source).model_validate(values)
    return source


# `Source` itself would be asked as well, and some forms read something else than `paths`.
AnySource = Annotated[SerializeAsAny[Source], PlainValidator(parsed)]


def form_of(paths: list[str]) -> str:
    """The form of a user's files: that whose `SUFFIXES` their names end with, or else `local`, sentence pairs.

    Raises:
        ConfigError: a translation memory is not the only file, or is compressed where its form is not.
    """
    endings = having(kinds, "SUFFIXES")

    def form(path: str) -> str:
        return next((name for name, ends in endings.items() if path.endswith(ends)), "local")

    forms = {form(path) for path in paths}
    for path in map(PurePath, paths):
        if path.suffix in PACKED and form(str(path)) != form(str(path.with_suffix(""))):
            raise ConfigError(f"{path}: unpack it; files of this form are read uncompressed")
    if len(paths) > 1 and forms not in ({"local"}, {"csv"}):
        raise ConfigError(f"{', '.join(paths)}: a translation memory holds both languages; name one file")
    return forms.pop()


def source_of(name: str, paths: Sequence[str], columns: Sequence[str | int] = ()) -> Source:
    """A user's files as a source: a table, two files of lines that translate each other, or a translation memory.

    Args:
        name: of the source.
        paths: of its files; "-" is standard input.
        columns: of a table, source first; those that its first row names source and target if not given.
    Raises:
        ConfigError: too many files, see `form_of`, or columns of files that have none.
    """
    named = " ".join(paths)
    if len(paths) > 2 or list(paths).count("-") > 1:
        raise ConfigError(f"{named}: give one file, or a source and its translation")
    kind = form_of(list(paths))
    if columns and kind == "local" and len(paths) == 1:
        kind = "csv"
    if bool(columns) != (kind == "csv") and (columns or len(paths) == 2):
        raise ConfigError(
            f"{named}: no table, so leave --columns out"
            if columns
            else f"{named}: say --columns, one of each file"
        )
    values = {"name": name, "kind": kind, "paths": list(paths)}
    return parsed(values | ({"columns": list(columns)} if columns else {}))


def read_source(
    source: Source, first: str, second: str, judge: Callable[[Iterator[Item]], Iterator[Item]] = iter
) -> Iterator[Item]:
    """The pairs of a source in two languages, and a `LeftOut` for each thing that made none.

    Args:
        source: the files.
        first: language of the sources.
        second: of the targets.
        judge: gets all items in the order of the files, before a sample is taken, and may replace them. For a sample
            it is called twice.
    Raises:
        ConfigError: a package is not installed.
        DataError: a file cannot be read, or has nothing in these languages.
    """

    def read() -> Iterator[Item]:
        items: Iterator[Item] = load(kinds, source.kind).read(source, first, second)
        return judge(items)

    return sampled(read, source.max_pairs) if source.max_pairs else read()


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
