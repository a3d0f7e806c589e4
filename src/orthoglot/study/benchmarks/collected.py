"""Test sets that `orthoglot.study.benchmarks.collect` has brought into one layout, read from their folders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Protocol

from orthoglot.errors import DataError
from orthoglot.registry import having
from orthoglot.study.benchmarks import kinds
from orthoglot.study.benchmarks.base import SOURCE
from orthoglot.text.keys import normalised


class TestSet(Protocol):
    """What a set of every kind has; one with `originals` has further sentences that are nowhere else."""

    def sides(self) -> Sequence[tuple[str, Sequence[str]]]:
        """(language, sentences) whose vectors the benchmark needs."""
        ...


def read_source(folder: Path) -> str:
    """Which public test set a folder that `collect` wrote is taken from; "" where its settings do not say."""
    path = folder / SOURCE
    return path.read_text().strip() if path.is_file() else ""


def read_all(folder: Path) -> list[TestSet]:
    """The sets of `stream_all`."""
    return list(stream_all(folder))


def stream_all(folder: Path) -> Iterator[TestSet]:
    """The sets in a folder that `collect` wrote, whatever its kind; of very large ones, one is in memory at a time.

    Raises:
        DataError: the folder holds no benchmark of any kind.
    """
    sets = (test_set for read in having(kinds, "read").values() for test_set in read(folder))
    if (first := next(sets, None)) is None:
        raise DataError(f"{folder} holds no benchmark")
    yield first
    del first
    yield from sets


def benchmark_texts(folders: Iterable[Path]) -> Iterator[tuple[str, str]]:
    """Every (language, sentence) of the benchmarks whose vector they need, as often as it occurs."""
    for folder in folders:
        for test_set in stream_all(folder):
            for language, sentences in test_set.sides():
                yield from ((language, sentence) for sentence in sentences)


def sentence_keys(folders: Iterable[Path]) -> dict[str, tuple[str, ...]]:
    """The key of every sentence of the benchmarks, on either side, and the names of the benchmarks that have it.

    Training text must hold none of them.
    """
    keys: dict[str, tuple[str, ...]] = {}
    names: dict[tuple[str, ...], tuple[str, ...]] = {}  # one of each, however many sentences have it
    for folder in folders:
        for test_set in stream_all(folder):
            sides = [sentences for _, sentences in test_set.sides()]
            for key in map(normalised, chain(*sides, getattr(test_set, "originals", ()))):
                has = keys.get(key, ())
                if folder.name not in has:
                    both = (*has, folder.name)
                    keys[key] = names.setdefault(both, both)
    keys.pop("", None)
    return keys
