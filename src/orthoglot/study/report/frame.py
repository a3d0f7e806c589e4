"""The table of a run's records, and the numbers in it by name: what reports, papers' tables and commands read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from statistics import fmean
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from orthoglot.errors import DataError
from orthoglot.statistics.intervals import over_trainings
from orthoglot.statistics.records import ALL, COMPARISON, FIELDS, NAMES, Record

Side = TypeVar("Side")
# What a paired difference belongs to.
COMPARED = ["task", "dataset", "encoder", "method", "view", "baseline", "compared"]


def frame(records: Sequence[Record]) -> pd.DataFrame:
    """A row for each record, a column for each field and each fact of any of them; NaN where a record lacks it.

    The seed is a nullable integer.
    """
    table = pd.DataFrame([record.row() for record in records], columns=None if records else FIELDS)
    return table.astype({"seed": "Int64", "low": "float64", "high": "float64", "n": "int64"})


def rows(table: pd.DataFrame) -> Iterator[Any]:
    """The rows as named tuples, whose fields pandas cannot type."""
    yield from table.itertuples(index=False)


def where(table: pd.DataFrame, **values: object) -> pd.DataFrame:
    """The rows whose named columns have these values."""
    return table[(table[list(values)] == list(values.values())).all(axis=1)]


def spread(records: pd.DataFrame) -> pd.DataFrame:
    """Records of the mean over seeds, with `reach`, what other seeds would change (`over_trainings`)."""
    keys = list(NAMES)
    by_seed = records[records["seed"].notna()].groupby(keys, sort=False)["value"]
    reach = by_seed.agg(reach=over_trainings).reset_index()
    return records[records["seed"].isna()].merge(reach, on=keys, how="left", validate="one_to_one")


def comparisons(records: pd.DataFrame) -> pd.DataFrame:
    """A row per paired difference: both corrected p values, the baseline with its view, and how the seeds agree.

    `compared` is the metric whose values differ; a correlation has no sign test (NaN). `reach` is
    what other seeds would change (`over_trainings`), `agreed` whether all have the sign of their mean.
    """
    chosen = _with_compared(records)
    chosen = chosen[chosen["kind"].notna()]
    by_seed = chosen[chosen["seed"].notna()].assign(sign=lambda table: np.sign(table["value"]))
    seeds = by_seed.groupby(COMPARED, sort=False).agg(
        reach=("value", over_trainings), lowest=("sign", "min"), highest=("sign", "max")
    )
    chosen = chosen[chosen["seed"].isna()]
    wide = chosen.pivot(index=COMPARED, columns="kind", values="value")
    wide = wide.reindex(columns=["p", "sign"]).rename(columns={"sign": "sign_p"}).join(seeds)
    differences = chosen[chosen["kind"] == "difference"]
    differences = differences.merge(wide.reset_index(), on=COMPARED, validate="one_to_one")
    direction = np.sign(differences["value"])
    agreed = (differences["lowest"] == direction) & (differences["highest"] == direction)
    return differences.assign(agreed=agreed, baseline_view=differences["baseline_view"].fillna(""))


def _with_compared(records: pd.DataFrame) -> pd.DataFrame:
    """The records with `kind`, `compared` and `baseline` of their metric, see `Comparison`; NaN of other metrics."""
    table = records.drop(columns="baseline", errors="ignore")
    table = table.reindex(columns=table.columns.union(["baseline_view"], sort=False))
    return table.join(table["metric"].str.extract(f"^{COMPARISON}$"))


class Name(NamedTuple):
    """What a number belongs to, without the subset."""

    encoder: str
    method: str
    view: str
    task: str
    dataset: str
    metric: str

    def record(self, subset: str, seed: int | None, value: float, n: int, facts: Mapping[str, str]) -> Record:
        """A record of that number without an interval."""
        return Record(
            **self._asdict(), subset=subset, seed=seed, value=value, low=None, high=None, n=n, facts=facts
        )


class Number(NamedTuple):
    """One number, or the unweighted mean of several subsets, over seeds."""

    value: float  # mean over seeds, in the scale of its records
    low: float | None  # lower end of the interval, None where there is none
    high: float | None  # upper end
    averaged: bool  # whether the ends are means of the subsets' ends: the interval is then too wide, never too narrow
    by_seed: dict[int, float]  # {seed: value}; a method without a seed has one entry
    subsets: tuple[str, ...]  # what was averaged
    chance: float | None  # mean chance level of the subsets, None where the records state none
    candidates: tuple[int | None, ...] = ()  # sentences that each subset's queries search among, if stated

    @property
    def ends(self) -> tuple[float, float] | None:
        """The ends of the interval; None where there is none."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def sd(self) -> float | None:
        """Sample standard deviation over seeds; None for one seed."""
        values = list(self.by_seed.values())
        return float(np.std(values, ddof=1)) if len(values) > 1 else None

    def divided(self, by: float) -> Number:
        """The number in a scale with a unit `by` times as large; with -1, the difference from the other side."""
        low, high = (None if end is None else end / by for end in (self.low, self.high))
        low, high = (high, low) if by < 0 else (low, high)
        by_seed = {seed: value / by for seed, value in self.by_seed.items()}
        return self._replace(value=self.value / by, low=low, high=high, by_seed=by_seed)


class Measured:
    """The numbers of one run by name.

    Raises:
        DataError: no record, or two records of one number.
    """

    def __init__(self, records: Sequence[Record]) -> None:
        if not records:
            raise DataError("no record to read")
        table = _with_compared(frame(records))
        self.encoders, self.methods = (list(table[name].unique()) for name in ("encoder", "method"))
        differences = where(table, kind="difference", subset=ALL)
        self._levels = table[table["kind"].isna()]
        self._numbers = _numbers(self._levels, [*Name._fields, "subset"])
        self._differences = _numbers(
            differences.assign(metric=differences["compared"]), [*Name._fields, "baseline"]
        )

    @cache  # noqa: B019 - a run lives as long as the program
    def names(self, column: str, **values: str) -> list[str]:
        """Distinct names in a column of the records that have these values, in their order, without comparisons."""
        if not {column, *values} <= set(self._levels.columns):
            return []
        return list(where(self._levels, **values)[column].dropna().unique())

    def datasets(self, task: str) -> list[str]:
        """Data sets of a task."""
        return self.names("dataset", task=task)

    def methods_of(self, encoder: str) -> list[str]:
        """Methods that an encoder was evaluated with."""
        return self.names("method", encoder=encoder)

    def subsets(self, task: str, dataset: str) -> list[str]:
        """Distinct subsets of a data set, without the mean over all of them."""
        return [name for name in self.names("subset", task=task, dataset=dataset) if name != ALL]

    def stated(self, fact: str, **values: str) -> str:
        """What the records say of a fact, e.g. `stated("checkpoint", encoder="labse")`; "" where none says it."""
        return next(iter(self.names(fact, **values)), "")

    @cache  # noqa: B019
    def _subsets_of(self, name: Name) -> list[str]:
        return [
            subset for subset in self.subsets(name.task, name.dataset) if (*name, subset) in self._numbers
        ]

    def mean(self, name: Name) -> Number | None:
        """The mean over all subsets there are, with the run's own interval; None if it was not measured."""
        return self.over([(name, subset) for subset in self._subsets_of(name)])

    def over(self, parts: Sequence[tuple[Name, str]]) -> Number | None:
        """The unweighted mean over some subsets of one or more data sets; None if one was not measured.

        Where these are all that one data set has, the run's own record of their mean is taken.
        """
        numbers = [self._numbers.get((*name, subset)) for name, subset in parts]
        known = [number for number in numbers if number is not None]
        if not known or len(known) < len(numbers):
            return None
        names, subsets = {name for name, _ in parts}, tuple(subset for _, subset in parts)
        whole = self._numbers.get((*parts[0][0], ALL))
        if whole and len(names) == 1 and set(subsets) == set(self._subsets_of(parts[0][0])):
            known = [whole]
        seeds = set.intersection(*(set(number.by_seed) for number in known))
        return Number(
            value=fmean(number.value for number in known),
            low=_mean([number.low for number in known]),
            high=_mean([number.high for number in known]),
            averaged=len(known) > 1,
            by_seed={seed: fmean(number.by_seed[seed] for number in known) for seed in sorted(seeds)},
            subsets=subsets,
            chance=_mean([number.chance for number in known]),
            candidates=tuple(number.candidates[0] for number in numbers if number),
        )

    def difference(self, name: Name, baseline: str) -> Number | None:
        """The paired difference to a baseline over all subsets, or None."""
        return self._differences.get((*name, baseline))


def paired(ours: Mapping[int, Side], theirs: Mapping[int, Side]) -> dict[int, tuple[Side, Side]]:
    """The values of both sides by seed. The only value of a side is paired with each of the other side."""
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


def _numbers(table: pd.DataFrame, keys: list[str]) -> dict[tuple[str, ...], Number]:
    """The number of each mean over seeds by its names, with the values of its seeds."""
    table = table.reindex(columns=table.columns.union(["chance", "candidates"], sort=False))
    for twice in table.loc[table.duplicated([*keys, "seed"]), [*keys, "seed"]].to_numpy()[:1]:
        raise DataError(f"two records of {' '.join(map(str, twice[:-1]))}, seed {twice[-1]}")
    by_seed: dict[tuple[str, ...], dict[int, float]] = defaultdict(dict)
    names = list(table[keys].itertuples(index=False, name=None))
    for name, seed, value in zip(names, table["seed"], table["value"], strict=True):
        if not pd.isna(seed):
            by_seed[name][int(seed)] = value
    return {
        name: Number(
            value=row.value,
            low=None if pd.isna(row.low) else row.low,
            high=None if pd.isna(row.high) else row.high,
            averaged=False,
            by_seed=dict(sorted(by_seed[name].items())),
            subsets=(row.subset,),
            chance=None if pd.isna(row.chance) else float(row.chance),
            candidates=(int(row.candidates) if str(row.candidates).isdecimal() else None,),
        )
        for name, row in zip(names, rows(table), strict=True)
        if pd.isna(row.seed)
    }


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if len(known) == len(values) else None
