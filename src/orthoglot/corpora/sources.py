"""Where sentence pairs are read from: one reader for each form of file."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from pkgutil import resolve_name
from typing import Literal, Self

from pydantic import model_validator

from orthoglot.corpora.bitext import Item, SentencePair, read_pairs
from orthoglot.corpora.opus import read_moses_zip
from orthoglot.corpora.settings import PackageSettings
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
    """Pairs at most that stay after cleaning, those with the lowest hashes; 0 for all."""

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
    items: Iterator[Item] = resolve_name(READERS[origin.kind])(origin, source, target)
    return items


def read_zips(origin: Source, source: str, target: str) -> Iterator[SentencePair]:
    """The pairs of Moses zips."""
    return chain.from_iterable(read_moses_zip(Path(path), source, target) for path in origin.paths)


def read_files(origin: Source, source: str, target: str) -> Iterator[SentencePair]:
    """The pairs of one TSV file or two Moses files, whatever their languages are."""
    return read_pairs([Path(path) for path in origin.paths])
