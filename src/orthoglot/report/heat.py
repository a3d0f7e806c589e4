"""Heat maps: a row per language, a column per method, coloured by the change against the undivided vector."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from orthoglot.report.queries import rows, undivided, where
from orthoglot.statistics.records import ALL, PROPORTIONS

# The deepest colour stands for the change that this share of a method's scores does not exceed, and this share of the
# methods in turn, so that one far from all others does not bleach them; and for at least so many points.
SHARE, OF_METHODS, LEAST_SCALE = 0.9, 0.75, 1.0


class Square(NamedTuple):
    """A score, its change, and how deep the colour is, from -1 (worst) to 1 (best); empty where there is no score."""

    text: str = "–"
    change: str = ""
    shade: float = 0.0


class HeatMap(NamedTuple):
    """Scores of one encoder by one view; `scale` is the least change in points that has the deepest colour."""

    encoder: str
    methods: list[str]
    rows: list[tuple[str, list[Square]]]
    scale: float


def heat_maps(records: pd.DataFrame, task: str, dataset: str, metric: str) -> Iterator[HeatMap]:
    """The meaning view of each encoder, mean over seeds and over the directions from and to a language.

    An encoder without scores of several languages has none.
    """
    values = where(records[records["seed"].isna()], task=task, dataset=dataset, metric=metric)
    whole = values["method"].isin(undivided(records))
    values = values[(values["view"] == "meaning") | (whole & (values["view"] == "sentence"))]
    for encoder in values["encoder"].unique():
        own = where(values, encoder=encoder)
        by_language = _by_language(own[own["subset"] != ALL], pairs=metric not in PROPORTIONS)
        if by_language["language"].nunique() > 1:
            mean = own[own["subset"] == ALL].assign(language="mean")
            yield _heat_map(str(encoder), pd.concat([mean, by_language]), whole[own.index], own)


def _heat_map(encoder: str, table: pd.DataFrame, whole: pd.Series, own: pd.DataFrame) -> HeatMap:
    methods = list(own["method"].unique())
    means = table.groupby(["language", "method"], sort=False)["value"].mean().reset_index()
    grid = {(row.language, row.method): row.value for row in rows(means)}
    reference = next(iter(own.loc[whole, "method"].unique()), None)
    changes = {
        (language, method): value - grid[language, reference]
        for (language, method), value in grid.items()
        if reference is not None and (language, reference) in grid
    }
    sizes: dict[str, list[float]] = {}
    for (_, method), change in changes.items():
        if method != reference:
            sizes.setdefault(method, []).append(abs(change))
    by_method = [np.quantile(own, SHARE) for own in sizes.values()]
    scale = (
        max(LEAST_SCALE, float(np.quantile(by_method, OF_METHODS, method="lower"))) if sizes else LEAST_SCALE
    )
    found = []
    for language in table["language"].unique():
        squares = []
        for method in methods:
            if (language, method) not in grid:
                squares.append(Square())
                continue
            change = changes.get((language, method), 0.0)
            shown = "" if method == reference or reference is None else f"{change:+.1f}"
            squares.append(
                Square(f"{grid[language, method]:.1f}", shown, round(min(max(change / scale, -1.0), 1.0), 2))
            )
        found.append((str(language), squares))
    return HeatMap(encoder, methods, found, scale)


def _by_language(values: pd.DataFrame, *, pairs: bool) -> pd.DataFrame:
    """A row per score and language that it is of: the other language of pairs that all share one, else both.

    Args:
        values: with subsets "a->b" or "a-b".
        pairs: name the pair where the subsets share no language, as graded pairs are not directions.
    """
    sides = values["subset"].str.split("->|-(?!>)", regex=True)
    shared = set.intersection(*map(set, sides)) if len(sides) else set()
    if not shared and pairs:
        return values.assign(language=values["subset"])
    languages = [[one for one in found if one not in shared] or ["-".join(sorted(found))] for found in sides]
    return values.assign(language=pd.Series(languages, index=values.index)).explode("language")
