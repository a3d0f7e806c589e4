"""The questions that reports ask of records: what is there, means over seeds, paired comparisons, which is better."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np
import pandas as pd

from orthoglot.statistics.comparisons import ORIGINAL, host_of
from orthoglot.statistics.records import ACCURACY, ALL, P_AT_1, PROPORTIONS, Record
from orthoglot.tasks.registry import TASKS

PROBE = "language-probe"
LEAKAGE = "leakage"
GEOMETRY = "geometry"
# Of the metrics of the geometry, those that stand for the others; and which way each is better.
SHAPES = {"kl-d": "KL-D ↓", "ch-i": "CH-I ↑", "pr": "PR → 1"}
# Families of methods in the order of the papers; unknown ones follow by name.
METHOD_ORDER = (
    ORIGINAL,
    "centering",
    "centering-per-pair",
    "oracle",
    "oracle-printed",
    "dream",
    "dream+oracle",
    "dream-released",
    "dream+oracle-released",
    "meat",
    "meat+oracle",
    "meat+oracle-released",
    "seed",
)
TITLES = {name: entry.title for name, entry in TASKS.items()}
# Metrics that methods are compared by, and their scales in words.
SCALES = {
    P_AT_1: "P@1 in percent",
    ACCURACY: "Accuracy in percent",
    "pearson": "Pearson's correlation with the gold scores times 100, from -100 to 100",
    "spearman": "Spearman's correlation with the gold scores times 100, from -100 to 100",
}
DIFFERENCES = ("difference", "p", "sign")
LEVEL = 0.05


def frame(records: Sequence[Record]) -> pd.DataFrame:
    """Records as a table, one row per number; seed is a nullable integer."""
    names = [field.name for field in fields(Record)]
    table = pd.DataFrame([asdict(record) for record in records], columns=names)
    return table.astype({"seed": "Int64", "low": "float64", "high": "float64", "n": "int64"})


def lines(table: pd.DataFrame) -> Iterator[Any]:
    """The rows as named tuples, whose fields pandas cannot type."""
    yield from table.itertuples(index=False)


def first(table: pd.DataFrame) -> Any:
    """The first row as a named tuple."""
    return next(lines(table))


def ordered(methods: Iterable[str]) -> list[str]:
    """Distinct methods in the order of the papers."""
    known = {name: rank for rank, name in enumerate(METHOD_ORDER)}
    return sorted(set(methods), key=lambda name: (known.get(name, len(known)), name))


def label(task: str, dataset: str, metric: str) -> str:
    """A short name of a task on a data set, as in metrics.json: "heldout", "tatoeba/mini", "sts/sts17/pearson"."""
    name = task if dataset in ("test", task) else f"{task}/{dataset}"
    return name if metric in PROPORTIONS else f"{name}/{metric}"


def title(task: str, dataset: str, metric: str) -> str:
    """A readable name of a task on a data set by a metric."""
    name = TITLES.get(task, task)
    told = [
        found for found in (dataset, metric.capitalize()) if found not in ("test", task, "Accuracy", P_AT_1)
    ]
    return f"{name} ({', '.join(told)})" if told else name


def tasks(records: pd.DataFrame) -> list[tuple[str, str, str]]:
    """Distinct (task, dataset, metric) that methods are compared by, in the order of the records."""
    distinct = records[records["metric"].isin(SCALES)][["task", "dataset", "metric"]].drop_duplicates()
    return list(distinct.itertuples(index=False, name=None))


def wanted(task: str, view: str) -> str:
    """ "higher" or "lower": a probe should read language off the language view, retrieval should not."""
    return "higher" if TASKS[task].better[view] == "higher" else "lower"


def overall(records: pd.DataFrame) -> pd.DataFrame:
    """Scores (`SCALES`) over all subsets, mean over seeds, with `sd` over seeds (NaN for one seed)."""
    return over_seeds(records[records["metric"].isin(SCALES)])


def over_seeds(records: pd.DataFrame) -> pd.DataFrame:
    """Records over all subsets, mean over seeds, with `sd` over seeds (NaN for one seed)."""
    return spread(records[records["subset"] == ALL])


def spread(records: pd.DataFrame) -> pd.DataFrame:
    """Records, mean over seeds, with `sd` over seeds (NaN for one seed)."""
    keys = ["task", "dataset", "subset", "view", "encoder", "method", "metric"]
    by_seed = records[records["seed"].notna()].groupby(keys, sort=False)["value"]
    found = by_seed.agg(sd="std", seeds="count").reset_index()
    return records[records["seed"].isna()].merge(found, on=keys, validate="one_to_one")


def comparisons(records: pd.DataFrame) -> pd.DataFrame:
    """One row per paired difference, with `baseline`, both corrected probabilities, and what the seeds say.

    `compared` is the metric whose values differ; a correlation has no sign test (NaN). `sd` is over the
    differences by seed (NaN for one seed), `agreed` whether all have the sign of their mean.
    """
    names = records["metric"].str.extract(
        r"^(?P<kind>difference|p|sign)-(?P<compared>[^:]+):(?P<baseline>.*)$"
    )
    chosen = records.join(names)
    chosen = chosen[chosen["kind"].isin(DIFFERENCES)]
    keys = ["task", "dataset", "encoder", "method", "view", "baseline", "compared"]
    by_seed = chosen[chosen["seed"].notna()].assign(sign=lambda rows: np.sign(rows["value"]))
    spread = by_seed.groupby(keys, sort=False).agg(
        sd=("value", "std"), lowest=("sign", "min"), highest=("sign", "max")
    )
    chosen = chosen[chosen["seed"].isna()]
    wide = chosen.pivot(index=keys, columns="kind", values="value")
    wide = wide.reindex(columns=["p", "sign"]).rename(columns={"sign": "sign_p"}).join(spread)
    found = chosen[chosen["kind"] == "difference"].merge(wide.reset_index(), on=keys, validate="one_to_one")
    direction = np.sign(found["value"])
    return found.assign(agreed=(found["lowest"] == direction) & (found["highest"] == direction))


def hosted(records: pd.DataFrame) -> Iterator[Any]:
    """The comparisons of ORACLE on a host with the host, in retrieval, by encoder."""
    differences = comparisons(records)
    for encoder in records["encoder"].unique():
        methods = set(records.loc[records["encoder"] == encoder, "method"])
        for found in lines(differences[differences["encoder"] == encoder]):
            if found.compared == P_AT_1 and found.baseline == host_of(found.method, methods):
                yield found


def verdict(records: pd.DataFrame) -> str:
    """The headline in one sentence: how often ORACLE made each view better or worse; empty without a host."""
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    for found in hosted(records):
        counted[found.view][tone(found)] += 1
    views = [
        f"the {name} view better in {tones['good']} and worse in {tones['bad']} of {tones.total()}"
        for name, tones in counted.items()
    ]
    if not views:
        return ""
    return f"Of the comparisons with its hosts in retrieval, ORACLE made {', '.join(views)}."


def chosen_values(
    table: pd.DataFrame, task: str, dataset: str, metric: str, column: str = "metric"
) -> pd.DataFrame:
    """The rows of one task on one data set by one metric."""
    return table[(table["task"] == task) & (table["dataset"] == dataset) & (table[column] == metric)]


def same(records: pd.DataFrame, row: Any, *names: str) -> pd.Series:
    """Which records agree with `row` in the named fields."""
    return (records[list(names)] == [getattr(row, name) for name in names]).all(axis=1)


def tone(row: Any) -> str:
    """ "good" or "bad" for a significant difference in whose sign all seeds agree, else nothing.

    A language view's correlation should be 0, and a difference does not tell whether it came nearer.
    """
    aimless = row.compared not in PROPORTIONS and row.view == "language"
    if row.p >= LEVEL or not row.agreed or aimless:
        return ""
    return "good" if (row.value > 0) == (wanted(row.task, row.view) == "higher") else "bad"
