"""Benchmarks: the user's or the invented world's files, brought into one layout.

A folder has one file per language pair, whose name says what it is: `de-en.tsv.gz` is a retrieval set (foreign,
pivot), `de-en.code-switched.tsv.gz` one whose foreign sentences are mixed (mixed, pivot, as it was before),
`en-de.sts.tsv.gz` and `en-de.qe.tsv.gz` hold graded pairs (source, target, gold, item). Text in many languages is one
file, `nway.tsv.gz`, with a column for each and their codes in the first line. `de-en.mining.tsv.gz` holds two lists of
sentences to be mined, `pool.tsv.gz` questions and answers in many languages, `labelled.tsv.gz`
texts with labels (`mining_sets`, `pools`, `labelled`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from pkgutil import resolve_name
from random import Random

from orthoglot.corpora.benchmark_settings import (
    Benchmark,
    CodeSwitchedSettings,
    GradedSettings,
    NwaySettings,
    RetrievalSettings,
    graded_pair,
)
from orthoglot.corpora.bitext import read_lines, read_pairs, read_rows, write_pairs
from orthoglot.corpora.cleaning import normalised
from orthoglot.corpora.code_switching import known_words, read_dictionary, switched
from orthoglot.corpora.kinds import BENCHMARKS
from orthoglot.corpora.labelled import LABELLED, LabelledSet, read_labelled
from orthoglot.corpora.mining_sets import MiningSet, read_mining
from orthoglot.corpora.pools import POOL, PoolSet, read_pool
from orthoglot.errors import ConfigError, DataError
from orthoglot.languages import parse_pair
from orthoglot.streams import derive

CODE_SWITCHED = "code-switched"
NWAY = "nway.tsv.gz"
SOURCE = "source.txt"
Paths = Mapping[str, Sequence[Path]]  # as `Benchmark.paths` has them


@dataclass(frozen=True)
class PairSet:
    """One language pair of a benchmark; row n of one side belongs to row n of the other.

    Attributes:
        name: of the benchmark.
        source: code of the first language; of a retrieval set the foreign one.
        target: code of the second language; of a retrieval set the pivot, row by row its translation.
        source_sentences: of the first language.
        target_sentences: of the second language.
        originals: of a code-switched set, the foreign sentences before words were swapped.
        gold: of a graded set, the gold score of each row.
        items: of a graded set, the text that identifies the item of each row.
    """

    name: str
    source: str
    target: str
    source_sentences: Sequence[str]
    target_sentences: Sequence[str]
    originals: Sequence[str] = ()
    gold: Sequence[float] = ()
    items: Sequence[str] = ()

    @property
    def pair(self) -> str:
        """The language pair, "source-target"."""
        return f"{self.source}-{self.target}"

    def sides(self) -> tuple[tuple[str, Sequence[str]], ...]:
        """(language, sentences) whose vectors the benchmark needs."""
        return (self.source, self.source_sentences), (self.target, self.target_sentences)


@dataclass(frozen=True)
class NwaySet:
    """One text in many languages: row n of each translates row n of every other."""

    name: str
    sentences: Mapping[str, Sequence[str]]

    def sides(self) -> tuple[tuple[str, Sequence[str]], ...]:
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
    counts = resolve_name(BENCHMARKS[settings.kind].collect)(settings, paths, output)
    (output / "counts.json").write_text(json.dumps(counts, indent=1, sort_keys=True) + "\n")
    if settings.source:
        (output / SOURCE).write_text(settings.source + "\n")


def read_source(folder: Path) -> str:
    """Which public test set a folder that `collect` wrote is taken from; "" where its settings do not say."""
    path = folder / SOURCE
    return path.read_text().strip() if path.is_file() else ""


def read_benchmark(folder: Path, kind: str = "") -> list[PairSet]:
    """The sets of one kind in a folder that `collect` wrote, by language pair.

    Args:
        folder: of a benchmark of any kind.
        kind: "" for plain retrieval, "code-switched", "sts" or "qe".
    Raises:
        DataError: the folder holds no benchmark of any kind.
    """
    return [_read_pairs(path) for path in _paths(folder) if path.name != NWAY and _kind(path) == kind]


def read_nway(folder: Path) -> list[NwaySet]:
    """The set of such a folder whose text is in many languages, if it has one."""
    return [_read_nway(path) for path in _paths(folder) if path.name == NWAY]


def read_all(folder: Path) -> list[PairSet | NwaySet | MiningSet | PoolSet | LabelledSet]:
    """The sets of every kind of such a folder."""
    aligned = [_read_nway(path) if path.name == NWAY else _read_pairs(path) for path in _paths(folder)]
    return [*aligned, *read_mining(folder), *read_pool(folder), *read_labelled(folder)]


def sentence_keys(folders: Iterable[Path]) -> dict[str, tuple[str, ...]]:
    """The key of every sentence of the benchmarks, on either side, and the names of the benchmarks that have it.

    Training text must hold none of them.
    """
    keys: dict[str, tuple[str, ...]] = {}
    names: dict[tuple[str, ...], tuple[str, ...]] = {}  # one of each, however many sentences have it
    for folder in folders:
        for one in read_all(folder):
            sides = [sentences for _, sentences in one.sides()]
            for key in map(normalised, chain(*sides, one.originals if isinstance(one, PairSet) else ())):
                has = keys.get(key, ())
                if folder.name not in has:
                    both = (*has, folder.name)
                    keys[key] = names.setdefault(both, both)
    keys.pop("", None)
    return keys


def collect_retrieval(settings: RetrievalSettings, paths: Paths, output: Path) -> dict[str, int]:
    """Write the pairs of each language."""
    counts = {}
    for foreign, (path,) in sorted(paths.items()):
        parse_pair(f"{foreign}-{settings.pivot}")
        counts[foreign] = write_pairs(output / f"{foreign}-{settings.pivot}.tsv.gz", read_pairs([path]))
    return counts


def collect_code_switched(
    settings: CodeSwitchedSettings, paths: Paths, output: Path
) -> dict[str, dict[str, float]]:
    """Write the pairs of each language with words of the foreign sentence swapped; those without one are left out.

    Returns rate and seed, and of each language how many pairs were kept; and in these the words, those that the
    dictionary knows, and those that were swapped.
    """
    found = {}
    for foreign, (path, words) in sorted(paths.items()):
        parse_pair(f"{foreign}-{settings.pivot}")
        dictionary = read_dictionary(words)
        counts = {"kept": 0, "without_known_word": 0, "words": 0, "known": 0, "swapped": 0}
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
            counts["known"] += known_words(sentence, dictionary)
            counts["swapped"] += swapped
            rows.append((mixed, translation, sentence))
        if not rows:
            raise DataError(f"{path}: the dictionary {words} knows no word of any sentence")
        write_pairs(output / f"{foreign}-{settings.pivot}.{CODE_SWITCHED}.tsv.gz", rows)
        found[foreign] = {"rate": settings.rate, "seed": settings.seed, **counts}
    return found


def collect_graded(settings: GradedSettings, paths: Paths, output: Path) -> dict[str, int]:
    """Write the graded pairs of each language pair."""
    return {
        pair: write_pairs(output / f"{pair}.{settings.kind}.tsv.gz", _graded_rows(files, settings, pair))
        for pair, files in sorted(paths.items())
    }


def collect_nway(settings: NwaySettings, paths: Paths, output: Path) -> dict[str, int]:
    """Write one file; a line that lacks a language is left out, so that all pairs have the same items."""
    languages = sorted(settings.columns)
    rows = _aligned_rows(paths, languages) if settings.by_language else _wide_rows(settings, paths, languages)
    whole = [row for row in rows if all(sentence.strip() for sentence in row)]
    if not whole:
        raise DataError(f"{settings.files}: no line has a sentence in each of {', '.join(languages)}")
    write_pairs(output / NWAY, [languages, *whole])
    return {"kept": len(whole), "incomplete": len(rows) - len(whole)}


def _wide_rows(settings: NwaySettings, paths: Paths, languages: Sequence[str]) -> list[list[str]]:
    """The sentences of each line of a file with a column for each language."""
    ((path,),) = paths.values()
    header, *lines = read_rows(path)
    places = _places(path, header, [settings.columns[language] for language in languages])
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


def _graded_rows(files: Sequence[Path], settings: GradedSettings, pair: str) -> list[list[str]]:
    """Source, target, gold and item of each line, the gold score of an error with the other sign."""
    path, *further = files
    lines = list(read_rows(path))  # all have as many columns as the first
    named = isinstance(settings.columns.source, str)
    for other in further:
        lines = _joined(path, lines, other, named)
    wanted, width = settings.columns.of(*graded_pair(pair)), len(lines[0])
    if named:
        places = _places(path, lines[0], [str(column) for column in wanted])
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


def _places(path: Path, header: list[str], names: Sequence[str]) -> list[int]:
    """Where the first line of a file has these names of columns."""
    if missing := [name for name in names if name not in header]:
        raise DataError(f"{path}: no column {', '.join(missing)}; its columns are {', '.join(header)}")
    return [header.index(name) for name in names]


def _number(text: str, path: Path, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(f"{path}: line {line} has the gold score {text!r}, which is no number")
    return value


def _paths(folder: Path) -> list[Path]:
    """The files of pairs and of text in many languages."""
    paths = sorted([*folder.glob("*-*.tsv.gz"), *folder.glob(NWAY)])
    if not paths and not any((folder / name).is_file() for name in (POOL, LABELLED)):
        raise DataError(f"{folder} holds no benchmark")
    return [path for path in paths if not _kind(path).startswith("mining")]


def _kind(path: Path) -> str:
    return path.name.removesuffix(".tsv.gz").partition(".")[2]


def _read_pairs(path: Path) -> PairSet:
    languages = graded_pair(path.name.partition(".")[0])
    columns = [list(column) for column in zip(*read_rows(path), strict=True)]
    match _kind(path), columns:
        case "", [source, target]:
            return PairSet(path.parent.name, *languages, source, target)
        case "code-switched", [source, target, originals]:
            return PairSet(path.parent.name, *languages, source, target, originals)
        case "sts" | "qe", [source, target, gold, items]:
            scores = [_number(text, path, line) for line, text in enumerate(gold, 1)]
            return PairSet(path.parent.name, *languages, source, target, gold=scores, items=items)
    raise DataError(f"{path}: {len(columns)} columns, which is no kind of benchmark")


def _read_nway(path: Path) -> NwaySet:
    languages, *rows = read_rows(path)
    columns = zip(*rows, strict=True)
    return NwaySet(path.parent.name, {code: list(one) for code, one in zip(languages, columns, strict=True)})
