"""Pairs of sentences with a gold score: what similarity and quality estimation have in common.

A folder has `en-de.KIND.tsv.gz` for each language pair: source, target, gold, item.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from orthoglot.benchmarks.base import Benchmark, PairSet, Paths, graded_pair, places_of, read_tables
from orthoglot.errors import DataError
from orthoglot.settings import Settings
from orthoglot.text.bitext import read_rows, write_pairs
from orthoglot.text.patterns import MINI, by_name, filled


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


class GradedSettings(Benchmark):
    """Pairs of sentences with a gold score: similarity (`sts`, docs/papers.md#protocol-sts) or quality of a
    translation (`qe`, docs/papers.md#protocol-qe)."""

    files: str
    """A TSV file, plain, .gz or .zst, in which a quotation mark is an ordinary character; `{name}` stands for
    a language pair, `{mini}` for the folder of the invented languages."""
    pairs: Annotated[list[str], Field(min_length=1)] | Annotated[dict[str, str], Field(min_length=1)]
    """Language pairs such as de-zh or en-en, or each with the text that `{name}` stands for."""
    columns: Columns
    """Which column holds what."""
    gold_files: str = ""
    """As `files`: files with further columns of the same lines, which are read as if they followed those of `files`.
    MLQE-PE has its edit rates in such files."""
    error: bool = False
    """Whether a high gold score is bad, as of HTER, the edits per word that a translation needs. Its negative is then
    the gold score, so that a correlation above 0 is good for every benchmark."""

    @model_validator(mode="after")
    def _pairs_are_pairs(self) -> Self:
        if len(set(self.pairs)) < len(self.pairs):
            raise ValueError(f"pairs: {self.pairs} names something twice")
        found = {(*paths, *self.columns.of(*graded_pair(pair))) for pair, paths in self.paths().items()}
        if len(found) < len(self.pairs):
            raise ValueError(
                "files, columns: the same for two pairs; tell them apart by {name}, {source}, {target}"
            )
        return self

    @property
    def codes(self) -> set[str]:
        """See `Benchmark.codes`."""
        return {code for pair in self.pairs for code in graded_pair(pair)}

    def paths(self, world: str = MINI) -> dict[str, list[str]]:
        """See `Benchmark.paths`."""
        patterns = {"files": self.files} | ({"gold_files": self.gold_files} if self.gold_files else {})
        return {
            pair: [filled(pattern, field, name=name, mini=world) for field, pattern in patterns.items()]
            for pair, name in by_name(self.pairs).items()
        }


def collect(settings: GradedSettings, paths: Paths, output: Path) -> dict[str, int]:
    """Write the graded pairs of each language pair."""
    return {
        pair: write_pairs(output / f"{pair}.{settings.kind}.tsv.gz", _graded_rows(files, settings, pair))
        for pair, files in sorted(paths.items())
    }


def read_graded(folder: Path, kind: str) -> list[PairSet]:
    """The sets of a kind in a folder that `collect` wrote, by language pair; none in one of another kind."""
    found = []
    for path, pair, (source, target, gold, items) in read_tables(folder, kind, 4):
        scores = [_number(text, path, line) for line, text in enumerate(gold, 1)]
        found.append(PairSet(folder.name, *pair, source, target, gold=scores, items=items))
    return found


def _graded_rows(files: Sequence[Path], settings: GradedSettings, pair: str) -> list[list[str]]:
    """Source, target, gold and item of each line, the gold score of an error with the other sign."""
    path, *further = files
    lines = list(read_rows(path))  # all have as many columns as the first
    named = isinstance(settings.columns.source, str)
    for other in further:
        lines = _joined(path, lines, other, named)
    wanted, width = settings.columns.of(*graded_pair(pair)), len(lines[0])
    if named:
        places = places_of(path, lines[0], [str(column) for column in wanted])
        if len(lines) == 1:
            raise DataError(f"{path} has no line but its first")
    else:
        places = [int(column) - 1 for column in wanted]
        if max(places) >= width:
            raise DataError(f"{path}: line 1 has {width} columns, not {max(places) + 1}")
    rows = [[line[place] for place in places] for line in lines[named:]]
    for number, row in enumerate(rows, 1 + named):
        score = _number(row[2], path, number)
        if settings.error:
            row[2] = repr(0.0 - score)  # never -0.0
    return rows


def _joined(path: Path, lines: list[list[str]], other: Path, named: bool) -> list[list[str]]:
    """The lines of a file followed by those of another; columns of one name must agree."""
    more = list(read_rows(other))
    if len(more) != len(lines):
        raise DataError(f"{other} has {len(more)} lines, {path} has {len(lines)}")
    shared = [(lines[0].index(name), more[0].index(name), name) for name in more[0] if name in lines[0]]
    for number, (ours, theirs) in enumerate(zip(lines, more, strict=True), 1):
        for mine, its, name in shared if named else []:
            if ours[mine] != theirs[its]:
                raise DataError(
                    f"line {number}: {name} is {ours[mine]!r} in {path} and {theirs[its]!r} in {other}"
                )
    return [ours + theirs for ours, theirs in zip(lines, more, strict=True)]


def _number(text: str, path: Path, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(f"{path}: line {line} has the gold score {text!r}, which is no number")
    return value
