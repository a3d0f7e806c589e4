"""Which method is best for which use, over all encoders, data sets and seeds of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

import numpy as np
from scipy import stats

from orthoglot.errors import ConfigError
from orthoglot.report.tables import Cell, Table
from orthoglot.statistics.comparisons import ORIGINAL
from orthoglot.statistics.lookup import Measured, Name, Number, paired
from orthoglot.statistics.records import P_AT_1, Record

# Use: (task, metric) of the meaning view; the metric of a correlation is that of the paper which scores it.
USES: dict[str, tuple[tuple[str, str], ...]] = {
    "mining": (("heldout", P_AT_1), ("tatoeba", P_AT_1)),
    "scoring": (("sts", "spearman"), ("qe", "pearson")),
    "search": (("code-switched", P_AT_1), ("tatoeba", P_AT_1)),
}
WORSE, TIED, BETTER = "yes", "not shown", "no, more points"
NOTE = (
    "Rank: mean over cells (encoder and data set) and seeds, 1 is best. Points: mean score times 100. The interval "
    "of a difference in points resamples sentences and takes models, encoders and data sets as fixed; it is at "
    "least 95 % wide. A difference is shown if the interval leaves out 0 and all seeds agree in its sign."
)


class Standing(NamedTuple):
    """How one method stands.

    Attributes:
        method: its name.
        rank: mean rank, 1 is best; equal values share the mean of their ranks.
        points: mean score times 100 over the same cells.
        difference: its points minus those of the first.
        low: lower end of the interval of `difference`, None where a record lacks its own.
        high: upper end.
        worse: than the first: "yes", "not shown", or "no, more points" where rank and points disagree.
    """

    method: str
    rank: float
    points: float
    difference: float
    low: float | None
    high: float | None
    worse: str


class Advice(NamedTuple):
    """The methods of one use, best first.

    Attributes:
        use: one of `USES`.
        standings: by mean rank, then by points.
        cells: "encoder: task data set" that were ranked in.
        left_out: methods that some cell lacks.
        lacking: tasks of the use that the run does not have.
    """

    use: str
    standings: list[Standing]
    cells: list[str]
    left_out: list[str]
    lacking: list[str]


class Score(NamedTuple):
    """A method's number in one cell, and its paired difference to the original vector where there is one."""

    level: Number
    gain: Number | None


Scores = Mapping[str, Mapping[str, Score]]


def recommend(records: Sequence[Record], use: str) -> Advice:
    """Rank the methods in every cell (encoder, data set) and seed; the best mean rank comes first.

    The vector itself takes part as "original". A method with one seed stands with the same value in every seed.

    Args:
        records: of one run.
        use: a key of `USES`.
    Raises:
        ConfigError: no such use.
        DataError: no record, or damaged ones.
    """
    if use not in USES:
        raise ConfigError(f"no use called {use}; there are {', '.join(USES)}")
    measured = Measured(records)
    cells = _cells(measured, use)
    lacking = [task for task, _ in USES[use] if not any(f": {task} " in name for name in cells)]
    methods = [name for name in measured.methods if cells and all(name in found for found in cells.values())]
    left_out = [name for name in measured.methods if name not in methods]
    ranks = _ranks(cells, methods)
    points = {name: fmean(found[name].level.value for found in cells.values()) for name in methods}
    methods.sort(key=lambda name: (round(ranks[name], 9), -points[name]))
    standings = [_standing(name, methods[0], ranks[name], points, cells) for name in methods]
    return Advice(use, standings, list(cells), left_out, lacking)


def table(advice: Advice) -> Table:
    """The advice as a table, best method first."""
    rows = []
    for place in advice.standings:
        leads = place is advice.standings[0]
        small = "" if place.low is None or place.high is None else f"[{place.low:+.2f}, {place.high:+.2f}]"
        behind = (
            [Cell("–"), Cell("–")] if leads else [Cell(f"{place.difference:+.2f}", small), Cell(place.worse)]
        )
        name = Cell(place.method, "", "best" if leads else "")
        rows.append([name, Cell(f"{place.rank:.2f}"), Cell(f"{place.points:.2f}"), *behind])
    told = [verdict(advice), f"Cells: {'; '.join(advice.cells)}." if advice.cells else ""]
    told.append(f"Not in this run: {', '.join(advice.lacking)}." if advice.lacking else "")
    told.append(
        f"Left out, as some cell lacks them: {', '.join(advice.left_out)}." if advice.left_out else ""
    )
    columns = ["Method", "Mean rank", "Points", "Points − the first's", "Worse than the first"]
    return Table(f"Best method for {advice.use}", " ".join(filter(None, [*told, NOTE])), columns, rows)


def verdict(advice: Advice) -> str:
    """The advice in one sentence."""
    if not advice.standings:
        return (
            f"For {advice.use} this run cannot tell: it has no data set for it, or no method in all of them."
        )
    first, *others = advice.standings
    if rivals := [place.method for place in others if place.worse != WORSE]:
        return (
            f"For {advice.use} {first.method} has the best mean rank, but was not shown to be better than "
            f"{', '.join(rivals)}."
        )
    if not others:
        return f"For {advice.use} {first.method} is the only method of this run."
    return f"For {advice.use} {first.method} is best; each of the other {len(others)} is worse."


def _cells(measured: Measured, use: str) -> dict[str, dict[str, Score]]:
    cells: dict[str, dict[str, Score]] = {}
    for task, metric in USES[use]:
        for dataset in measured.datasets(task):
            for encoder in measured.encoders:
                found = {}
                for method in measured.methods_of(encoder):
                    view = "sentence" if method == ORIGINAL else "meaning"
                    name = Name(encoder, method, view, task, dataset, metric)
                    level = measured.mean(name)
                    if level is not None and level.by_seed:
                        found[method] = Score(level, measured.difference(name, ORIGINAL))
                if found:
                    cells[f"{encoder}: {task} {dataset}"] = found
    return cells


def _ranks(cells: Scores, methods: Sequence[str]) -> dict[str, float]:
    """Mean over cells of the mean rank over seeds."""
    by_cell = []
    for found in cells.values():
        by_seed = [found[name].level.by_seed for name in methods]
        several = [set(one) for one in by_seed if len(one) != 1]
        seeds = sorted(set.intersection(*several)) if several else [0]
        values = [[one.get(seed, next(iter(one.values()))) for one in by_seed] for seed in seeds]
        by_cell.append(stats.rankdata(-np.array(values), axis=1).mean(axis=0))
    return dict(zip(methods, np.mean(by_cell, axis=0).tolist(), strict=True)) if methods else {}


def _standing(method: str, first: str, rank: float, points: Mapping[str, float], cells: Scores) -> Standing:
    difference = points[method] - points[first]
    if method == first:
        return Standing(method, rank, points[method], 0.0, None, None, TIED)
    ends = [_interval(found[method], found[first], method, first) for found in cells.values()]
    known = [end for end in ends if end is not None]
    if len(known) < len(ends):
        return Standing(method, rank, points[method], difference, None, None, TIED)
    # Means of the ends: at least as wide as the interval of the mean, however the cells depend on each other.
    low, high = fmean(end[0] for end in known), fmean(end[1] for end in known)
    by_seed = [paired(found[method].level, found[first].level) for found in cells.values()]
    # A cell of single results stands beside every seed of the others.
    several = [set(one) for one in by_seed if len(one) != 1]
    common = set.intersection(*several) if several else set(by_seed[0])
    seeds = [
        fmean(one - two for one, two in (pairs[seed if len(pairs) > 1 else min(pairs)] for pairs in by_seed))
        for seed in common
    ]
    worse = TIED
    if high < 0 and seeds and all(value < 0 for value in seeds):
        worse = WORSE
    elif low > 0 and seeds and all(value > 0 for value in seeds):
        worse = BETTER
    return Standing(method, rank, points[method], difference, low, high, worse)


def _interval(mine: Score, other: Score, method: str, first: str) -> tuple[float, float] | None:
    """Of mine minus other: from the ends of the paired differences to the original, else of the levels."""
    still = Number(0.0, 0.0, 0.0, False, {}, (), None)
    gains = (still if method == ORIGINAL else mine.gain), (still if first == ORIGINAL else other.gain)
    pairs = (gains, (mine.level, other.level))
    found = [end for one, two in pairs if one and two and (end := _apart(one, two))]
    return min(found, key=lambda end: end[1] - end[0], default=None)


def _apart(one: Number, two: Number) -> tuple[float, float] | None:
    if one.low is None or one.high is None or two.low is None or two.high is None:
        return None
    return one.low - two.high, one.high - two.low
