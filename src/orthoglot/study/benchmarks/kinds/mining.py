"""Two lists of sentences of which some translate each other, as in BUCC: files in, one layout out.

A folder has `de-en.mining.tsv.gz` and, where there is a set for thresholds, `de-en.mining-train.tsv.gz`. Each line has
a side ("source" or "target"), a sentence and, of a source sentence, the numbers of its translations among the targets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from orthoglot.errors import DataError
from orthoglot.languages import parse_pair
from orthoglot.study.benchmarks.base import Benchmark, Paths, Takes, taken
from orthoglot.study.corpora.patterns import MINI, filled
from orthoglot.text.bitext import read_rows, write_pairs

TEST, TRAIN = "mining", "mining-train"


class MiningSettings(Benchmark):
    """Two lists of sentences, of which some translate each other: BUCC.

    Source: docs/papers.md#protocol-bucc.
    """

    kind: Literal["mining"]
    files: str
    """A TSV file of ids and sentences, plain, .gz or .zst; `{name}` stands for a language pair, `{language}` for
    one of its languages, `{mini}` for the folder of the invented languages."""
    gold: str
    """A TSV file of pairs of ids, source first; `{name}` stands for a language pair."""
    train_files: str = ""
    """As `files`, of the set on which thresholds are learnt; without one, each half of the sentences learns them
    for the other half."""
    train_gold: str = ""
    """As `gold`, of that set."""
    pairs: Annotated[list[str], Field(min_length=1)]
    """Language pairs, such as de-en."""

    @model_validator(mode="after")
    def _pairs_have_files(self) -> Self:
        if bool(self.train_files) != bool(self.train_gold):
            raise ValueError("train_files, train_gold: give both or none")
        paths = self.paths()
        if len({*map(tuple, paths.values())}) < len(self.pairs):
            raise ValueError("pairs, files: the same for two pairs; tell them apart by {name}")
        if any(len(set(files)) < len(files) for files in paths.values()):
            raise ValueError("files: the same for two sides; tell them apart by {language}")
        return self

    @property
    def codes(self) -> set[str]:
        return {code for pair in self.pairs for code in parse_pair(pair)}

    def within(self, takes: Takes) -> Self | None:
        return self._narrowed(pairs=taken(self.pairs, lambda pair: takes(*parse_pair(pair))))

    def paths(self, world: str = MINI) -> dict[str, list[str]]:
        """Source, target and gold of each pair, then the same of the set for thresholds; see `Benchmark.paths`."""
        sets = [(self.files, self.gold, "files", "gold")]
        if self.train_files:
            sets.append((self.train_files, self.train_gold, "train_files", "train_gold"))
        paths: dict[str, list[str]] = {}
        for pair in self.pairs:
            for files, gold, name, name_of_gold in sets:
                sides = [
                    filled(files, name, name=pair, language=code, mini=world) for code in parse_pair(pair)
                ]
                paths.setdefault(pair, []).extend([*sides, filled(gold, name_of_gold, name=pair, mini=world)])
        return paths


SETTINGS = MiningSettings


@dataclass(frozen=True)
class MiningSet:
    """Distinct sentences of two languages."""

    name: str  # of the benchmark
    source: str  # code of the first language
    target: str  # code of the second language
    source_sentences: Sequence[str]  # of the first language, N
    target_sentences: Sequence[str]  # of the second language, M
    gold: Sequence[tuple[int, int]]  # (row among the N, row among the M) of each pair of translations
    train: MiningSet | None = None  # the set on which thresholds are learnt

    @property
    def pair(self) -> str:
        """The language pair, "source-target"."""
        return f"{self.source}-{self.target}"

    def sides(self) -> tuple[tuple[str, Sequence[str]], ...]:
        """(language, sentences) whose vectors the benchmark needs."""
        sides = (self.source, self.source_sentences), (self.target, self.target_sentences)
        return sides + (self.train.sides() if self.train else ())


def collect(settings: MiningSettings, paths: Paths, output: Path) -> dict[str, dict[str, int]]:
    """Write the sets of each language pair.

    The same text twice on a side is one sentence, and its pairs are counted once.

    Raises:
        DataError: a line without a sentence, an id twice, a gold pair that names no sentence, or no gold pair.
    """
    counts = {}
    for pair, files in sorted(paths.items()):
        for kind, three in zip((TEST, TRAIN), (files[:3], files[3:]), strict=True):
            if three:
                counts[f"{pair} {kind}"] = _collect(three, output / f"{pair}.{kind}.tsv.gz")
    return counts


def read(folder: Path) -> list[MiningSet]:
    """The sets in a folder that `collect` wrote, by language pair; none in one of another kind."""
    sets = []
    for path in sorted(folder.glob(f"*-*.{TEST}.tsv.gz")):
        train = path.with_name(path.name.replace(f".{TEST}.", f".{TRAIN}."))
        sets.append(_read_set(path, _read_set(train, None) if train.is_file() else None))
    return sets


def _collect(files: Sequence[Path], output: Path) -> dict[str, int]:
    *sides, gold_file = files
    lines, rows, numbers = [], [], []
    for path in sides:
        ids: dict[str, int] = {}
        texts: dict[str, int] = {}
        for line, (name, text) in enumerate(read_rows(path, 2), 1):
            if not text.strip() or name in ids:
                what = "no sentence" if name not in ids else f"the id {name!r} again"
                raise DataError(f"{path}: line {line} has {what}")
            ids[name] = texts.setdefault(text, len(texts))
        lines.append(len(ids))
        rows.append(texts)
        numbers.append(ids)
    gold: dict[tuple[int, int], None] = {}
    pairs = list(read_rows(gold_file, 2))
    for line, names in enumerate(pairs, 1):
        for name, ids, path in zip(names, numbers, sides, strict=True):
            if name not in ids:
                raise DataError(f"{gold_file}: line {line} names {name!r}, which {path} has not")
        gold[numbers[0][names[0]], numbers[1][names[1]]] = None
    partners: dict[int, list[int]] = {}
    for source, target in gold:
        partners.setdefault(source, []).append(target)
    sources = [
        ("source", text, " ".join(map(str, sorted(partners.get(row, []))))) for text, row in rows[0].items()
    ]
    write_pairs(output, [*sources, *(("target", text, "") for text in rows[1])])
    return {
        "sources": len(rows[0]),
        "targets": len(rows[1]),
        "repeated": sum(lines) - len(rows[0]) - len(rows[1]),
        "gold": len(gold),
        "gold_repeated": len(pairs) - len(gold),
    }


def _read_set(path: Path, train: MiningSet | None) -> MiningSet:
    sentences: dict[str, list[str]] = {"source": [], "target": []}
    gold = []
    for side, text, partners in read_rows(path, 3):
        if side == "source":
            gold += [(len(sentences[side]), int(target)) for target in partners.split()]
        sentences[side].append(text)
    languages = parse_pair(path.name.partition(".")[0])
    return MiningSet(path.parent.name, *languages, sentences["source"], sentences["target"], gold, train)
