"""The numbers of a run, looked up by name."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from statistics import fmean
from typing import NamedTuple, TypeVar

import numpy as np

from orthoglot.errors import DataError
from orthoglot.statistics.records import ALL, Comparison, Record, unsign

Side = TypeVar("Side")


class Name(NamedTuple):
    """What a number belongs to, its subset aside."""

    encoder: str
    method: str
    view: str
    task: str
    dataset: str
    metric: str


class Number(NamedTuple):
    """One number, or the unweighted mean of several subsets, over seeds.

    Attributes:
        value: mean over seeds, in the scale of its records.
        low: lower end of the interval, None where there is none.
        high: upper end.
        averaged: the ends are means of the subsets' ends; subsets that share sentences make the interval of a
            mean at most that wide, never wider.
        by_seed: {seed: value}; a method without a seed has one entry.
        subsets: that were averaged.
        chance: mean chance level of the subsets, None where the signatures state none.
        candidates: among how many sentences the queries of each subset were searched, None where its signature does
            not state it.
    """

    value: float
    low: float | None
    high: float | None
    averaged: bool
    by_seed: dict[int, float]
    subsets: tuple[str, ...]
    chance: float | None
    candidates: tuple[int | None, ...] = ()

    @property
    def ends(self) -> tuple[float, float] | None:
        """Of the interval, None where there is none."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def sd(self) -> float | None:
        """Sample standard deviation over seeds; None for one seed."""
        values = list(self.by_seed.values())
        return float(np.std(values, ddof=1)) if len(values) > 1 else None

    def divided(self, by: float) -> Number:
        """In a scale whose unit is `by` times as large; by -1, the same difference seen from the other side."""
        low, high = (None if end is None else end / by for end in (self.low, self.high))
        low, high = (high, low) if by < 0 else (low, high)
        by_seed = {seed: value / by for seed, value in self.by_seed.items()}
        return self._replace(value=self.value / by, low=low, high=high, by_seed=by_seed)


class Measured:
    """The records of one run by name.

    Raises:
        DataError: no record, two records of one number, or a number that is not finite.
    """

    def __init__(self, records: Sequence[Record]) -> None:
        if not records:
            raise DataError("no record to read")
        self._levels: dict[Name, dict[str, dict[int | None, Record]]] = defaultdict(dict)
        self._differences: dict[tuple[Name, str], dict[int | None, Record]] = defaultdict(dict)
        self.encoders = list(dict.fromkeys(record.encoder for record in records))
        self.methods = list(dict.fromkeys(record.method for record in records))
        self._methods: dict[str, dict[str, None]] = defaultdict(dict)
        self._subsets: dict[str, dict[str, dict[str, None]]] = defaultdict(lambda: defaultdict(dict))
        self._facts: dict[Name, dict[str, str]] = {}
        for record in records:
            if not math.isfinite(record.value):
                raise DataError(f"{_described(record)} is {record.value}, not a finite number")
            about = record.encoder, record.method, record.view, record.task, record.dataset
            comparison = Comparison.parse(record.metric)
            if comparison is None:
                name = Name(*about, record.metric)
                group = self._levels[name].setdefault(record.subset, {})
                if name not in self._facts:
                    self._facts[name] = unsign(record.signature)
                self._methods[record.encoder][record.method] = None
                self._subsets[record.task][record.dataset][record.subset] = None
            elif comparison.kind == "difference" and record.subset == ALL:
                group = self._differences[Name(*about, comparison.compared), comparison.baseline]
            else:
                continue
            if record.seed in group:
                raise DataError(f"two records of {_described(record)}")
            group[record.seed] = record

    def datasets(self, task: str) -> list[str]:
        """Data sets of a task, in the order of the records."""
        return list(self._subsets.get(task, {}))

    def methods_of(self, encoder: str) -> list[str]:
        """Methods that an encoder was evaluated with, in the order of the records."""
        return list(self._methods.get(encoder, {}))

    def subsets(self, task: str, dataset: str) -> list[str]:
        """Distinct subsets of a data set, the mean over all of them aside."""
        return [subset for subset in self._subsets.get(task, {}).get(dataset, {}) if subset != ALL]

    @cache  # noqa: B019 - a run lives as long as the program
    def stated(self, fact: str, **names: str) -> str:
        """What the signatures say of a fact, e.g. `stated("checkpoint", encoder="labse")`; "" where none says it."""
        for name, facts in self._facts.items():
            if fact in facts and all(getattr(name, field) == value for field, value in names.items()):
                return facts[fact]
        return ""

    def mean(self, name: Name) -> Number | None:
        """The mean over all subsets there are, with the run's own interval; None if it was not measured."""
        return self.over([(name, subset) for subset in self._levels.get(name, {}) if subset != ALL])

    def over(self, parts: Sequence[tuple[Name, str]]) -> Number | None:
        """The unweighted mean over some subsets of one or more data sets; None if one was not measured.

        Where these are all that one data set has, the run's own record of their mean is taken.
        """
        if not parts:
            return None
        found = [self._levels.get(name, {}) for name, _ in parts]
        subsets = [subset for _, subset in parts]
        groups = [one.get(subset) for one, subset in zip(found, subsets, strict=True)]
        if ALL in found[0] and len({name for name, _ in parts}) == 1 and {*subsets, ALL} == set(found[0]):
            return _number([found[0][ALL]], subsets, groups)
        every = [group for group in groups if group is not None]
        return _number(every, subsets, every) if len(every) == len(groups) else None

    def difference(self, name: Name, baseline: str) -> Number | None:
        """The paired difference to a baseline over all subsets, or None."""
        found = self._differences.get((name, baseline))
        return _number([found], [ALL], [found]) if found and None in found else None


def paired(ours: Mapping[int, Side], theirs: Mapping[int, Side]) -> dict[int, tuple[Side, Side]]:
    """What both have of each seed; what has one seed only is paired with each seed of the other."""
    if len(theirs) == 1:
        theirs = dict.fromkeys(ours, next(iter(theirs.values())))
    elif len(ours) == 1:
        ours = dict.fromkeys(theirs, next(iter(ours.values())))
    return {seed: (ours[seed], theirs[seed]) for seed in sorted(ours.keys() & theirs.keys())}


def apart(mine: Number, other: Number) -> tuple[float, float] | None:
    """The least and greatest mine - other that two separate intervals allow, None where one has no interval."""
    if mine.ends is None or other.ends is None:
        return None
    return mine.ends[0] - other.ends[1], mine.ends[1] - other.ends[0]


def _number(
    groups: Sequence[dict[int | None, Record]],
    subsets: Sequence[str],
    by_subset: Sequence[dict[int | None, Record] | None],
) -> Number | None:
    if any(None not in group for group in groups):
        return None
    means = [group[None] for group in groups]
    seeds = set.intersection(*(set(group) for group in groups))
    chances = [unsign(record.signature).get("chance") for record in means]
    return Number(
        value=fmean(record.value for record in means),
        low=_mean([record.low for record in means]),
        high=_mean([record.high for record in means]),
        averaged=len(means) > 1,
        by_seed={
            seed: fmean(group[seed].value for group in groups)
            for seed in sorted(seed for seed in seeds if seed is not None)
        },
        subsets=tuple(subsets),
        chance=_mean([None if chance is None else float(chance) for chance in chances]),
        candidates=tuple(map(_candidates, by_subset)),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    """None if one is missing."""
    known = [value for value in values if value is not None]
    return fmean(known) if len(known) == len(values) else None


def _candidates(group: dict[int | None, Record] | None) -> int | None:
    stated = unsign(next(iter(group.values())).signature).get("candidates", "") if group else ""
    return int(stated) if stated.isdigit() else None


def _described(record: Record) -> str:
    names = record.encoder, record.method, record.task, record.dataset, record.subset, record.view
    return f"{' '.join(names)} {record.metric} of seed {record.seed}"
