"""Which method is best for which use, over all encoders, data sets and seeds of a run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy import stats

from orthoglot.errors import ConfigError
from orthoglot.statistics.records import P_AT_1, Record
from orthoglot.study.report.comparisons import ORIGINAL
from orthoglot.study.report.frame import Measured, Name, Number, apart
from orthoglot.study.report.table import EMPTY, Cell, Table, interval

# Use: (task, metric) of the meaning view; the metric of a correlation is that of the paper which scores it.
USES: dict[str, tuple[tuple[str, str], ...]] = {
    "retrieval": (("heldout", P_AT_1), ("tatoeba", P_AT_1)),
    "scoring": (("sts", "spearman"), ("qe", "pearson")),
    "search": (("code-switched", P_AT_1), ("tatoeba", P_AT_1)),
}
WORSE, TIED, BETTER = "yes", "not shown", "no, more points"
NOTE = (
    "Rank: mean over cells (encoder and data set) and seeds, 1 is best. Points: mean score times 100 (P@1 in "
    "percent). The interval of a difference in points resamples sentences and takes models, encoders and data sets "
    "as fixed; it is at least 95 % wide. A difference is shown if its interval does not contain 0 and all seeds "
    "agree in its sign."
)
NONE = Number(0.0, 0.0, 0.0, False, {}, (), None)


class Standing(NamedTuple):
    """How one method compares with the first."""

    method: str  # its name
    rank: float  # mean rank, 1 is best; equal values share the mean of their ranks
    points: float  # mean score times 100 over the same cells
    difference: float  # its points minus those of the first
    low: float | None  # lower end of the interval of `difference`, None where a record lacks its own
    high: float | None  # upper end
    worse: str  # than the first: "yes", "not shown", or "no, more points" where rank and points disagree


class Advice(NamedTuple):
    """The methods of one use, best first."""

    use: str  # one of `USES`
    standings: list[Standing]  # sorted by mean rank, then by points
    cells: list[str]  # "encoder: task data set" in which the methods are ranked
    left_out: list[str]  # methods that some cell lacks
    lacking: list[str]  # tasks of the use that the run does not have


class Score(NamedTuple):
    """A method's number in one cell, and its paired difference to the original vector where there is one."""

    level: Number
    gain: Number | None


def recommend(records: Sequence[Record], use: str) -> Advice:
    """Rank the methods of a run in every cell (encoder, data set) and seed; the best mean rank comes first.

    The original vector takes part. A method with one seed has the same value in every seed.

    Raises:
        ConfigError: no such use.
        DataError: no record, or damaged ones.
    """
    if use not in USES:
        raise ConfigError(f"no use called {use}; there are {', '.join(USES)}")
    measured = Measured(records)
    cells = _cells(measured, use)
    lacking = [task for task, _ in USES[use] if not any(f": {task} " in name for name in cells)]
    methods = [
        name for name in measured.methods if cells and all(name in scores for scores in cells.values())
    ]
    left_out = [name for name in measured.methods if name not in methods]
    standings = _standings([[scores[name] for name in methods] for scores in cells.values()], methods)
    return Advice(use, standings, list(cells), left_out, lacking)


def table(advice: Advice) -> Table:
    """The advice as a table, best method first."""
    rows: list[list[Cell]] = []
    for standing in advice.standings:
        cells = [Cell(standing.method), Cell(f"{standing.rank:.2f}"), Cell(f"{standing.points:.2f}")]
        if rows:
            small = interval(standing.low, standing.high, "+.2f")
            cells += [Cell(f"{standing.difference:+.2f}", small), Cell(standing.worse)]
        else:
            cells = [cells[0]._replace(tone="best"), *cells[1:], EMPTY, EMPTY]
        rows.append(cells)
    notes = [verdict(advice)]
    if advice.cells:
        notes.append(f"Cells: {'; '.join(advice.cells)}.")
    if advice.lacking:
        notes.append(f"Not in this run: {', '.join(advice.lacking)}.")
    if advice.left_out:
        notes.append(f"Left out, as some cell lacks them: {', '.join(advice.left_out)}.")
    columns = ["Method", "Mean rank", "Points", "Points − the first's", "Worse than the first"]
    return Table(f"Best method for {advice.use}", " ".join([*notes, NOTE]), columns, rows)


def verdict(advice: Advice) -> str:
    """The advice in one sentence."""
    if not advice.standings:
        return f"No advice for {advice.use}: the run has no data set for it, or no method in all of them."
    first, *others = advice.standings
    if rivals := [standing.method for standing in others if standing.worse != WORSE]:
        return (
            f"For {advice.use} {first.method} has the best mean rank, but was not shown to be better than "
            f"{', '.join(rivals)}."
        )
    if not others:
        return f"For {advice.use} {first.method} is the only method of this run."
    return f"For {advice.use} {first.method} is best; each of the other {len(others)} is worse."


def _cells(measured: Measured, use: str) -> dict[str, dict[str, Score]]:
    cells: dict[str, dict[str, Score]] = defaultdict(dict)
    for task, metric in USES[use]:
        for dataset, encoder in product(measured.datasets(task), measured.encoders):
            for method in measured.methods_of(encoder):
                view = "sentence" if method == ORIGINAL else "meaning"
                name = Name(encoder, method, view, task, dataset, metric)
                level = measured.mean(name)
                if level is not None and level.by_seed:
                    gain = NONE if method == ORIGINAL else measured.difference(name, ORIGINAL)
                    cells[f"{encoder}: {task} {dataset}"][method] = Score(level, gain)
    return cells


def _standings(cells: Sequence[Sequence[Score]], methods: Sequence[str]) -> list[Standing]:
    """The methods by rank; `cells` holds the scores of each."""
    if not methods:
        return []
    several = [
        set(score.level.by_seed) for scores in cells for score in scores if len(score.level.by_seed) > 1
    ]
    seeds = sorted(set.intersection(*several)) if several else [None]

    def value(number: Number, seed: int | None) -> float:
        """A number of one seed has its value in every seed."""
        return number.by_seed[seed] if seed in number.by_seed else next(iter(number.by_seed.values()))

    # (cells, methods, seeds)
    values = np.array(
        [[[value(score.level, seed) for seed in seeds] for score in scores] for scores in cells]
    )
    ranks = stats.rankdata(-values, axis=1).mean(axis=(0, 2))
    points = np.mean([[score.level.value for score in scores] for scores in cells], axis=0)
    order = sorted(range(len(methods)), key=lambda place: (round(ranks[place], 9), -points[place]))
    first = order[0]
    standings = []
    for place in order:
        low = high = None
        worse = TIED
        intervals = [ends for scores in cells if (ends := _interval(scores[place], scores[first]))]
        if place != first and seeds and len(intervals) == len(cells):
            # Means of the ends: at least as wide as the interval of the mean, however the cells depend on each other.
            low, high = (float(end) for end in np.mean(intervals, axis=0))
            by_seed = (values[:, place] - values[:, first]).mean(axis=0)
            if high < 0 and (by_seed < 0).all():
                worse = WORSE
            elif low > 0 and (by_seed > 0).all():
                worse = BETTER
        rank, score = float(ranks[place]), float(points[place])
        difference = float(points[place] - points[first])
        standings.append(Standing(methods[place], rank, score, difference, low, high, worse))
    return standings


def _interval(mine: Score, other: Score) -> tuple[float, float] | None:
    """The interval of mine minus other: from the paired gains or from the levels, whichever is narrower."""
    pairs = ((mine.gain, other.gain), (mine.level, other.level))
    intervals = [ends for left, right in pairs if left and right and (ends := apart(left, right))]
    return min(intervals, key=lambda ends: ends[1] - ends[0], default=None)
