"""Where sentence pairs are read from: one reader for each form of file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from pkgutil import resolve_name
from typing import Literal, Self

import numpy as np
from pydantic import model_validator

from orthoglot.corpora.bitext import Item, LeftOut, SentencePair, read_pairs
from orthoglot.corpora.opus import read_moses_zip
from orthoglot.corpora.settings import PackageSettings
from orthoglot.corpora.spool import BINS, bins_of, blocks, hashes
from orthoglot.settings import Count, Settings, Whole

# "module:function" from (source, language of the first side, of the second) to pairs and what was left out.
READERS = {
    "moses_zip": "orthoglot.corpora.sources:read_zips",
    "files": "orthoglot.corpora.sources:read_files",
    "po": "orthoglot.corpora.catalogues:read_own",
    "gettext": "orthoglot.corpora.catalogues:read_gettext",
    "tmx": "orthoglot.corpora.tmx:read_tmx",
    "xliff": "orthoglot.corpora.xliff:read_xliff",
}


class Source(Settings):
    """Files of sentence pairs of one corpus, all of one form."""

    name: str
    """Of the corpus."""
    kind: Literal["moses_zip", "files", "po", "gettext", "tmx", "xliff"]
    """Moses zips of OPUS; one TSV file or two Moses files; one message catalogue; catalogues that belong together;
    one TMX file; one XLIFF file."""
    paths: list[str] = []
    """The files, unless they are in packages."""
    packages: dict[str, PackageSettings] = {}
    """Of `gettext`: Python packages whose message catalogues are read."""
    locales: list[str] = []
    """Of `gettext`: names of the language's catalogues, the preferred one first; empty for all that stand for it."""
    min_words: Count = 1
    """Of `gettext`: words of the message at least."""
    max_pairs: Whole = 0
    """Pairs at most that are used, a sample; 0 for all."""

    @model_validator(mode="after")
    def _something_is_read(self) -> Self:
        if not self.paths and not self.packages:
            raise ValueError("paths: name a file")
        return self


def read_source(origin: Source, source: str, target: str) -> Iterator[Item]:
    """The pairs of a source, source language first, and a `LeftOut` for each thing that made none.

    Raises:
        ConfigError: a package is not installed.
        DataError: a file cannot be read, or has nothing in these languages.
    """

    def read() -> Iterator[Item]:
        items: Iterator[Item] = resolve_name(READERS[origin.kind])(origin, source, target)
        return items

    return sampled(read, origin.max_pairs) if origin.max_pairs else read()


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


def read_zips(origin: Source, source: str, target: str) -> Iterator[SentencePair]:
    """The pairs of Moses zips."""
    return chain.from_iterable(read_moses_zip(Path(path), source, target) for path in origin.paths)


def read_files(origin: Source, source: str, target: str) -> Iterator[SentencePair]:
    """The pairs of one TSV file or two Moses files, whatever their languages are."""
    return read_pairs([Path(path) for path in origin.paths])
