"""Names of tasks and metrics in words, which direction is better, and what a report asks of the table of records."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

import pandas as pd

from orthoglot.statistics.records import ALL, F1, MAP, MRP, P_AT_1, PROPORTIONS, SAME_LANGUAGE
from orthoglot.study.report.frame import comparisons, rows, spread
from orthoglot.study.tasks import registry
from orthoglot.study.tasks.registry import NWAY

PROBE = "language-probe"
LEAKAGE = "leakage"
GEOMETRY = "geometry"
RETRIEVAL = ("heldout", "tatoeba", NWAY, "code-switched")
# The metrics of the geometry that the page opens with, and which way each is better.
SHAPES = {"kl-d": "KL-D ↓", "ch-i": "CH-I ↑", "pr": "PR → 1"}
INVENTED = "Its languages are invented: text and scores were generated, and no person wrote them."
# Metrics from 0 to 100: the meaning view should have much of them and the language view little, or the other way round.
PERCENT = (*PROPORTIONS, F1, MAP, MRP, SAME_LANGUAGE)
# Metrics that methods are compared by.
COMPARED = (*PERCENT, "pearson", "spearman")
LEVEL = 0.05


def metric_name(metric: str) -> str:
    """A metric in words: "P@1", "accuracy", "Spearman"."""
    return metric if metric in PERCENT else metric.capitalize()


def label(task: str, dataset: str, metric: str) -> str:
    """A short name of a task on a data set: "heldout", "tatoeba/mini", "sts/sts17/pearson"."""
    name = task if dataset in ("test", task) else f"{task}/{dataset}"
    return name if metric in PERCENT else f"{name}/{metric}"


def title(task: str, dataset: str, metric: str = P_AT_1) -> str:
    """A readable name of a task on a data set by a metric."""
    name = "Retrieval" if task == "tatoeba" and dataset != task else registry.title(task)
    details = []
    if dataset not in ("test", task):
        details.append(dataset)
    if metric not in PERCENT:
        details.append(metric.capitalize())
    return f"{name} ({', '.join(details)})" if details else name


def tasks(records: pd.DataFrame) -> list[tuple[str, str, str]]:
    """Distinct (task, dataset, metric) that methods are compared by, in the order of the records."""
    distinct = records[records["metric"].isin(COMPARED)][["task", "dataset", "metric"]].drop_duplicates()
    return list(distinct.itertuples(index=False, name=None))


def undivided(records: pd.DataFrame) -> set[str]:
    """Methods that leave the sentence vector as it is: those without a meaning view."""
    return set(records["method"]) - set(records.loc[records["view"] == "meaning", "method"])


def undivided_as_meaning(values: pd.DataFrame, records: pd.DataFrame) -> pd.DataFrame:
    """Some of the records, with the undivided vector as its own meaning view."""
    whole = values["method"].isin(undivided(records)) & (values["view"] == "sentence")
    return values.assign(view=values["view"].mask(whole, "meaning"))


def better(task: str, view: str) -> str:
    """ "higher" or "lower": a probe should find the language in the language view, retrieval should find nothing."""
    return "higher" if registry.load(task).BETTER[view] == "higher" else "lower"


def overall(records: pd.DataFrame) -> pd.DataFrame:
    """Scores that methods are compared by, over all subsets, as `spread`."""
    return spread(records[records["metric"].isin(COMPARED) & (records["subset"] == ALL)])


def host_comparisons(records: pd.DataFrame, methods: Mapping[str, str | None]) -> pd.DataFrame:
    """The comparisons of methods with their hosts, in retrieval."""
    compared = comparisons(records)
    hosts = compared["method"].map(lambda name: methods[name] or "")
    return compared[(compared["baseline"] == hosts) & compared["task"].isin(RETRIEVAL)]


def verdict(records: pd.DataFrame, methods: Mapping[str, str | None]) -> str:
    """How often methods make each view better or worse than their hosts do, in one sentence; empty without a host."""
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows(host_comparisons(records, methods)):
        counted[row.view][significance(row)] += 1
    views = [
        f"the {view} view better in {counts['good']} and worse in {counts['bad']} of {counts.total()}"
        for view, counts in counted.items()
    ]
    if not views:
        return ""
    added = [name for name, host in methods.items() if host is not None]
    return f"Compared with their hosts in retrieval, {', '.join(added)} make {', '.join(views)} cases."


def significance(row: Any) -> str:
    """ "good" or "bad" for a significant difference in whose sign all seeds agree, else ""."""
    # A language view's correlation should be 0, and its difference does not say whether it came nearer.
    undirected = row.compared not in PERCENT and row.view == "language"
    if row.p >= LEVEL or not row.agreed or undirected:
        return ""
    return "good" if (row.value > 0) == (better(row.task, row.view) == "higher") else "bad"
