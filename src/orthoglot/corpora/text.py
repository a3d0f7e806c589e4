"""Text of one language on disk: files of sentences in, cleaned shards out."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Annotated

from pydantic import Field

from orthoglot.corpora.benchmarks import sentence_keys
from orthoglot.corpora.bitext import read_lines, write_pairs
from orthoglot.corpora.cleaning import Banned, clean_text, normalised
from orthoglot.corpora.preparation_settings import CleaningSettings
from orthoglot.corpora.prepare import counted, stream_split
from orthoglot.corpora.splitting import Split
from orthoglot.errors import DataError
from orthoglot.languages import parse_pair
from orthoglot.settings import Settings

# Sentences of a shard.
SHARD = 1_000_000
HELD_OUT: tuple[Split, ...] = ("valid", "test")
logger = logging.getLogger(__name__)


class Origin(Settings):
    """A corpus and its file of one language: a sentence a line."""

    name: str
    path: str


class PrepareTextSettings(Settings):
    """Text of one language: its corpora and filters."""

    language: str
    sources: Annotated[list[Origin], Field(min_length=1)]
    cleaning: CleaningSettings


def prepare_text(
    settings: PrepareTextSettings, bitext: Sequence[Path], benchmarks: Sequence[Path], output: Path
) -> None:
    """Write shards of sentences, text-00000.txt.gz and so on, and counts.json.

    Memory holds what is banned and, where duplicates are dropped, a digest of each sentence.

    Args:
        settings: see the class.
        bitext: prepared pair folders; a sentence that they hold out is dropped, and counted as `held_out`.
        benchmarks: folders of `benchmarks.collect`; so is one of theirs, and counted as `benchmark`.
        output: an existing folder.
    Raises:
        DataError: unreadable input, or no sentence is left.
    """
    read: Counter[str] = Counter()
    dropped: Counter[str] = Counter()
    overlaps: Counter[str] = Counter()
    banned: Banned = {
        "benchmark": sentence_keys(benchmarks),
        "held_out": dict.fromkeys(_held_out(bitext, settings.language), ()),
    }
    lines = chain.from_iterable(
        counted(read_lines(Path(origin.path)), origin.name, read) for origin in settings.sources
    )
    sentences = clean_text(lines, settings.cleaning, settings.language, banned, dropped, overlaps)
    shards: list[int] = []
    while True:
        path = output / f"text-{len(shards):05d}.txt.gz"
        if not (written := write_pairs(path, ([one] for one in islice(sentences, SHARD)))):
            path.unlink()
            break
        shards.append(written)
    if not shards:
        raise DataError(
            f"{settings.language}: no sentence is left: read {read.total()}, dropped {dict(dropped)}"
        )
    del dropped["kept"]
    report = {"language": settings.language, "in": dict(read), "dropped": dict(dropped), "shards": shards}
    report["benchmarks"] = {folder.name: overlaps[folder.name] for folder in benchmarks}
    (output / "counts.json").write_text(json.dumps(report, indent=1, sort_keys=True) + "\n")
    logger.info(
        "%s: read %d, kept %d, dropped %s", settings.language, read.total(), sum(shards), dict(dropped)
    )


def stream_text(folder: Path) -> Iterator[str]:
    """The sentences of a prepared text folder, shard by shard."""
    shards = json.loads((folder / "counts.json").read_text())["shards"]
    for number in range(len(shards)):
        yield from read_lines(folder / f"text-{number:05d}.txt.gz")


def describe_text(folder: Path) -> dict[str, object]:
    """What a prepared text folder holds: its `corpora` by name, and `sentences`."""
    counts = json.loads((folder / "counts.json").read_text())
    return {"corpora": sorted(counts["in"]), "sentences": sum(counts["shards"])}


def _held_out(bitext: Sequence[Path], language: str) -> set[str]:
    """Keys of a language's sentences in the parts of the pairs that no training sees."""
    found: set[str] = set()
    for folder in bitext:
        pair = parse_pair(folder.name)
        if language in pair:
            side = pair.index(language)
            for split in HELD_OUT:
                found.update(normalised(sentences[side]) for sentences in stream_split(folder, split))
    return found
