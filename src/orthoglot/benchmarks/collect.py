"""Benchmarks of any kind: the user's or the invented world's files brought into one layout, and read from there.

Each kind is a module of `orthoglot.benchmarks.kinds`, which says what its folder holds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Protocol

from orthoglot.benchmarks import kinds
from orthoglot.benchmarks.base import Benchmark
from orthoglot.errors import ConfigError, DataError
from orthoglot.registry import having, load
from orthoglot.text.keys import normalised

SOURCE = "source.txt"


class TestSet(Protocol):
    """What a set of every kind has; one with `originals` has further sentences that are nowhere else."""

    def sides(self) -> Sequence[tuple[str, Sequence[str]]]:
        """(language, sentences) whose vectors the benchmark needs."""
        ...


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
    counts = load(kinds, settings.kind).collect(settings, paths, output)
    (output / "counts.json").write_text(json.dumps(counts, indent=1, sort_keys=True) + "\n")
    if settings.source:
        (output / SOURCE).write_text(settings.source + "\n")


def read_source(folder: Path) -> str:
    """Which public test set a folder that `collect` wrote is taken from; "" where its settings do not say."""
    path = folder / SOURCE
    return path.read_text().strip() if path.is_file() else ""


def read_all(folder: Path) -> list[TestSet]:
    """The sets in a folder that `collect` wrote, whatever its kind.

    Raises:
        DataError: the folder holds no benchmark of any kind.
    """
    sets = [one for read in having(kinds, "read").values() for one in read(folder)]
    if not sets:
        raise DataError(f"{folder} holds no benchmark")
    return sets


def sentence_keys(folders: Iterable[Path]) -> dict[str, tuple[str, ...]]:
    """The key of every sentence of the benchmarks, on either side, and the names of the benchmarks that have it.

    Training text must hold none of them.
    """
    keys: dict[str, tuple[str, ...]] = {}
    names: dict[tuple[str, ...], tuple[str, ...]] = {}  # one of each, however many sentences have it
    for folder in folders:
        for one in read_all(folder):
            sides = [sentences for _, sentences in one.sides()]
            for key in map(normalised, chain(*sides, getattr(one, "originals", ()))):
                has = keys.get(key, ())
                if folder.name not in has:
                    both = (*has, folder.name)
                    keys[key] = names.setdefault(both, both)
    keys.pop("", None)
    return keys
