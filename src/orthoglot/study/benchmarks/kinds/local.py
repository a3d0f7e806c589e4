"""Retrieval: sentence pairs of files, a TSV file for each language pair, or a file for each side.

A folder has `de-en.tsv.gz` for each language: foreign sentence, pivot's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import model_validator

from orthoglot.languages import parse_pair
from orthoglot.study.benchmarks.base import ByLanguage, PairSet, Paths, TextsByLanguage, read_tables
from orthoglot.study.corpora.patterns import MINI
from orthoglot.text.bitext import read_pairs, write_pairs


class RetrievalSettings(TextsByLanguage):
    """A retrieval benchmark: sentence pairs of files, foreign side first, pivot second."""

    retrieval = True
    kind: Literal["local"]

    @model_validator(mode="after")
    def _each_language_has_a_file_of_its_own(self) -> Self:
        self.paths()
        return self

    def paths(self, world: str = MINI) -> dict[str, list[str]]:
        return self.texts(world)


SETTINGS = RetrievalSettings


def collect(settings: ByLanguage, paths: Paths, output: Path) -> dict[str, int]:
    """Write the pairs of each language."""
    counts = {}
    for foreign, files in sorted(paths.items()):
        parse_pair(f"{foreign}-{settings.pivot}")
        counts[foreign] = write_pairs(output / f"{foreign}-{settings.pivot}.tsv.gz", read_pairs(files))
    return counts


def read(folder: Path) -> list[PairSet]:
    """The sets in a folder that `collect` wrote, by language pair; none in one of another kind."""
    tables = read_tables(folder, "", 2)
    return [PairSet(folder.name, *pair, source, target) for _, pair, (source, target) in tables]
