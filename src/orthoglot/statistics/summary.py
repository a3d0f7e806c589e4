"""From per-item scores to records: means over directions, language pairs and seeds, each with an interval."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from orthoglot import receipts
from orthoglot.errors import DataError
from orthoglot.statistics.intervals import Interval, jackknife, percentile, proportion
from orthoglot.statistics.records import ALL, P_AT_1, PROPORTIONS, TRANSFER, Record, sign
from orthoglot.statistics.resampling import Scores, SharedColumns, left_out, mean_of, pool, resample
from orthoglot.statistics.settings import ResamplingSettings
from orthoglot.statistics.weighted import MEASURES, Metric
from orthoglot.streams import derive

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
    """Metrics of n items and the same without each of B blocks of them, for the jackknife.

    Attributes:
        values: {metric: number}.
        without: {metric: (B,)}; a metric that is not in it has no interval.
        ends: {metric: least and greatest value that it can have}.
        n: items.
    """

    values: dict[str, float]
    without: dict[str, np.ndarray]
    ends: dict[str, tuple[float, float]]
    n: int


def summarise(
    scored: Scored,
    facts: Mapping[Key, Facts],
    settings: ResamplingSettings,
    *,
    encoder: str,
    method: str,
    made: Facts,
    measures: Mapping[str, tuple[Metric, ...]] = MEASURES,
) -> list[Record]:
    """Records of each subset and of their mean, for each seed and for the mean over seeds.

    Args:
        scored: all of one encoder and method.
        facts: what the tasks state of each.
        settings: resampling.
        encoder: name.
        method: name.
        made: ends the signature, e.g. the encoder's identity.
        measures: what is computed of the scores of each measure.
    """
    found = [
        *_shares(scored, settings),
        *_statistics(scored, settings, measures, f"{encoder} {method}"),
    ]
    records = []
    for one in found:
        first = one.keys[0]
        value, low, high = (round(one.scale * number, 6) + 0.0 for number in one.interval[:3])  # no -0.0
        counted = {
            "left_out": sum(int(left_out(scored[key].values).sum()) for key in one.keys),
            "seeds": ",".join(map(str, sorted({key.seed for key in one.keys}))),
            "units": one.interval.units,
        }
        about = combine([facts[key] for key in one.keys])
        records.append(
            Record(
                task=first.task,
                dataset=first.dataset,
                subset=one.subset,
                view=first.view,
                encoder=encoder,
                method=method,
                seed=one.seed,
                metric=one.metric,
                value=value,
                low=low,
                high=high,
                n=one.interval.n,
                signature=sign({"metric": one.metric, **about, **one.facts, **counted, **one.how, **made}),
            )
        )
    return records


def summarise_blocks(
    found: Mapping[Key, Blocks],
    facts: Mapping[Key, Facts],
    settings: ResamplingSettings,
    *,
    encoder: str,
    method: str,
    made: Facts,
) -> list[Record]:
    """Records of metrics with a jackknife interval, for each seed and for the mean over seeds.

    Args:
        found: metrics of one encoder and method; a value that is not finite has no record.
        facts: what the task states of each.
        settings: confidence and the seed of the blocks.
        encoder: name.
        method: name.
        made: ends the signature.
    """
    groups: dict[Key, list[Key]] = defaultdict(list)
    for key in found:
        groups[key._replace(seed=-1)].append(key)
    records = []
    for first, keys in groups.items():
        about = first.task, first.dataset, first.subset, first.view, encoder, method
        for metric in found[keys[0]].values:
            if not np.isfinite([found[key].values[metric] for key in keys]).all():
                logger.warning("%s: translations are one vector, so there is no %s", " ".join(about), metric)
                continue
            for seed, own in [*((key.seed, [key]) for key in keys), (None, keys)]:
                parts = [found[key] for key in own]
                value = float(np.mean([part.values[metric] for part in parts]))
                low, high = None, None
                how: dict[str, object] = {"interval": "none"}
                if metric in parts[0].without:
                    without = np.mean([part.without[metric] for part in parts], axis=0)
                    least, most = parts[0].ends[metric]
                    ends = jackknife(value, without, settings.confidence)
                    low, high = (round(min(max(end, least), most), 6) for end in ends)
                    how = {"interval": "jackknife", "deleted": "sentences", "blocks": len(without)}
                    how |= {"confidence": settings.confidence, "blocks_seed": settings.seed}
                trained = {"seeds": ",".join(str(key.seed) for key in own)}
                signature = sign({"metric": metric, **facts[keys[0]], **made, **trained, **how})
                n = parts[0].n
                records.append(Record(*about, seed, metric, round(value, 6), low, high, n, signature))
    return records


class _Number(NamedTuple):
    """A statistic with its interval, and the scores that it was taken of."""

    keys: list[Key]
    subset: str
    seed: int | None
    metric: str
    scale: float
    interval: Interval
    facts: Facts
    how: Facts


def _shares(scored: Scored, settings: ResamplingSettings) -> Iterator[_Number]:
    """Shares of hits, pooled over directions and seeds item by item."""
    how = {"interval": "wilson", "clusters": "pivot-sentences", "confidence": settings.confidence}
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
        strata = {name: pool(found) for name, found in pairs.items()}
        interval = proportion(strata, confidence=settings.confidence)
        yield _Number(keys, subset, seed, keys[0].measure, 100, interval, {}, how)


def _statistics(
    scored: Scored, settings: ResamplingSettings, measures: Mapping[str, tuple[Metric, ...]], label: str
) -> Iterator[_Number]:
    """Every other statistic: of each subset and seed, then the mean over seeds and subsets.

    All columns of a task and data set share their draws.
    """
    how = {
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
                        own, members = tables.setdefault((metric, subset, key.view, seed), ([], {}))
                        own.append(key)
                        members.setdefault(key.pair, []).append(number)
        generator = np.random.default_rng(derive(settings.seed, task, dataset, "statistics"))
        found = resample(columns.found, resamples=settings.resamples, generator=generator)
        constant: dict[tuple[str, str], set[str]] = defaultdict(set)
        for (metric, subset, view, seed), (own, members) in tables.items():
            value, draws, undefined = mean_of(found, members)
            if draws is None:
                constant[view, metric.name].add(subset)
                continue
            item_keys = [columns.keys(numbers) for numbers in members.values()]
            one = percentile(value, draws, confidence=settings.confidence, keys=item_keys)
            facts = {"undefined": undefined}
            yield _Number(own, subset, seed, metric.name, metric.scale, one, facts, how)
        for (view, name), subsets in constant.items():
            where = ", ".join(sorted(subsets))
            logger.warning(
                "%s %s %s, %s: the %s is undefined (a constant, or nothing to share), in %s",
                *(label, task, dataset, view, name, where),
            )


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
    arrays = {"|".join(map(str, key)): found.values for key, found in scored.items()}
    arrays |= {"|".join(_name_of_keys(key)): found.keys for key, found in scored.items()}
    np.savez_compressed(path, allow_pickle=False, **arrays)


def read_scores(path: Path) -> Scored:
    """Read the scores that `write_scores` wrote.

    Raises:
        DataError: absent, damaged, or not as the job of this folder wrote it.
    """
    receipts.check_whole(path)
    found = {}
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {tuple(name.split("|")): stored[name] for name in stored.files}
        for name, values in arrays.items():
            if len(name) == len(Key._fields):
                task, dataset, subset, view, seed, measure = name
                key = Key(task, dataset, subset, view, int(seed), measure)
                found[key] = Scores(values, arrays[_name_of_keys(key)])
    except Exception as error:  # a damaged archive raises errors of many types
        raise DataError(f"{path}: holds no scores ({error})") from error
    return found


def _name_of_keys(key: Key) -> tuple[str, ...]:
    return key.task, key.dataset, key.pair, key.measure
