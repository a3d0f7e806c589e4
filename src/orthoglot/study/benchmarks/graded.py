"""Pairs of sentences with a gold score: what similarity and quality estimation have in common.

A folder has `en-de.KIND.tsv.gz` for each language pair: source, target, gold, item.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from orthoglot.errors import DataError
from orthoglot.settings import Settings, Whole
from orthoglot.study.benchmarks.base import Benchmark, PairSet, Paths, Takes, graded_pair, read_tables, taken
from orthoglot.study.corpora.patterns import MINI, by_name, filled
from orthoglot.text.bitext import write_pairs
from orthoglot.text.tables import places_of, read_table


class Columns(Settings):
    """Which column of a file holds what: its name in the first line, or its number from 1 in a file without names.

    `{source}` and `{target}` in a name stand for the codes of a language pair.
    """

    source: str | int
    """The source sentence."""
    target: str | int
    """The target sentence."""
    gold: str | int
    """The gold score."""
    item: str | int
    """Lines with the same text here, in whatever language pair, are one item of the bootstrap."""

    @model_validator(mode="after")
    def _all_names_or_all_numbers(self) -> Self:
        if len({isinstance(column, int) for _, column in self}) > 1:
            raise ValueError("write names of all four columns, or numbers of all four")
        if any(isinstance(column, int) and column < 1 for _, column in self):
            raise ValueError("columns are numbered from 1 on")
        return self

    def of(self, source: str, target: str) -> list[str | int]:
        """The columns of a pair's source, target, gold and item."""
        return [
            column if isinstance(column, int) else filled(column, "columns", source=source, target=target)
            for _, column in self
        ]


class NamedFile(Settings):
    """A file whose first line does not name its columns."""

    file: str
    """As an entry of `files`."""
    names: Annotated[list[str], Field(min_length=1)]
    """Names of its columns; `{source}` and `{target}` stand for the languages of a pair."""
    lines: Whole = 0
    """Its first lines, of which alone there is a score; 0 for all. SemEval's Turkish track has scores of 250 of 500."""


class GradedSettings(Benchmark):
    """Pairs of sentences with a gold score: similarity (`sts`, docs/papers.md#protocol-sts) or quality of a
    translation (`qe`, docs/papers.md#protocol-qe)."""

    files: str | Annotated[list[str | NamedFile], Field(min_length=1)]
    """A TSV file, in which a quotation mark is an ordinary character, or a CSV file (.csv); plain, .gz or .zst. Of
    several files line n belongs to line n of the others, and columns follow one another; where two have a column of
    one name, both must have the same there. `{name}` stands for a language pair, `{source}` and `{target}` for its
    languages, `{mini}` for the folder of the invented languages."""
    pairs: Annotated[list[str], Field(min_length=1)] | Annotated[dict[str, str], Field(min_length=1)]
    """Language pairs such as de-zh or en-en, or each with the text that `{name}` stands for."""
    columns: Columns
    """Which column holds what."""
    error: bool = False
    """Whether a high gold score is bad, as of HTER, the edits per word that a translation needs. Its negative is then
    the gold score, so that a correlation above 0 is good for every benchmark."""

    @model_validator(mode="after")
    def _pairs_are_pairs(self) -> Self:
        if len(set(self.pairs)) < len(self.pairs):
            raise ValueError(f"pairs: {self.pairs} names something twice")
        distinct = {(*paths, *self.columns.of(*graded_pair(pair))) for pair, paths in self.paths().items()}
        if len(distinct) < len(self.pairs):
            raise ValueError(
                "files, columns: the same for two pairs; tell them apart by {name}, {source}, {target}"
            )
        return self

    @property
    def codes(self) -> set[str]:
        return {code for pair in self.pairs for code in graded_pair(pair)}

    def within(self, takes: Takes) -> Self | None:
        return self._narrowed(pairs=taken(self.pairs, lambda pair: takes(*graded_pair(pair))))

    def paths(self, world: str = MINI) -> dict[str, list[str]]:
        patterns = [each.file if isinstance(each, NamedFile) else each for each in self.parts]
        paths = {}
        for pair, name in by_name(self.pairs).items():
            source, target = graded_pair(pair)
            names = {"name": name, "source": source, "target": target, "mini": world}
            paths[pair] = [filled(pattern, **names) for pattern in patterns]
        return paths

    @property
    def parts(self) -> list[str | NamedFile]:
        """The entries of `files`."""
        return [self.files] if isinstance(self.files, str) else self.files


def collect(settings: GradedSettings, paths: Paths, output: Path) -> dict[str, int]:
    """Write the graded pairs of each language pair."""
    return {
        pair: write_pairs(output / f"{pair}.{settings.kind}.tsv.gz", _graded_rows(files, settings, pair))
        for pair, files in sorted(paths.items())
    }


def read_graded(folder: Path, kind: str) -> list[PairSet]:
    """The sets of a kind in a folder that `collect` wrote, by language pair; none in one of another kind."""
    sets = []
    for path, pair, (source, target, gold, items) in read_tables(folder, kind, 4):
        scores = [_number(text, path, line) for line, text in enumerate(gold, 1)]
        sets.append(PairSet(folder.name, *pair, source, target, gold=scores, items=items))
    return sets


def _graded_rows(files: Sequence[Path], settings: GradedSettings, pair: str) -> list[list[str]]:
    """Source, target, gold and item of each line, the gold score of an error with the other sign."""
    named = isinstance(settings.columns.source, str)
    languages = graded_pair(pair)
    path = files[0]
    tables = [_table(*each, named, languages) for each in zip(files, settings.parts, strict=True)]
    names, lines = tables[0]
    for other, (more, rows) in zip(files[1:], tables[1:], strict=True):
        names, lines = _joined(path, names, lines, other, more, rows)
    places = places_of(path, names if named else lines[0], settings.columns.of(*languages))
    rows = [[line[place] for place in places] for line in lines]
    for number, row in enumerate(rows, 1 + (named and isinstance(settings.parts[0], str))):
        score = _number(row[2], path, number)
        if settings.error:
            row[2] = repr(0.0 - score)  # never -0.0
    return rows


def _table(
    path: Path, described: str | NamedFile, named: bool, languages: tuple[str, str]
) -> tuple[list[str], list[list[str]]]:
    """Names of columns, and lines, of one file; all lines have as many columns."""
    lines = list(read_table(path))
    if isinstance(described, NamedFile):
        source, target = languages
        names = [filled(name, "names", source=source, target=target) for name in described.names]
        if len(names) != len(lines[0]):
            raise DataError(f"{path} has {len(lines[0])} columns, not {', '.join(names)}")
        return names, lines[: described.lines or None]
    if not named:
        return [], lines
    if len(lines) == 1:
        raise DataError(f"{path} has no line but its first")
    return lines[0], lines[1:]


def _joined(
    path: Path, names: list[str], lines: list[list[str]], other: Path, more: list[str], rows: list[list[str]]
) -> tuple[list[str], list[list[str]]]:
    """The columns of a file followed by those of another; columns of one name must agree."""
    if len(rows) != len(lines):
        raise DataError(f"{other} has {len(rows)} lines, {path} has {len(lines)}")
    common = [(names.index(name), more.index(name), name) for name in more if name in names]
    for number, (ours, theirs) in enumerate(zip(lines, rows, strict=True), 1):
        for mine, its, name in common:
            if ours[mine] != theirs[its]:
                raise DataError(
                    f"row {number}: {name} is {ours[mine]!r} in {path} and {theirs[its]!r} in {other}"
                )
    return names + more, [ours + theirs for ours, theirs in zip(lines, rows, strict=True)]


def _number(text: str, path: Path, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(f"{path}: line {line} has the gold score {text!r}, which is no number")
    return value
