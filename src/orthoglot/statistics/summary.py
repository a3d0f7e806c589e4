"""Make records of per-item scores: means over directions, language pairs and seeds, each with an interval."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from orthoglot import receipts
from orthoglot.errors import DataError
from orthoglot.random_streams import derive
from orthoglot.statistics.intervals import Interval, jackknife, percentile, proportion
from orthoglot.statistics.records import ALL, P_AT_1, PROPORTIONS, TRANSFER, Record, stated
from orthoglot.statistics.resampling import Scores, SharedColumns, left_out, mean_of, pool, resample
from orthoglot.statistics.settings import ResamplingSettings
from orthoglot.statistics.weighted import MEASURES, Metric

logger = logging.getLogger(__name__)

Facts = Mapping[str, object]


class Key(NamedTuple):
    """What an array of scores belongs to; `measure` says which statistics are taken of it (`MEASURES`)."""

    task: str
    dataset: str
    subset: str
    view: str
    seed: int
    measure: str = P_AT_1

    @property
    def pair(self) -> str:
        """The language pair, whichever the direction, if the two directions share their sentences."""
        if self.task in TRANSFER:
            return self.subset
        return "-".join(sorted(self.subset.split("->")))


Scored = dict[Key, Scores]


class Blocks(NamedTuple):
    """Metrics of n items and the same without each of B blocks of them, for the jackknife."""

    values: dict[str, float]  # {metric: number}
    without: dict[str, np.ndarray]  # {metric: (B,)}; a metric that is not in it has no interval
    ends: dict[str, tuple[float, float]]  # {metric: least and greatest value that it can have}
    n: int  # items


def summarise(
    scored: Scored,
    facts: Mapping[Key, Facts],
    settings: ResamplingSettings,
    *,
    encoder: str,
    method: str,
    made: Facts,
    measures: Mapping[str, tuple[Metric, ...]] = MEASURES,
    blocks: Mapping[Key, Blocks] | None = None,
) -> list[Record]:
    """Records of each subset and of their mean, for each seed and for the mean over seeds.

    Args:
        scored: All scores of one encoder and method.
        facts: What the tasks state of each.
        settings: Resampling.
        encoder: Its name.
        method: Its name.
        made: Facts that all records state, e.g. the encoder's identity.
        measures: The metrics of each measure.
        blocks: Metrics with a jackknife interval; a value that is not finite has no record.
    """
    label = f"{encoder} {method}"
    numbers = [
        *_shares(scored, settings),
        *_statistics(scored, settings, measures, label),
        *_jackknifed(blocks or {}, settings, label),
    ]
    records = []
    for number in numbers:
        first, interval = number.keys[0], number.interval
        # The sum leaves no -0.0; NaN stands for the end of an interval that there is not.
        value, low, high = (
            None if np.isnan(end) else round(number.scale * end, 6) + 0.0 for end in interval[:3]
        )
        assert value is not None
        counted: dict[str, object] = {"seeds": ",".join(map(str, sorted({key.seed for key in number.keys})))}
        if first in scored:
            missing = sum(int(left_out(scored[key].values).sum()) for key in number.keys)
            counted |= {"left_out": missing, "units": interval.units}
        about = combine([facts[key] for key in number.keys])
        records.append(
            Record(
                task=first.task,
                dataset=first.dataset,
                subset=number.subset,
                view=first.view,
                encoder=encoder,
                method=method,
                seed=number.seed,
                metric=number.metric,
                value=value,
                low=low,
                high=high,
                n=interval.n,
                facts=stated(about, counted, number.facts, made),
            )
        )
    return records


class _Number(NamedTuple):
    """A statistic with its interval, what it was taken of, and facts on how."""

    keys: list[Key]
    subset: str
    seed: int | None
    metric: str
    scale: float
    interval: Interval
    facts: Facts


def _shares(scored: Scored, settings: ResamplingSettings) -> Iterator[_Number]:
    """Shares of hits, pooled over directions and seeds item by item."""
    procedure = {"interval": "wilson", "clusters": "pivot-sentences", "confidence": settings.confidence}
    tables: dict[tuple[str, str, str, str, int | None], list[Key]] = defaultdict(list)
    for key in scored:
        if key.measure in PROPORTIONS:
            for subset in dict.fromkeys((key.subset, ALL)):
                for seed in (key.seed, None):
                    tables[key.task, key.dataset, subset, key.view, seed].append(key)
    for (task, _, subset, _, seed), keys in tables.items():
        # Sentence pairs, not queries, are the items of a mean: the two directions of a pair share their sentences.
        pairs: dict[str, list[Scores]] = defaultdict(list)
        for key in keys:
            pairs[f"{task} {subset} {key.pair}"].append(scored[key])
        strata = {name: pool(scores) for name, scores in pairs.items()}
        interval = proportion(strata, confidence=settings.confidence)
        yield _Number(keys, subset, seed, keys[0].measure, 100, interval, procedure)


def _statistics(
    scored: Scored, settings: ResamplingSettings, measures: Mapping[str, tuple[Metric, ...]], label: str
) -> Iterator[_Number]:
    """Every other statistic: of each subset and seed, then the mean over seeds and subsets.

    All columns of a task and data set share their draws.
    """
    procedure = {
        "interval": "bootstrap-percentile",
        "resampled": "pivot-sentences",
        "resamples": settings.resamples,
        "confidence": settings.confidence,
        "resampling_seed": settings.seed,
    }
    groups: dict[tuple[str, str], list[Key]] = defaultdict(list)
    for key in scored:
        if key.measure not in PROPORTIONS:
            groups[key.task, key.dataset].append(key)
    for (task, dataset), keys in groups.items():
        columns = SharedColumns()
        tables: dict[tuple[Metric, str, str, int | None], tuple[list[Key], dict[str, list[int]]]] = {}
        for key in keys:
            for metric in measures[key.measure]:
                number = columns.add(f"{label} {task} {key.subset} {key.view}", scored[key], metric)
                for subset in dict.fromkeys((key.subset, ALL)):
                    for seed in (key.seed, None):
                        table_keys, members = tables.setdefault((metric, subset, key.view, seed), ([], {}))
                        table_keys.append(key)
                        members.setdefault(key.pair, []).append(number)
        generator = np.random.default_rng(derive(settings.seed, task, dataset, "statistics"))
        resampled = resample(columns.columns, resamples=settings.resamples, generator=generator)
        constant: dict[tuple[str, str], set[str]] = defaultdict(set)
        for (metric, subset, view, seed), (table_keys, members) in tables.items():
            value, draws, undefined = mean_of(resampled, members)
            if draws is None:
                constant[view, metric.name].add(subset)
                continue
            item_keys = [columns.keys(numbers) for numbers in members.values()]
            interval = percentile(value, draws, confidence=settings.confidence, keys=item_keys)
            facts = {"undefined": undefined, **procedure}
            yield _Number(table_keys, subset, seed, metric.name, metric.scale, interval, facts)
        for (view, name), subsets in constant.items():
            places = ", ".join(sorted(subsets))
            logger.warning(
                "%s %s %s, %s: the %s is undefined (a constant, or nothing to share), in %s",
                *(label, task, dataset, view, name, places),
            )


def _jackknifed(blocks: Mapping[Key, Blocks], settings: ResamplingSettings, label: str) -> Iterator[_Number]:
    """Metrics of each seed and of the mean over seeds."""
    procedure = {
        "interval": "jackknife",
        "deleted": "sentences",
        "confidence": settings.confidence,
        "blocks_seed": settings.seed,
    }
    groups: dict[Key, list[Key]] = defaultdict(list)
    for key in blocks:
        groups[key._replace(seed=-1)].append(key)
    for first, keys in groups.items():
        for metric in blocks[keys[0]].values:
            if not np.isfinite([blocks[key].values[metric] for key in keys]).all():
                place = " ".join((first.task, first.dataset, first.subset, first.view, label))
                logger.warning("%s: translations are one vector, so there is no %s", place, metric)
                continue
            for seed, seed_keys in [*((key.seed, [key]) for key in keys), (None, keys)]:
                parts = [blocks[key] for key in seed_keys]
                value = float(np.mean([part.values[metric] for part in parts]))
                interval = Interval(value, np.nan, np.nan, parts[0].n, parts[0].n)
                facts: Facts = {"interval": "none"}
                if metric in parts[0].without:
                    without = np.mean([part.without[metric] for part in parts], axis=0)
                    low, high = np.clip(
                        jackknife(value, without, settings.confidence), *parts[0].ends[metric]
                    )
                    interval = interval._replace(low=float(low), high=float(high))
                    facts = {**procedure, "blocks": len(without)}
                yield _Number(seed_keys, first.subset, seed, metric, 1, interval, facts)


def combine(facts: Sequence[Facts]) -> dict[str, object]:
    """Facts of several subsets as one: shared ones as they are, chance as its mean, the rest as a range."""
    combined: dict[str, object] = {}
    for key in facts[0]:
        values = [fact[key] for fact in facts]
        numbers = [value for value in values if isinstance(value, int | float)]
        if len(set(values)) == 1:
            combined[key] = values[0]
        elif key == "chance":
            combined[key] = round(float(np.mean(numbers)), 6)
        elif numbers:
            combined[key] = f"{min(numbers)}-{max(numbers)}"
        else:
            combined[key] = f"{len(set(values))}-in-all"
    return combined


def write_scores(path: Path, scored: Scored) -> None:
    """Write scores under "task|dataset|subset|view|seed|measure", their keys under "task|dataset|pair|measure"."""
    arrays = {"|".join(map(str, key)): scores.values for key, scores in scored.items()}
    arrays |= {"|".join(_name_of_keys(key)): scores.keys for key, scores in scored.items()}
    np.savez_compressed(path, allow_pickle=False, **arrays)


def read_scores(path: Path) -> Scored:
    """Read the scores that `write_scores` wrote.

    Raises:
        DataError: absent, damaged, or not as the job of this folder wrote it.
    """
    receipts.check_whole(path)
    scored = {}
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {tuple(name.split("|")): stored[name] for name in stored.files}
        for name, values in arrays.items():
            if len(name) == len(Key._fields):
                task, dataset, subset, view, seed, measure = name
                key = Key(task, dataset, subset, view, int(seed), measure)
                scored[key] = Scores(values, arrays[_name_of_keys(key)])
    except Exception as error:  # a damaged archive raises errors of many types
        raise DataError(f"{path}: holds no scores ({error})") from error
    return scored


def _name_of_keys(key: Key) -> tuple[str, ...]:
    return key.task, key.dataset, key.pair, key.measure
