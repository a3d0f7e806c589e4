"""From raw corpora of one language pair to its train, valid and test split."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import Field

from orthoglot.corpora.benchmarks import sentence_keys
from orthoglot.corpora.bitext import Item, LeftOut, SentencePair, read_pairs, write_pairs
from orthoglot.corpora.cleaning import clean, normalised
from orthoglot.corpora.preparation_settings import CleaningSettings, SplitSettings
from orthoglot.corpora.sources import Source, read_source
from orthoglot.corpora.splitting import SPLITS, Split, order_key, split_of
from orthoglot.errors import DataError
from orthoglot.languages import parse_pair
from orthoglot.settings import Settings

logger = logging.getLogger(__name__)
T = TypeVar("T")


class PrepareSettings(Settings):
    """One language pair: its corpora, filters and splits."""

    pair: str
    sources: Annotated[list[Source], Field(min_length=1)]
    cleaning: CleaningSettings
    splits: SplitSettings


def prepare(settings: PrepareSettings, benchmarks: list[Path], output: Path) -> None:
    """Write train, valid and test.tsv.gz (source TAB target, in hash order) and counts.json.

    Args:
        settings: see the class.
        benchmarks: folders of `benchmarks.collect`; a pair with one of their sentences on either side goes.
        output: an existing folder.
    Raises:
        DataError: unreadable input, or nothing left to train on.
    """
    source, target = parse_pair(settings.pair)
    read: Counter[str] = Counter()
    dropped: Counter[str] = Counter()
    items = chain.from_iterable(
        counted(read_source(origin, source, target), origin.name, read) for origin in settings.sources
    )
    pairs = _pairs(items, dropped)
    overlaps: Counter[str] = Counter()
    kept = clean(pairs, settings.cleaning, source, target, sentence_keys(benchmarks), dropped, overlaps)
    splits = _divided(kept, settings.splits, dropped)
    if not splits["train"]:
        raise DataError(f"{settings.pair}: nothing to train on: read {read.total()}, dropped {dict(dropped)}")
    del dropped["kept"]
    sizes = {split: write_pairs(output / f"{split}.tsv.gz", splits[split]) for split in SPLITS}
    report = {"pair": settings.pair, "in": dict(read), "dropped": dict(dropped), "kept": sizes}
    report["benchmarks"] = {folder.name: overlaps[folder.name] for folder in benchmarks}
    (output / "counts.json").write_text(json.dumps(report, indent=1, sort_keys=True) + "\n")
    logger.info("%s: read %d, kept %s, dropped %s", settings.pair, read.total(), sizes, dict(dropped))


def describe_bitext(folder: Path) -> dict[str, Any]:
    """What a prepared folder's training text is: its `corpora` by name, and `pairs`, how many were kept."""
    counts = json.loads((folder / "counts.json").read_text())
    return {"corpora": sorted(counts["in"]), "pairs": counts["kept"]["train"]}


def read_split(folder: Path, split: Split) -> list[SentencePair]:
    """The pairs of one split of a prepared folder; a held-out split may be empty."""
    return list(stream_split(folder, split))


def stream_split(folder: Path, split: Split) -> Iterator[SentencePair]:
    """The same pairs, one at a time."""
    sizes = json.loads((folder / "counts.json").read_text())["kept"]
    return read_pairs([folder / f"{split}.tsv.gz"]) if sizes[split] else iter(())


def counted(items: Iterable[T], name: str, read: Counter[str]) -> Iterator[T]:
    """The same items; `read` counts them under `name`."""
    for item in items:
        read[name] += 1
        yield item


def _pairs(items: Iterable[Item], dropped: Counter[str]) -> Iterator[SentencePair]:
    """The pairs among the items; the others are counted by reason."""
    for item in items:
        if isinstance(item, LeftOut):
            dropped[item.reason] += 1
        else:
            yield item


def _divided(
    pairs: Iterable[SentencePair], settings: SplitSettings, dropped: Counter[str]
) -> dict[Split, list[SentencePair]]:
    """Pairs by split, each in hash order and limited to its cap; dropped pairs are counted."""
    splits: dict[Split, list[SentencePair]] = {split: [] for split in SPLITS}
    for pair in pairs:
        splits[split_of(pair.source, settings)].append(pair)
    caps = {"train": settings.max_train, "valid": settings.max_valid, "test": settings.max_test}
    for split, members in splits.items():
        members.sort(key=lambda pair: (order_key(pair.source, settings), pair))
        distinct = members if split == "train" else list(_distinct(members))
        dropped["repeated_held_out"] += len(members) - len(distinct)
        splits[split] = distinct[: caps[split] or None]
        dropped["over_cap"] += len(distinct) - len(splits[split])
    return splits


def _distinct(pairs: Iterable[SentencePair]) -> Iterator[SentencePair]:
    """Pairs both of whose sides are new: a held-out sentence has one right answer."""
    sources: set[str] = set()
    targets: set[str] = set()
    for pair in pairs:
        source, target = map(normalised, pair)
        if source not in sources and target not in targets:
            sources.add(source)
            targets.add(target)
            yield pair
