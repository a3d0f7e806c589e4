"""Sentences, their translations, and hard negatives: changed ones of these, which translate nothing, as in xsim++.

A folder has `candidates.tsv.gz`, with a column for each language and their codes in the first line, and
`negatives.tsv.gz`, whose lines have a negative, what was changed, and the sentence that it was.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from pydantic import model_validator

from orthoglot.errors import DataError
from orthoglot.settings import Language
from orthoglot.study.benchmarks.base import Paths, Takes, well_formed
from orthoglot.study.benchmarks.kinds.nway import WideText, read_whole, write_whole
from orthoglot.study.corpora.patterns import MINI
from orthoglot.text.bitext import read_rows, unpacked, write_pairs

TEXT, NEGATIVES = "candidates.tsv.gz", "negatives.tsv.gz"


class HardNegativeSettings(WideText):
    """Translations of one language's sentences, found among these and changed ones of these: xsim++.

    Source: docs/papers.md#protocol-hard-negatives.
    """

    kind: Literal["hard-negatives"]
    pivot: Language
    """The language of the candidates, one of `languages`."""
    negatives: str
    """A file of LASER's for xsim++, an object in JSON: {negative: {"src": its sentence, "errtype": the change}}."""

    @model_validator(mode="after")
    def _the_pivot_is_a_language_of_the_text(self) -> Self:
        if self.pivot not in self.languages:
            raise ValueError(f"pivot: {self.pivot} is not among the languages")
        return self

    def within(self, takes: Takes) -> Self | None:
        """See `Benchmark.within`; the pivot and one more language at least."""
        return super().within(takes) if takes(self.pivot) else None

    def paths(self, world: str = MINI) -> dict[str, list[str]]:
        return super().paths(world) | {"negatives": [self.negatives]}


SETTINGS = HardNegativeSettings


@dataclass(frozen=True)
class HardNegativeSet:
    """Sentences of one language, and candidates in the pivot."""

    name: str  # of the benchmark
    source: str  # language code
    pivot: str  # language code of the candidates
    sentences: Sequence[str]  # N
    translations: Sequence[str]  # of these, in the pivot, N
    negatives: Sequence[str]  # in the pivot, M
    changes: Sequence[str]  # what was changed, of each negative
    rows: Sequence[int]  # of the translation that was changed, of each negative

    def sides(self) -> tuple[tuple[str, Sequence[str]], ...]:
        """(language, sentences) whose vectors the benchmark needs."""
        return (self.source, self.sentences), (self.pivot, [*self.translations, *self.negatives])


def collect(settings: HardNegativeSettings, paths: Paths, output: Path) -> dict[str, int]:
    """Write the text, and the negatives of its sentences; those of sentences that it lacks are counted.

    Raises:
        DataError: see `write_whole`; a file of negatives in another form, or none of a sentence of the text.
    """
    texts = {code: files for code, files in paths.items() if code != "negatives"}
    (path,) = paths["negatives"]
    counts = write_whole(settings, texts, output / TEXT)
    known = {*read_whole(output / TEXT)[settings.pivot]}
    with well_formed(str(path), "file of negatives"):
        rows = [
            (" ".join(negative.split()), str(about["errtype"]), " ".join(about["src"].split()))
            for negative, about in json.loads(b"".join(unpacked(path)).decode()).items()
        ]
    pairs = [row for row in rows if row[2] in known and row[0] not in known]
    if not pairs:
        raise DataError(f"{path}: no negative of a sentence of the text in {settings.pivot}")
    write_pairs(output / NEGATIVES, [[settings.pivot, "", ""], *pairs])
    return counts | {"negatives": len(pairs), "negatives_left_out": len(rows) - len(pairs)}


def read(folder: Path) -> list[HardNegativeSet]:
    """The sets in a folder that `collect` wrote, one for each language but the pivot; none in one of another kind."""
    if not (folder / TEXT).is_file():
        return []
    text = read_whole(folder / TEXT)
    (pivot, *_), *lines = read_rows(folder / NEGATIVES, 3)
    rows = {sentence: row for row, sentence in enumerate(text[pivot])}
    negatives, changes, changed = ([line[place] for line in lines] for place in range(3))
    of = [rows[sentence] for sentence in changed]
    return [
        HardNegativeSet(folder.name, code, pivot, sentences, text[pivot], negatives, changes, of)
        for code, sentences in text.items()
        if code != pivot
    ]
