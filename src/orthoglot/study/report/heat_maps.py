"""Heat maps: of languages by methods, and of families of languages by families, from one to another."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from orthoglot.statistics.records import ALL, PROPORTIONS
from orthoglot.study.report.frame import where
from orthoglot.study.report.language_families import family
from orthoglot.study.report.queries import undivided, undivided_as_meaning

# The deepest colour is the change that SHARE of a method's scores, of OF_METHODS of the methods, do not exceed, so that
# one far from all others does not bleach them; and at least LEAST_SCALE points.
SHARE, OF_METHODS, LEAST_SCALE = 0.9, 0.75, 1.0
LEAST_FAMILIES = 3


class Square(NamedTuple):
    """A score, its change, and how deep the colour is, from -1 (worst) to 1 (best); empty where there is no score."""

    text: str = "–"
    change: str = ""
    shade: float = 0.0


class HeatMap(NamedTuple):
    """Scores of one encoder by one view."""

    heading: str
    columns: list[str]
    rows: list[tuple[str, list[Square]]]
    scale: float  # the least change in points that has the deepest colour
    corner: str = "Language"
    against: str = "the undivided vector"  # what the change is from


def heat_maps(records: pd.DataFrame, task: str, dataset: str, metric: str) -> Iterator[HeatMap]:
    """The meaning view of each encoder, mean over seeds and over the directions from and to a language.

    An encoder without scores of several languages has none.
    """
    values, whole = _values(records, task, dataset, metric)
    for encoder in values["encoder"].unique():
        scores = where(values, encoder=encoder)
        by_language = _by_language(scores[scores["subset"] != ALL], pairs=metric not in PROPORTIONS)
        if by_language["language"].nunique() > 1:
            mean = scores[scores["subset"] == ALL].assign(language="mean")
            yield _heat_map(str(encoder), pd.concat([mean, by_language]), whole)


def family_maps(
    records: pd.DataFrame, task: str, dataset: str, metric: str, methods: Collection[str]
) -> Iterator[HeatMap]:
    """Mean over the directions from a language of one family to a language of another, of the meaning view.

    The undivided vector has a map, coloured by the difference from its mean, and so has each of `methods`, coloured by
    the change against the undivided vector. There is none where all directions share a language, or with fewer than
    three families.
    """
    values, whole = _values(records, task, dataset, metric)
    values = values[values["subset"].str.contains("->", regex=False)]
    sides = [subset.split("->") for subset in values["subset"]]
    if not sides or set.intersection(*map(set, sides)):
        return
    values = values.assign(start=[family(start) for start, _ in sides], end=[family(end) for _, end in sides])
    for encoder in values["encoder"].unique():
        scores = where(values, encoder=encoder)
        by_method = {str(name): _by_family(group) for name, group in scores.groupby("method", sort=False)}
        reference = next((name for name in by_method if name in whole), None)
        if reference is None or len(by_method[reference]) < LEAST_FAMILIES:
            continue
        base = by_method[reference]
        mean = where(scores, method=reference)["value"].mean()
        yield _family_map(f"{encoder}, {reference}", base, base - mean, f"its mean of {mean:.1f}")
        for method in (name for name in by_method if name in methods and name != reference):
            grid = by_method[method]
            yield _family_map(f"{encoder}, {method}", grid, grid - base, HeatMap._field_defaults["against"])


def _by_family(values: pd.DataFrame) -> pd.DataFrame:
    """Means from the family of a row to that of a column, the families with most directions first."""
    grid = values.groupby(["start", "end"])["value"].mean().unstack()
    order = pd.concat([values["start"], values["end"]]).value_counts().index
    return grid.reindex(index=order, columns=order)


def _family_map(heading: str, grid: pd.DataFrame, change: pd.DataFrame, against: str) -> HeatMap:
    scale = max(LEAST_SCALE, float(np.nanquantile(change.abs(), SHARE)))
    columns = list(grid.columns)
    lines = [
        (start, [_square(grid.loc[start, end], change.loc[start, end], scale) for end in columns])
        for start in grid.index
    ]
    return HeatMap(heading, columns, lines, scale, "From \\ to", against)


def _square(value: float, change: float, scale: float) -> Square:
    if np.isnan(value):
        return Square()
    return Square(f"{value:.1f}", f"{change:+.1f}", round(min(max(change / scale, -1.0), 1.0), 2))


def _values(records: pd.DataFrame, task: str, dataset: str, metric: str) -> tuple[pd.DataFrame, set[str]]:
    """Means over seeds of the meaning view and of the undivided vector, and the methods that do not divide it."""
    values = where(records[records["seed"].isna()], task=task, dataset=dataset, metric=metric)
    return where(undivided_as_meaning(values, records), view="meaning"), undivided(records)


def _heat_map(encoder: str, table: pd.DataFrame, whole: set[str]) -> HeatMap:
    methods = list(table["method"].unique())
    reference = next((method for method in methods if method in whole), None)
    grid = table.groupby(["language", "method"], sort=False)["value"].mean().unstack()
    grid = grid.reindex(index=table["language"].unique(), columns=methods)
    changes = grid * np.nan if reference is None else grid.sub(grid[reference], axis="index")
    depths = changes.drop(columns=reference or []).abs().quantile(SHARE).dropna()
    scale = LEAST_SCALE
    if len(depths):
        scale = max(scale, float(np.quantile(depths, OF_METHODS, method="lower")))
    lines = []
    for language in grid.index:
        squares = []
        for method in methods:
            value, change = float(grid.loc[language, method]), float(changes.loc[language, method])
            square = _square(value, 0.0 if np.isnan(change) else change, scale)
            if method == reference or reference is None:
                square = square._replace(change="")
            squares.append(square)
        lines.append((language, squares))
    return HeatMap(encoder, methods, lines, scale)


def _by_language(values: pd.DataFrame, *, pairs: bool) -> pd.DataFrame:
    """A row per score and language of its pair; only the other language where all pairs share one.

    With `pairs`, which are not directions, a score belongs to its pair where the pairs share no language.
    """
    sides = values["subset"].str.split("->|-(?!>)", regex=True)
    pivots = set.intersection(*map(set, sides)) if len(sides) else set()
    if not pivots and pairs:
        return values.assign(language=values["subset"])
    languages = [[code for code in pair if code not in pivots] or ["-".join(sorted(pair))] for pair in sides]
    return values.assign(language=pd.Series(languages, index=values.index)).explode("language")
