"""Make the train, valid and test split of one language pair out of raw corpora.

`prepare` does it in one process. Several processes may share it: each reads some windows of every source (`add_pairs`),
one chooses the pairs that stay (`choose_pairs`), each writes some of the shards (`pair_spool.write`), and one writes
the counts (`write_counts`). The files are the same to the byte.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Annotated

import numpy as np
from pydantic import Field

from orthoglot.corpora.cleaning import Cleaner
from orthoglot.corpora.pair_spool import COUNTS, PairSpool, choose, write
from orthoglot.corpora.settings import CleaningSettings
from orthoglot.errors import DataError
from orthoglot.formats.base import Source
from orthoglot.formats.sources import read_source, read_windows
from orthoglot.languages import parse_pair
from orthoglot.settings import Settings
from orthoglot.text import shifts
from orthoglot.text.bitext import LeftOut, SentencePair, blocks
from orthoglot.text.splitting import SPLITS, SplitSettings

EMPTY: Mapping[str, tuple[str, ...]] = MappingProxyType({})
logger = logging.getLogger(__name__)


class PrepareSettings(Settings):
    """One language pair: its corpora, filters and splits."""

    pair: str
    sources: Annotated[list[Source], Field(min_length=1)]
    cleaning: CleaningSettings
    splits: SplitSettings


@dataclass
class Tally:
    """What reading some windows of the sources has counted."""

    read: Counter[str] = field(default_factory=Counter)  # by source
    dropped: Counter[str] = field(default_factory=Counter)  # by reason
    overlaps: Counter[str] = field(default_factory=Counter)  # by benchmark
    runs: list[list[shifts.Run]] = field(default_factory=list)  # of each source
    states: list[list[tuple[int, int]]] = field(
        default_factory=list
    )  # of each source: windows, states before them


def prepare(
    settings: PrepareSettings,
    output: Path,
    benchmarks: Sequence[str] = (),
    banned: Mapping[str, tuple[str, ...]] = EMPTY,
) -> None:
    """Write shards of pairs, train-00000.tsv.zst and so on, valid and test alike, and counts.json.

    A line is source TAB target; lines are in the order of a hash of the source. Memory holds the keys of the
    benchmarks, 40,000 pairs, a 256th of the text and of its hashes, and 200 bytes for each held-out pair. The disk
    holds the text once more, with 40 bytes for each pair. `near_duplicates` takes more, see `NearDuplicates`.

    Args:
        settings: The pair, its corpora, filters and splits.
        output: An existing folder.
        benchmarks: The names of test sets.
        banned: {key of a sentence (`normalised`): the test sets that have it}; a pair with one of them on either side
            is dropped.
    Raises:
        DataError: unreadable input, or nothing left to train on.
    """
    with TemporaryDirectory(dir=output, prefix="spool-") as folder:
        spool = PairSpool(Path(folder), settings.splits)
        tallies = [add_pairs(settings, spool, benchmarks, banned)]
        tally = choose_pairs(settings, [spool], tallies, Path(folder))
        written = write([spool], Path(folder), settings.splits, output)
    write_counts(settings, tally, written, output)


def add_pairs(
    settings: PrepareSettings,
    spool: PairSpool,
    benchmarks: Sequence[str] = (),
    banned: Mapping[str, tuple[str, ...]] = EMPTY,
    job: int = 0,
    jobs: int = 1,
) -> Tally:
    """Add the pairs that stay of one job's windows; jobs count from 0. For other arguments see `prepare`.

    A source with `max_pairs` is read by one job.
    """
    tally = Tally()
    languages = parse_pair(settings.pair)
    cleaner = Cleaner(settings.cleaning, languages, {"benchmark": banned}, tally.dropped, tally.overlaps)
    for place, source in enumerate(settings.sources):
        runs: list[shifts.Run] = []
        states = []
        for window in _windows(settings, source, runs, shifts.Turns((job - place) % jobs, jobs)):
            states.append((window.number, window.state))
            tally.read[source.name] += len(window.items)
            for items in blocks(iter(window.items)):
                tally.dropped.update(item.reason for item in items if isinstance(item, LeftOut))
                pairs = [item for item in items if isinstance(item, SentencePair)]
                sides = [pair.source for pair in pairs], [pair.target for pair in pairs]
                spool.add(*cleaner.pairs(sides), place << 40 | window.number)
        tally.runs.append(runs)
        tally.states.append(states)
    tally.overlaps = Counter({name: tally.overlaps[name] for name in benchmarks})
    return tally


def _windows(
    settings: PrepareSettings, source: Source, runs: list[shifts.Run], turns: shifts.Turns
) -> Iterator[shifts.Window]:
    """The windows of a source that are a job's."""
    languages, drop = parse_pair(settings.pair), settings.cleaning.drop_shifted
    realign = settings.cleaning.realign
    if not source.max_pairs:
        judge = partial(shifts.windows_without_runs, runs=runs, realign=realign) if drop else shifts.windows
        return read_windows(source, *languages, partial(judge, turns=turns))
    if turns.job:
        return iter(())
    judge_all = partial(shifts.without_runs, runs=runs, realign=realign) if drop else iter
    return shifts.windows(read_source(source, *languages, judge_all), shifts.Turns())


def choose_pairs(
    settings: PrepareSettings, spools: Sequence[PairSpool], tallies: Sequence[Tally], folder: Path
) -> Tally:
    """Decide which pairs of all jobs stay, see `choose`; the sum of the tallies.

    Raises:
        DataError: nothing is left to train on; or a job did not know whether its lines are parallel.
    """
    tally = Tally()
    for part in tallies:
        for name in ("read", "dropped", "overlaps"):
            getattr(tally, name).update(getattr(part, name))
    for place, source in enumerate(settings.sources):
        states = {state for part in tallies for state in part.states[place]}
        if len(dict(states)) < len(states):
            raise DataError(
                f"{settings.pair}, {source.name}: a job cannot tell whether its first lines are parallel; divide the "
                "pair among more or fewer jobs"
            )
        runs = shifts.joined(chain.from_iterable(part.runs[place] for part in tallies))
        tally.runs.append(runs)
        if runs:
            done = shifts.REALIGNED if settings.cleaning.realign else shifts.LEFT
            logger.warning("%s, %s: %s", settings.pair, source.name, shifts.said(runs, done))
    choose(spools, settings.cleaning, folder, tally.dropped)
    if not np.load(folder / COUNTS)[:, 1].any():
        raise DataError(
            f"{settings.pair}: nothing to train on: read {tally.read.total()}, dropped {dict(tally.dropped)}"
        )
    return tally


def write_counts(settings: PrepareSettings, tally: Tally, written: Mapping[str, int], output: Path) -> None:
    """Write counts.json, of the tallies and of what `write` returns of all jobs together."""
    kept = {split: written[split] for split in SPLITS}
    dropped = {**tally.dropped, **{name: written[name] for name in written.keys() - kept.keys()}}
    runs: dict[str, list[shifts.Run]] = {}
    for source, of_source in zip(settings.sources, tally.runs, strict=True):
        if of_source:
            runs.setdefault(source.name, []).extend(of_source)
    report = {"pair": settings.pair, "in": tally.read, "dropped": dropped, "kept": kept}
    report["runs"] = {name: [run._asdict() for run in of_name] for name, of_name in runs.items()}
    report["benchmarks"] = tally.overlaps
    (output / "counts.json").write_text(json.dumps(report, indent=1, sort_keys=True) + "\n")
    said = [", ".join(f"{n} {name}" for name, n in sorted(counts.items()) if n) for counts in (kept, dropped)]
    logger.info("%s: read %d; kept %s; dropped %s", settings.pair, tally.read.total(), said[0], said[1] or 0)
