"""Retrieval benchmarks: the user's or the invented world's files, brought into one layout."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from orthoglot.atomic import replacing
from orthoglot.corpora.bitext import read_pairs, write_pairs
from orthoglot.corpora.cleaning import normalised
from orthoglot.corpora.settings import BenchmarkSettings
from orthoglot.errors import ConfigError, DataError
from orthoglot.languages import canonical, parse_pair


@dataclass(frozen=True)
class RetrievalSet:
    """One language pair of a benchmark; row n of one side translates row n of the other."""

    name: str
    foreign: str
    pivot: str
    foreign_sentences: list[str]
    pivot_sentences: list[str]


def collect(settings: BenchmarkSettings, raw: Path | None, output: Path) -> None:
    """Write <foreign>-<pivot>.tsv.gz for every language of a benchmark, and counts.json.

    Args:
        settings: where the files are, how they spell languages.
        raw: the invented world's folder; for its own set only.
        output: an existing folder.
    Raises:
        DataError: a language has no file; the message names all of them.
    """
    pivot = canonical(settings.pivot)
    paths = {canonical(code): _path(settings, raw, code) for code in settings.languages}
    missing = {code: path for code, path in paths.items() if not path.is_file()}
    if missing:
        example = next(iter(missing.values()))
        raise DataError(f"the benchmark has no file for {', '.join(missing)}, e.g. {example}")
    counts = {}
    for foreign, path in sorted(paths.items()):
        parse_pair(f"{foreign}-{pivot}")
        counts[foreign] = write_pairs(output / f"{foreign}-{pivot}.tsv.gz", read_pairs([path]))
    with replacing(output / "counts.json") as partial:
        partial.write_text(json.dumps(counts, indent=1, sort_keys=True) + "\n")


def read_benchmark(folder: Path) -> list[RetrievalSet]:
    """The sets of a folder that `collect` wrote, by language."""
    paths = sorted(folder.glob("*-*.tsv.gz"))
    if not paths:
        raise DataError(f"{folder} holds no benchmark")
    return [_read_set(path) for path in paths]


def sentence_keys(folders: Iterable[Path]) -> set[str]:
    """The keys of every sentence of the benchmarks, on either side: what training text must not hold."""
    keys = {
        normalised(sentence)
        for folder in folders
        for retrieval_set in read_benchmark(folder)
        for sentence in retrieval_set.foreign_sentences + retrieval_set.pivot_sentences
    }
    return keys - {""}


def _path(settings: BenchmarkSettings, raw: Path | None, code: str) -> Path:
    if settings.kind == "mini":
        if raw is None:
            raise ConfigError("a benchmark of kind 'mini' needs the invented world's folder")
        return raw / "retrieval" / f"{canonical(code)}-{canonical(settings.pivot)}.tsv.gz"
    return Path(settings.path(code))


def _read_set(path: Path) -> RetrievalSet:
    foreign, pivot = parse_pair(path.name.removesuffix(".tsv.gz"))
    pairs = list(read_pairs([path]))
    return RetrievalSet(
        path.parent.name, foreign, pivot, [pair.source for pair in pairs], [pair.target for pair in pairs]
    )
