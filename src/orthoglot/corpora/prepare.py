"""Make the train, valid and test split of one language pair out of raw corpora."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Annotated

from pydantic import Field

from orthoglot.corpora.cleaning import Cleaner
from orthoglot.corpora.pair_spool import PairSpool
from orthoglot.corpora.settings import CleaningSettings
from orthoglot.errors import DataError
from orthoglot.formats.base import Source
from orthoglot.formats.sources import read_source
from orthoglot.languages import parse_pair
from orthoglot.settings import Settings
from orthoglot.text.bitext import LeftOut, SentencePair, blocks
from orthoglot.text.shifts import LEFT, REALIGNED, Run, said, without_runs
from orthoglot.text.splitting import SplitSettings

EMPTY: Mapping[str, tuple[str, ...]] = MappingProxyType({})
logger = logging.getLogger(__name__)


class PrepareSettings(Settings):
    """One language pair: its corpora, filters and splits."""

    pair: str
    sources: Annotated[list[Source], Field(min_length=1)]
    cleaning: CleaningSettings
    splits: SplitSettings


def prepare(
    settings: PrepareSettings,
    output: Path,
    benchmarks: Sequence[str] = (),
    banned: Mapping[str, tuple[str, ...]] = EMPTY,
) -> None:
    """Write shards of pairs, train-00000.tsv.zst and so on, valid and test alike, and counts.json.

    A line is source TAB target; lines are in the order of a hash of the source. Memory holds the keys of the
    benchmarks, 40,000 pairs, a 256th of the text and of its hashes, and 200 bytes for each held-out pair. The disk
    holds the text once more, with 50 bytes for each pair. `near_duplicates` takes more, see `NearDuplicates`.

    Args:
        settings: The pair, its corpora, filters and splits.
        output: An existing folder.
        benchmarks: The names of test sets.
        banned: {key of a sentence (`normalised`): the test sets that have it}; a pair with one of them on either side
            is dropped.
    Raises:
        DataError: unreadable input, or nothing left to train on.
    """
    read: Counter[str] = Counter()
    dropped: Counter[str] = Counter()
    overlaps: Counter[str] = Counter()
    runs: dict[str, list[Run]] = {}
    languages = parse_pair(settings.pair)
    with TemporaryDirectory(dir=output, prefix="spool-") as folder:
        cleaner = Cleaner(settings.cleaning, languages, {"benchmark": banned}, dropped, overlaps)
        spool = PairSpool(Path(folder), settings.cleaning, settings.splits)
        for origin in settings.sources:
            source_runs: list[Run] = []
            judge = partial(without_runs, runs=source_runs, realign=settings.cleaning.realign)
            stream = read_source(origin, *languages, judge if settings.cleaning.drop_shifted else iter)
            for items in blocks(stream):
                read[origin.name] += len(items)
                dropped.update(item.reason for item in items if isinstance(item, LeftOut))
                pairs = [item for item in items if isinstance(item, SentencePair)]
                spool.add(*cleaner.pairs(([pair.source for pair in pairs], [pair.target for pair in pairs])))
            if source_runs:
                runs.setdefault(origin.name, []).extend(source_runs)
                done = REALIGNED if settings.cleaning.realign else LEFT
                logger.warning("%s, %s: %s", settings.pair, origin.name, said(source_runs, done))
        kept = spool.choose(dropped)
        sizes = spool.write(kept, dropped, output)
        del kept
    if not sizes["train"]:
        raise DataError(f"{settings.pair}: nothing to train on: read {read.total()}, dropped {dict(dropped)}")
    report = {"pair": settings.pair, "in": dict(read), "dropped": dict(dropped), "kept": sizes}
    report["runs"] = {name: [run._asdict() for run in source_runs] for name, source_runs in runs.items()}
    report["benchmarks"] = {name: overlaps[name] for name in benchmarks}
    (output / "counts.json").write_text(json.dumps(report, indent=1, sort_keys=True) + "\n")
    logger.info("%s: read %d, kept %s, dropped %s", settings.pair, read.total(), sizes, dict(dropped))
