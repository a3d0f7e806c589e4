"""Benchmarks of any kind: the user's or the invented world's files brought into one layout.

Each kind is a module of `orthoglot.study.benchmarks.kinds`, which says what its folder holds.
"""

from __future__ import annotations

import json
from pathlib import Path

from orthoglot.errors import ConfigError, DataError
from orthoglot.registry import load
from orthoglot.study.benchmarks import kinds
from orthoglot.study.benchmarks.base import SOURCE, Benchmark
from orthoglot.study.corpora.patterns import here


def collect(settings: Benchmark, raw: Path | None, output: Path, fetched: Path | None = None) -> None:
    """Write one file for every language pair of a benchmark, or for all its languages, counts.json and source.txt.

    Args:
        settings: where the files are, how they spell languages.
        raw: the invented world's folder; for benchmarks of its text only.
        output: an existing folder.
        fetched: the folder of files that have addresses, see `orthoglot.study.fetching.files.fetch`, or of archives of
            OPUS, see `orthoglot.study.fetching.opus.fetch`.
    Raises:
        ConfigError: the invented world's files, or files that are fetched, are wanted and there is no such folder.
        DataError: a language has no file (the message names all of them), or a file is not as it should be.
    """
    if settings.invented and raw is None:
        raise ConfigError(f"a benchmark of kind {settings.kind!r} needs the invented world's folder")
    if settings.release and fetched is None:
        raise ConfigError(f"{settings.release.corpus} {settings.release.version} of OPUS was not fetched")
    if settings.addresses and fetched is None:
        raise ConfigError(f"{settings.addresses[0]} was not fetched")

    paths = {
        name: [Path(here(file, str(fetched))) for file in files]
        for name, files in settings.paths(str(raw or "")).items()
    }
    if missing := [(name, path) for name in paths for path in paths[name] if not path.is_file()]:
        names = dict.fromkeys(name for name, _ in missing)
        raise DataError(f"the benchmark has no file for {', '.join(names)}, e.g. {missing[0][1]}")
    counts = load(kinds, settings.kind).collect(settings, paths, output)
    (output / "counts.json").write_text(json.dumps(counts, indent=1, sort_keys=True) + "\n")
    if settings.source:
        (output / SOURCE).write_text(settings.source + "\n")
