"""One text in many languages: a file for each, line by line; two of them are read as the user's own pairs are."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from orthoglot.formats import base
from orthoglot.settings import Language
from orthoglot.study.corpora.base import Corpus
from orthoglot.study.corpora.patterns import by_name, filled
from orthoglot.text.bitext import MERGED, Item, LeftOut, SentencePair, read_pairs


class MultiParallelSettings(Corpus):
    """One text in many languages: a file for each, in which line n is the translation of line n of the others.

    An empty line is a sentence that the language lacks; it is left out of that language's pair alone. So are
    `<range>`, which stands in eBible's files for a verse that the line before has, and that line.
    """

    kind: Literal["multi-parallel"]
    files: str
    """A file with a sentence per line, plain, .gz or .zst, here or at an address; `{language}` stands for the
    language's name."""
    languages: (
        Annotated[list[Language], Field(min_length=2)] | Annotated[dict[Language, str], Field(min_length=2)]
    )
    """The languages, the pivot among them, or each with its name in `files`, e.g. {en: eng, cs: ces}."""
    pivot: Language = "en"
    """The language that all others have a pair with."""
    licence: str
    """The licence of the text; the report lists it."""

    @model_validator(mode="after")
    def _each_language_has_a_file_of_its_own(self) -> Self:
        if self.pivot not in self.languages:
            raise ValueError(f"languages: name the pivot {self.pivot}, too")
        if len(set(self._paths.values())) < len(self.languages):
            raise ValueError("files: the same for two languages; tell them apart by {language}")
        return self

    @property
    def _paths(self) -> dict[str, str]:
        """{language: its file}."""
        return {code: filled(self.files, language=name) for code, name in by_name(self.languages).items()}

    def pair_sources(self, root: str) -> dict[str, dict[str, Any]]:
        pivot = self._paths[self.pivot]
        return {
            f"{self.pivot}-{code}": {"kind": "multi-parallel", "paths": [pivot, path]}
            for code, path in self._paths.items()
            if code != self.pivot
        }


SETTINGS = MultiParallelSettings


class Source(base.Source):
    """Two files, line by line."""

    def read(self, first: str, second: str) -> Iterator[Item]:
        """The pairs of two files; a line whose text is in an earlier one goes, and so does that earlier one."""
        pairs = read_pairs([Path(path) for path in self.paths])
        for pair, following in pairwise(chain(pairs, [SentencePair("", "")])):
            yield LeftOut("merged_lines") if MERGED in (*pair, *following) else pair
