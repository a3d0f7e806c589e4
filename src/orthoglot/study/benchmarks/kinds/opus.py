"""Retrieval among very many: sentence pairs drawn from a corpus of OPUS (docs/papers.md#protocol-paracrawl).

A folder has `de-en.drawn.tsv.gz` for each language: foreign sentence, pivot's, in an order of chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Literal, Self

from pydantic import model_validator

from orthoglot.errors import DataError
from orthoglot.formats.sources import read_source
from orthoglot.random_streams import derive
from orthoglot.settings import Count, Name
from orthoglot.study.benchmarks.base import PairSet, Paths, WithPivot, read_tables
from orthoglot.study.benchmarks.distinct_sample import sample
from orthoglot.study.corpora.base import parsed
from orthoglot.study.corpora.kinds.opus import OpusSettings
from orthoglot.study.corpora.patterns import MINI, OPUS
from orthoglot.text.bitext import SentencePair, write_pairs


class DrawnSettings(WithPivot):
    """Sentence pairs of a corpus of OPUS, drawn with a seed so that no sentence is there twice on a side."""

    kind: Literal["opus"]
    corpus: Name
    """OPUS's name of the corpus, e.g. ParaCrawl."""
    version: Name
    """Its release, e.g. v5."""
    most: Count = 200_000
    """Pairs of each language at most [EMS: 200,000 candidates]."""
    seed: int = 1
    """Seed of the draw."""
    listed: bool = True
    """Whether the catalogue of opustools has the release, as for a corpus of OPUS."""

    @model_validator(mode="after")
    def _pairs_are_pairs(self) -> Self:
        if len(set(self.languages)) < len(self.languages):
            raise ValueError(f"languages: {self.languages} names something twice")
        self.paths()
        return self

    @property
    def release(self) -> OpusSettings:
        return OpusSettings(
            kind="opus",
            corpus=self.corpus,
            version=self.version,
            pairs=[f"{self.pivot}-{code}" for code in self.languages],
            max_pairs=self.most,
            listed=self.listed,
            licence=self.licence,
        )

    def paths(self, world: str = MINI) -> dict[str, list[str]]:
        sources = self.release.pair_sources(OPUS)
        return {pair.removeprefix(f"{self.pivot}-"): source["paths"] for pair, source in sources.items()}


SETTINGS = DrawnSettings


def collect(settings: DrawnSettings, paths: Paths, output: Path) -> dict[str, dict[str, int]]:
    """Write the pairs that are drawn of each language.

    Raises:
        DataError: an archive is not sound, or has no pair that can be drawn.
    """
    counts = {}
    for code, files in sorted(paths.items()):
        archives = [str(path) for path in files]
        read = partial(_pairs, archives, code, settings.pivot)
        drawn, counted = sample(read, settings.most, derive(settings.seed, code))
        if not drawn:
            raise DataError(f"{archives[0]}: no pair has a sentence on either side")
        written = write_pairs(output / f"{code}-{settings.pivot}.drawn.tsv.gz", drawn)
        counts[code] = {"kept": written, **counted}
    return counts


def read(folder: Path) -> Iterator[PairSet]:
    """The sets in a folder that `collect` wrote, by language pair, one at a time; none in one of another kind."""
    for _, pair, (source, target) in read_tables(folder, "drawn", 2):
        yield PairSet(folder.name, *pair, source, target)


def _pairs(archives: list[str], foreign: str, pivot: str) -> Iterator[SentencePair]:
    """The pairs of archives, foreign side first."""
    source = parsed({"name": archives[0], "kind": "opus", "paths": archives})
    return (item for item in read_source(source, foreign, pivot) if isinstance(item, SentencePair))
