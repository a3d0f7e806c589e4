"""From per-item scores to records: means over directions, language pairs and seeds, each with an interval."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from orthoglot.statistics.records import ALL, Record, sign
from orthoglot.statistics.resampling import (
    Column,
    Interval,
    Resampled,
    Scores,
    interval,
    intervals,
    left_out,
    pool,
    resample,
)
from orthoglot.statistics.settings import EvaluationSettings
from orthoglot.statistics.weighted import MEASURES, Metric
from orthoglot.streams import derive

ACCURACY = "accuracy"
NWAY = "nway"
logger = logging.getLogger(__name__)


class Key(NamedTuple):
    """What an array of scores belongs to; `measure` says which statistics are taken of it."""

    task: str
    dataset: str
    subset: str
    view: str
    seed: int
    measure: str = ACCURACY

    @property
    def pair(self) -> str:
        """The language pair, whichever the direction: the two directions share their sentences."""
        return "-".join(sorted(self.subset.split("->")))


Scored = dict[Key, Scores]
# Language pair -> which columns stand for it, one per seed.
Members = dict[str, list[int]]


def summarise(
    scored: Scored,
    facts: Mapping[Key, Mapping[str, object]],
    settings: EvaluationSettings,
    *,
    encoder: str,
    method: str,
    made: Mapping[str, object],
) -> list[Record]:
    """Records of each subset and of their mean, for each seed and for the mean over seeds.

    Args:
        scored: all of one encoder and method.
        facts: what the tasks say of each.
        settings: resampling.
        encoder: name.
        method: name.
        made: ends the signature, e.g. the encoder's identity.
    """
    how = {
        "interval": "bootstrap-percentile",
        "resampled": "pivot-sentences",
        "resamples": settings.resamples,
        "confidence": settings.confidence,
        "resampling_seed": settings.seed,
        **made,
    }
    found = [
        *_means(scored, settings, f"{encoder} {method}"),
        *_statistics(scored, settings, f"{encoder} {method}"),
    ]
    return [one.record(scored, facts, how, encoder=encoder, method=method) for one in found]


class _Number(NamedTuple):
    """A statistic with its interval, and the scores that it was taken of."""

    keys: list[Key]
    subset: str
    seed: int | None
    metric: str
    scale: float
    interval: Interval
    facts: dict[str, object]

    def record(
        self,
        scored: Scored,
        facts: Mapping[Key, Mapping[str, object]],
        how: Mapping[str, object],
        *,
        encoder: str,
        method: str,
    ) -> Record:
        """The record of this number."""
        first = self.keys[0]
        missing = sum(int(left_out(scored[key].values).sum()) for key in self.keys)
        seeds = sorted({key.seed for key in self.keys})
        counted = {"left_out": missing, "seeds": ",".join(map(str, seeds)), "units": self.interval.units}
        about = combine([facts[key] for key in self.keys])
        value, low, high = (round(self.scale * number, 6) + 0.0 for number in self.interval[:3])
        return Record(
            task=first.task,
            dataset=first.dataset,
            subset=self.subset,
            view=first.view,
            encoder=encoder,
            method=method,
            seed=self.seed,
            metric=self.metric,
            value=value,
            low=low,
            high=high,
            n=self.interval.n,
            signature=sign({"metric": self.metric, **about, **self.facts, **counted, **how}),
        )


def _means(scored: Scored, settings: EvaluationSettings, label: str) -> list[_Number]:
    """Accuracies: hits pooled over directions and seeds, item by item."""
    # What a group holds shares its draws.
    groups: dict[tuple[str, str, str], dict[tuple[str, str, int | None], list[Key]]] = {}
    for key in scored:
        if key.measure == ACCURACY:
            for subset in dict.fromkeys((key.subset, ALL)):
                # n languages have n (n - 1) directions of the same items: drawing for each would cost most of all.
                drawn = NWAY if key.task == NWAY and subset != ALL else subset
                group = groups.setdefault((key.task, key.dataset, drawn), {})
                for seed in (key.seed, None):
                    group.setdefault((subset, key.view, seed), []).append(key)
    numbers = []
    for (task, dataset, drawn), group in groups.items():
        found = intervals(
            [
                strata({key: scored[key] for key in keys}, f"{label} {task} {name} ")
                for (_, name, _), keys in group.items()
            ],
            resamples=settings.resamples,
            confidence=settings.confidence,
            generator=np.random.default_rng(derive(settings.seed, task, dataset, drawn)),
        )
        numbers += [
            _Number(keys, subset, seed, ACCURACY, 100, one, {})
            for ((subset, _, seed), keys), one in zip(group.items(), found, strict=True)
        ]
    return numbers


def _statistics(scored: Scored, settings: EvaluationSettings, label: str) -> list[_Number]:
    """Every other statistic: of each subset and seed, then the mean over seeds and subsets.

    All columns of a task and data set share their draws.
    """
    groups: dict[tuple[str, str], list[Key]] = defaultdict(list)
    for key in scored:
        if key.measure != ACCURACY:
            groups[key.task, key.dataset].append(key)
    numbers: list[_Number] = []
    for (task, dataset), keys in groups.items():
        columns = Columns()
        tables: dict[tuple[Metric, str, str, int | None], tuple[list[Key], Members]] = {}
        for key in keys:
            for metric in MEASURES[key.measure]:
                place = columns.add(f"{label} {task} {key.subset} {key.view}", scored[key], metric)
                for subset in (key.subset, ALL):
                    for seed in (key.seed, None):
                        own, members = tables.setdefault((metric, subset, key.view, seed), ([], {}))
                        own.append(key)
                        members.setdefault(key.pair, []).append(place)
        found = resample(
            columns.found,
            resamples=settings.resamples,
            generator=np.random.default_rng(derive(settings.seed, task, dataset, "statistics")),
        )
        constant: dict[tuple[str, str], list[str]] = defaultdict(list)
        for (metric, subset, name, seed), (own, members) in tables.items():
            value, draws, undefined = mean_of(found, members)
            if draws is None:
                constant[name, metric.name].append(subset)
                continue
            scored_keys = [columns.keys(places) for places in members.values()]
            one = interval(value, draws, confidence=settings.confidence, keys=scored_keys)
            numbers.append(
                _Number(own, subset, seed, metric.name, metric.scale, one, {"undefined": undefined})
            )
        for (name, metric_name), subsets in constant.items():
            where = ", ".join(sorted(set(subsets)))
            logger.warning(
                "%s %s %s, %s: a constant has no %s in %s", label, task, dataset, name, metric_name, where
            )
    return numbers


class Columns:
    """The columns to resample, each once, however many tables ask for it."""

    def __init__(self) -> None:
        self.found: list[Column] = []
        self._places: dict[tuple[int, str], int] = {}

    def add(self, name: str, scores: Scores, metric: Metric) -> int:
        """The place of the column of these very scores and this metric."""
        # The frozen vector's scores are one object for all seeds.
        place = self._places.setdefault((id(scores.values), metric.name), len(self.found))
        if place == len(self.found):
            self.found.append(Column(name, scores, metric.statistic))
        return place

    def keys(self, places: Sequence[int]) -> np.ndarray:
        """The keys of the items that none of some columns of the same items left out."""
        scores = [self.found[place].scores for place in dict.fromkeys(places)]
        missing = np.any([left_out(one.values) for one in scores], axis=0)
        return scores[0].keys[~missing]


def mean_of(found: Resampled, members: Members) -> tuple[float, np.ndarray | None, int]:
    """Unweighted mean over language pairs of the mean over columns: observed, (R,) draws, columns without a number.

    Columns that have no statistic have no part in the mean; the draws are None if none of them has one.
    """
    every = [place for places in members.values() for place in places]
    undefined = int(np.isnan(found.values[every]).sum())
    defined = [
        [place for place in places if not np.isnan(found.values[place])] for places in members.values()
    ]
    defined = [places for places in defined if places]
    if not defined:
        return np.nan, None, undefined
    value = float(np.mean([found.values[places].mean() for places in defined]))
    draws = np.mean([found.draws[places].mean(axis=0) for places in defined], axis=0)
    return value, draws, undefined


def strata(scored: Scored, label: str = "") -> dict[str, Scores]:
    """{pair: scores}: hits of both directions and all seeds of a language pair pooled by sentence pair.

    Sentence pairs, not queries, are the items of a mean: the two directions of a pair share their sentences.
    """
    by_pair: dict[str, list[Scores]] = defaultdict(list)
    for key, found in scored.items():
        by_pair[label + key.pair].append(found)
    return {pair: pool(found) for pair, found in by_pair.items()}


def combine(facts: Sequence[Mapping[str, object]]) -> dict[str, object]:
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
    arrays |= {"|".join(_place_of_keys(key)): found.keys for key, found in scored.items()}
    np.savez_compressed(path, allow_pickle=False, **arrays)


def read_scores(path: Path) -> Scored:
    """Read the scores that `write_scores` wrote."""
    with np.load(path, allow_pickle=False) as stored:
        arrays = {tuple(name.split("|")): stored[name] for name in stored.files}
    found = {}
    for name, values in arrays.items():
        if len(name) == len(Key._fields):
            task, dataset, subset, view, seed, measure = name
            key = Key(task, dataset, subset, view, int(seed), measure)
            found[key] = Scores(values, arrays[_place_of_keys(key)])
    return found


def _place_of_keys(key: Key) -> tuple[str, ...]:
    return key.task, key.dataset, key.pair, key.measure
