"""One text in many languages: retrieval between any two of them, geometry of their vectors.

A folder has `nway.tsv.gz`, with a column for each language and their codes in the first line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from orthoglot.errors import DataError
from orthoglot.settings import Language
from orthoglot.study.benchmarks.base import Benchmark, Paths, Takes, taken
from orthoglot.study.corpora.patterns import MINI, by_name, filled
from orthoglot.text.bitext import MERGED, read_lines, read_rows, write_pairs
from orthoglot.text.tables import places_of

NWAY = "nway.tsv.gz"


class WideText(Benchmark):
    """One text in many languages."""

    files: str
    """One TSV file, plain, .gz or .zst, with a column for each language, named in the first line; or, with
    `{language}` for a language's name, a file for each, in which line n is the translation of line n of the others.
    `{mini}` stands for the folder of the invented languages."""
    languages: (
        Annotated[list[Language], Field(min_length=2)] | Annotated[dict[Language, str], Field(min_length=2)]
    )
    """The languages to compare, whose columns or files have their codes as names, or each with the name of its
    column or file."""

    @model_validator(mode="after")
    def _each_language_has_a_column_of_its_own(self) -> Self:
        self.paths()  # refuses names that stand for nothing
        if len(set(self.columns.values())) < len(self.languages):
            raise ValueError(f"languages: {self.languages} names something twice")
        return self

    @property
    def by_language(self) -> bool:
        """Whether each language has a file of its own."""
        return "{language}" in self.files

    @property
    def columns(self) -> dict[str, str]:
        """{language: its column}."""
        return by_name(self.languages)

    @property
    def codes(self) -> set[str]:
        return set(self.languages)

    def within(self, takes: Takes) -> Self | None:
        """See `Benchmark.within`; two languages at least."""
        languages = taken(self.languages, takes)
        return self._narrowed(languages=languages) if len(languages) > 1 else None

    def paths(self, world: str = MINI) -> dict[str, list[str]]:
        if self.by_language:
            return {
                code: [filled(self.files, language=name, mini=world)] for code, name in self.columns.items()
            }
        return {"any language": [filled(self.files, mini=world)]}


class NwaySettings(WideText):
    """One text in many languages: retrieval between any two of them, geometry of their vectors.

    Source: docs/papers.md#protocol-n-way, docs/papers.md#protocol-geometry.
    """

    retrieval = True
    kind: Literal["nway"]


SETTINGS = NwaySettings


@dataclass(frozen=True)
class NwaySet:
    """One text in many languages: row n of each translates row n of every other."""

    name: str
    sentences: Mapping[str, Sequence[str]]

    def sides(self) -> tuple[tuple[str, Sequence[str]], ...]:
        """(language, sentences) whose vectors the benchmark needs."""
        return tuple(self.sentences.items())


def collect(settings: NwaySettings, paths: Paths, output: Path) -> dict[str, int]:
    """Write one file; a line that lacks a language is left out, so that all pairs have the same items."""
    return write_whole(settings, paths, output / NWAY)


def write_whole(settings: WideText, paths: Paths, output: Path) -> dict[str, int]:
    """Write the languages and the lines that have a sentence in each, and return how many there are, and others.

    Raises:
        DataError: no such line, or the files have different numbers of lines.
    """
    languages = sorted(settings.columns)
    rows = _aligned_rows(paths, languages) if settings.by_language else _wide_rows(settings, paths, languages)
    # A line before `<range>` has the text of both.
    whole = [
        row
        for row, following in pairwise([*rows, ()])
        if all(sentence.strip() for sentence in row) and MERGED not in (*row, *following)
    ]
    if not whole:
        raise DataError(f"{settings.files}: no line has a sentence in each of {', '.join(languages)}")
    write_pairs(output, [languages, *whole])
    return {"kept": len(whole), "incomplete": len(rows) - len(whole)}


def read(folder: Path) -> list[NwaySet]:
    """The set in a folder that `collect` wrote; none in one of another kind."""
    path = folder / NWAY
    return [NwaySet(folder.name, read_whole(path))] if path.is_file() else []


def read_whole(path: Path) -> dict[str, list[str]]:
    """{language: sentences} of a file of `write_whole`."""
    languages, *rows = read_rows(path)
    columns = zip(*rows, strict=True)
    return {code: list(column) for code, column in zip(languages, columns, strict=True)}


def _wide_rows(settings: WideText, paths: Paths, languages: Sequence[str]) -> list[list[str]]:
    """The sentences of each line of a file with a column for each language."""
    ((path,),) = paths.values()
    header, *lines = read_rows(path)
    places = places_of(path, header, [settings.columns[language] for language in languages])
    return [[line[place] for place in places] for line in lines]


def _aligned_rows(paths: Paths, languages: Sequence[str]) -> list[tuple[str, ...]]:
    """The sentences of line n of every language's file."""
    texts = {language: list(read_lines(paths[language][0])) for language in languages}
    lines = {language: len(text) for language, text in texts.items()}
    if len(set(lines.values())) > 1:
        first = languages[0]
        other = next(language for language in languages if lines[language] != lines[first])
        raise DataError(
            f"{paths[other][0]} has {lines[other]} lines, {paths[first][0]} has {lines[first]}; "
            "line n must be the same sentence in all languages"
        )
    return list(zip(*texts.values(), strict=True))
