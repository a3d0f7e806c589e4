"""Benchmarks: the user's or the invented world's files, brought into one layout.

A folder has one file per language pair, whose name says what it is: `de-en.tsv.gz` is a retrieval set (foreign,
pivot), `de-en.code-switched.tsv.gz` one whose foreign sentences are mixed (mixed, pivot, as it was before),
`en-de.sts.tsv.gz` and `en-de.qe.tsv.gz` hold graded pairs (source, target, gold, item). Text in many languages is one
file, `nway.tsv.gz`, with a column for each and their codes in the first line.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from random import Random
from typing import Literal

from orthoglot.atomic import replacing
from orthoglot.corpora.bitext import read_pairs, read_rows, write_pairs
from orthoglot.corpora.cleaning import normalised
from orthoglot.corpora.code_switching import read_dictionary, switched
from orthoglot.corpora.kinds import BENCHMARKS
from orthoglot.corpora.settings import (
    Benchmark,
    CodeSwitchedSettings,
    Columns,
    GradedSettings,
    NwaySettings,
    RetrievalSettings,
    graded_pair,
)
from orthoglot.errors import ConfigError, DataError
from orthoglot.languages import parse_pair
from orthoglot.streams import derive

GRADED: tuple[Literal["sts", "qe"], ...] = ("sts", "qe")
CODE_SWITCHED = "code-switched"
NWAY = "nway.tsv.gz"
SOURCE = "source.txt"
Paths = Mapping[str, Sequence[Path]]  # as `Benchmark.paths` has them


@dataclass(frozen=True)
class RetrievalSet:
    """One language pair of a benchmark; row n of one side translates row n of the other.

    `originals` are the foreign sentences before words were swapped; empty unless the set is code-switched.
    """

    name: str
    foreign: str
    pivot: str
    foreign_sentences: list[str]
    pivot_sentences: list[str]
    originals: Sequence[str] = ()

    def sides(self) -> tuple[tuple[str, list[str]], ...]:
        """(language, sentences) whose vectors the benchmark needs."""
        return (self.foreign, self.foreign_sentences), (self.pivot, self.pivot_sentences)


@dataclass(frozen=True)
class GradedSet:
    """One language pair of a graded benchmark: row n has two sentences, their gold score and its item's text."""

    kind: Literal["sts", "qe"]
    name: str
    source: str
    target: str
    source_sentences: list[str]
    target_sentences: list[str]
    gold: list[float]
    items: list[str]

    def sides(self) -> tuple[tuple[str, list[str]], ...]:
        """(language, sentences) whose vectors the benchmark needs."""
        return (self.source, self.source_sentences), (self.target, self.target_sentences)


@dataclass(frozen=True)
class NwaySet:
    """One text in many languages: row n of each translates row n of every other."""

    name: str
    sentences: Mapping[str, list[str]]

    def sides(self) -> tuple[tuple[str, list[str]], ...]:
        """(language, sentences) whose vectors the benchmark needs."""
        return tuple(self.sentences.items())


def collect(settings: Benchmark, raw: Path | None, output: Path) -> None:
    """Write one file for every language pair of a benchmark, or for all its languages, counts.json and source.txt.

    Args:
        settings: where the files are, how they spell languages.
        raw: the invented world's folder; for benchmarks of its text only.
        output: an existing folder.
    Raises:
        ConfigError: the invented world's files are wanted and there is no such folder.
        DataError: a language has no file (the message names all of them), or a file is not as it should be.
    """
    if settings.invented and raw is None:
        raise ConfigError(f"a benchmark of kind {settings.kind!r} needs the invented world's folder")
    paths = {name: [*map(Path, files)] for name, files in settings.paths(str(raw or "")).items()}
    if missing := [(name, path) for name in paths for path in paths[name] if not path.is_file()]:
        names = dict.fromkeys(name for name, _ in missing)
        raise DataError(f"the benchmark has no file for {', '.join(names)}, e.g. {missing[0][1]}")
    counts = dict(resolve_name(BENCHMARKS[settings.kind].collect)(settings, paths, output))
    with replacing(output / "counts.json") as partial:
        partial.write_text(json.dumps(counts, indent=1, sort_keys=True) + "\n")
    if settings.source:
        with replacing(output / SOURCE) as partial:
            partial.write_text(settings.source + "\n")


def read_source(folder: Path) -> str:
    """Which public test set a folder that `collect` wrote is taken from; "" where its settings do not say."""
    path = folder / SOURCE
    return path.read_text().strip() if path.is_file() else ""


def read_benchmark(folder: Path) -> list[RetrievalSet]:
    """The plain retrieval sets of a folder that `collect` wrote, by language.

    Raises:
        DataError: the folder holds no benchmark of any kind.
    """
    return [
        _read_retrieval(path, 2) for path in _paths(folder) if path.name.count(".") == 2 and path.name != NWAY
    ]


def read_code_switched(folder: Path) -> list[RetrievalSet]:
    """The code-switched sets of such a folder, by language."""
    return [_read_retrieval(path, 3) for path in _paths(folder) if path.name.split(".")[1] == CODE_SWITCHED]


def read_graded(folder: Path) -> list[GradedSet]:
    """The graded sets of such a folder, by language pair."""
    return [
        _read_graded(path, kind)
        for path in _paths(folder)
        for kind in GRADED
        if path.name.split(".")[1] == kind
    ]


def read_nway(folder: Path) -> list[NwaySet]:
    """The set of such a folder whose text is in many languages, if it has one."""
    return [_read_nway(path) for path in _paths(folder) if path.name == NWAY]


def read_all(folder: Path) -> list[RetrievalSet | GradedSet | NwaySet]:
    """The sets of every kind of such a folder."""
    return [*read_benchmark(folder), *read_code_switched(folder), *read_graded(folder), *read_nway(folder)]


def sentence_keys(folders: Iterable[Path]) -> set[str]:
    """The keys of every sentence of the benchmarks, on either side: what training text must not hold."""
    keys: set[str] = set()
    for one in (one for folder in folders for one in read_all(folder)):
        for _, sentences in one.sides():
            keys.update(map(normalised, sentences))
        if isinstance(one, RetrievalSet):
            keys.update(map(normalised, one.originals))
    return keys - {""}


def collect_retrieval(settings: RetrievalSettings, paths: Paths, output: Path) -> Iterator[tuple[str, int]]:
    """Write the pairs of each language."""
    for foreign, (path,) in sorted(paths.items()):
        parse_pair(f"{foreign}-{settings.pivot}")
        yield foreign, write_pairs(output / f"{foreign}-{settings.pivot}.tsv.gz", read_pairs([path]))


def collect_code_switched(
    settings: CodeSwitchedSettings, paths: Paths, output: Path
) -> Iterator[tuple[str, dict[str, int]]]:
    """Write the pairs of each language with words of the foreign sentence swapped; those without one are left out."""
    for foreign, (path, words) in sorted(paths.items()):
        parse_pair(f"{foreign}-{settings.pivot}")
        dictionary = read_dictionary(words)
        counts = {"kept": 0, "without_known_word": 0, "words": 0, "swapped": 0}
        rows = []
        for number, (sentence, translation) in enumerate(read_pairs([path])):
            # A stream per sentence: another dictionary word elsewhere shifts no draw.
            random = Random(derive(settings.seed, CODE_SWITCHED, foreign, number, sentence))
            mixed, swapped = switched(sentence, dictionary, settings.rate, random)
            if not swapped:
                counts["without_known_word"] += 1
                continue
            counts["kept"] += 1
            counts["words"] += len(sentence.split())
            counts["swapped"] += swapped
            rows.append((mixed, translation, sentence))
        if not rows:
            raise DataError(f"{path}: the dictionary {words} knows no word of any sentence")
        write_pairs(output / f"{foreign}-{settings.pivot}.{CODE_SWITCHED}.tsv.gz", rows)
        yield foreign, counts


def collect_graded(settings: GradedSettings, paths: Paths, output: Path) -> Iterator[tuple[str, int]]:
    """Write the graded pairs of each language pair."""
    for pair, (path,) in sorted(paths.items()):
        rows = list(_graded_rows(path, settings.columns, *graded_pair(pair)))
        yield pair, write_pairs(output / f"{pair}.{settings.kind}.tsv.gz", rows)


def collect_nway(settings: NwaySettings, paths: Paths, output: Path) -> Iterator[tuple[str, int]]:
    """Write one file; a line that lacks a language is left out, so that all pairs have the same items."""
    ((path,),) = paths.values()
    lines = read_rows(path)
    header = next(lines)
    if missing := [column for column in settings.columns.values() if column not in header]:
        raise DataError(f"{path}: no column {', '.join(missing)}; its columns are {', '.join(header)}")
    languages = sorted(settings.columns)
    places = [header.index(settings.columns[language]) for language in languages]
    rows = [[row[place] for place in places] for row in lines]
    whole = [row for row in rows if all(sentence.strip() for sentence in row)]
    if not whole:
        raise DataError(f"{path}: no line has a sentence in each of {', '.join(languages)}")
    write_pairs(output / NWAY, [languages, *whole])
    yield "kept", len(whole)
    yield "incomplete", len(rows) - len(whole)


def _graded_rows(path: Path, columns: Columns, source: str, target: str) -> Iterator[list[str]]:
    """Source, target, gold and item of each line."""
    lines = enumerate(read_rows(path), 1)
    wanted = columns.of(source, target)
    if isinstance(columns.source, str):
        names = [str(column) for column in wanted]
        _, header = next(lines)
        if missing := [name for name in names if name not in header]:
            raise DataError(f"{path}: no column {', '.join(missing)}; its columns are {', '.join(header)}")
        places = [header.index(name) for name in names]
    else:
        places = [int(column) - 1 for column in wanted]
    empty = True
    for number, row in lines:
        if max(places) >= len(row):
            raise DataError(f"{path}: line {number} has {len(row)} columns, not {max(places) + 1}")
        found = [row[place] for place in places]
        _number(found[2], path, number)
        empty = False
        yield found
    if empty:
        raise DataError(f"{path} has no line but its first")


def _number(text: str, path: Path, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(f"{path}: line {line} has the gold score {text!r}, which is no number")
    return value


def _paths(folder: Path) -> list[Path]:
    paths = sorted([*folder.glob("*-*.tsv.gz"), *folder.glob(NWAY)])
    if not paths:
        raise DataError(f"{folder} holds no benchmark")
    return paths


def _read_retrieval(path: Path, columns: int) -> RetrievalSet:
    foreign, pivot = parse_pair(path.name.partition(".")[0])
    sides = [list(side) for side in zip(*read_rows(path, columns), strict=True)]
    return RetrievalSet(path.parent.name, foreign, pivot, *sides)


def _read_nway(path: Path) -> NwaySet:
    languages, *rows = read_rows(path)
    columns = zip(*rows, strict=True)
    return NwaySet(path.parent.name, {code: list(one) for code, one in zip(languages, columns, strict=True)})


def _read_graded(path: Path, kind: Literal["sts", "qe"]) -> GradedSet:
    source, target = graded_pair(path.name.partition(".")[0])
    rows = list(read_rows(path, 4))
    sources, targets, gold, items = (list(side) for side in zip(*rows, strict=True))
    scores = [_number(text, path, line) for line, text in enumerate(gold, 1)]
    return GradedSet(kind, path.parent.name, source, target, sources, targets, scores, items)
