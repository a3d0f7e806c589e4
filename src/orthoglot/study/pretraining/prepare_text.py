"""Text of one language on disk: files of sentences in, cleaned shards out."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import compress, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import numpy as np
from pydantic import Field

from orthoglot.atomic import reserve
from orthoglot.corpora.cleaning import Banned, Cleaner
from orthoglot.corpora.near_duplicates import NearDuplicates
from orthoglot.corpora.settings import CleaningSettings
from orthoglot.corpora.spool import SHARD, Firsts, Shards, counted
from orthoglot.errors import DataError
from orthoglot.languages import parse_pair
from orthoglot.settings import Settings
from orthoglot.study.benchmarks.collected import sentence_keys
from orthoglot.text.bitext import BLOCK, blocks, read_lines
from orthoglot.text.keys import key_of_line, normalised
from orthoglot.text.prepared import stream_split
from orthoglot.text.splitting import Split

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
    """Write shards of sentences, text-00000.txt.zst and so on, and counts.json.

    Memory holds what is banned and, where duplicates are dropped, a 256th of the sentences' hashes; the disk holds
    the text once more, with 17 bytes for each sentence.

    Args:
        settings: Corpora and filters.
        bitext: Prepared pair folders; a sentence that they hold out is dropped, and counted as `held_out`.
        benchmarks: Folders of `benchmarks.collect`; a sentence of theirs is dropped, and counted as `benchmark`.
        output: An existing folder.
    Raises:
        DataError: The input cannot be read, or no sentence is left.
    """
    read: Counter[str] = Counter()
    dropped: Counter[str] = Counter()
    overlaps: Counter[str] = Counter()
    banned: Banned = {
        "benchmark": sentence_keys(benchmarks),
        "held_out": dict.fromkeys(_held_out(bitext, settings.language), ()),
    }
    cleaner = Cleaner(settings.cleaning, (settings.language, ""), banned, dropped, overlaps)

    def cleaned() -> Iterator[tuple[Sequence[str], list[str]]]:
        for origin in settings.sources:
            for lines in blocks(read_lines(Path(origin.path))):
                read[origin.name] += len(lines)
                yield cleaner.sentences(lines)

    with TemporaryDirectory(dir=output, prefix="spool-") as folder:
        written = _write_new(cleaned(), settings.cleaning, Path(folder), output, dropped)
    if not written:
        raise DataError(
            f"{settings.language}: no sentence is left: read {read.total()}, dropped {dict(dropped)}"
        )
    sizes = [min(SHARD, written - start) for start in range(0, written, SHARD)]
    report = {"language": settings.language, "in": dict(read), "dropped": dict(dropped), "shards": sizes}
    report["benchmarks"] = {folder.name: overlaps[folder.name] for folder in benchmarks}
    (output / "counts.json").write_text(json.dumps(report, indent=1, sort_keys=True) + "\n")
    logger.info("%s: read %d, kept %d, dropped %s", settings.language, read.total(), written, dict(dropped))


def _write_new(
    cleaned: Iterator[tuple[Sequence[str], list[str]]],
    settings: CleaningSettings,
    spool: Path,
    output: Path,
    dropped: Counter[str],
) -> int:
    """Write the sentences in their order, those with the key of an earlier one left out; how many there are."""
    firsts, count = Firsts(spool / "firsts"), 0
    threshold = settings.near_duplicates
    similar = NearDuplicates(spool / "similar", threshold) if threshold else None
    with (spool / "text").open("wb") as file:
        for sentences, keys in cleaned:
            file.write("".join(f"{sentence}\n" for sentence in sentences).encode())
            firsts.add(keys)
            if similar:
                similar.add(keys)
            count += len(sentences)
    new = np.ones(count, dtype=bool) if not count else np.memmap(spool / "new", bool, "w+", shape=count)
    if count:
        reserve(spool / "new")
    new[:] = True
    if settings.drop_duplicates:
        firsts.clear_repeated(new)
    left = counted("duplicate", new, count, dropped)
    if similar:
        with (spool / "text").open("rb") as file:
            similar.clear_similar(new, file, key_of_line)
        counted("near_duplicate", new, left, dropped)
    written = Shards(output, "text", "txt")
    with (spool / "text").open("rb") as file:
        for start in range(0, count, BLOCK):
            lines = islice(file, BLOCK)
            written.write([line[:-1] for line in compress(lines, new[start : start + BLOCK].tolist())])
    written.close()
    return written.count


def _held_out(bitext: Sequence[Path], language: str) -> set[str]:
    """Keys of a language's sentences in the parts of the pairs that no training sees."""
    keys: set[str] = set()
    for folder in bitext:
        pair = parse_pair(folder.name)
        if language in pair:
            side = pair.index(language)
            for split in HELD_OUT:
                keys.update(normalised(sentences[side]) for sentences in stream_split(folder, split))
    return keys
