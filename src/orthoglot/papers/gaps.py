"""What ORACLE changes beside a host and alone, in scores: the three panels of its Figure 6."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from orthoglot.papers.published import P_AT_1
from orthoglot.papers.runs import SENTENCE, Run
from orthoglot.report.queries import title
from orthoglot.statistics.comparisons import ORIGINAL
from orthoglot.statistics.table import Name, Number

# What the paper's tables score, and by which metric.
TASKS = {"heldout": P_AT_1, "tatoeba": P_AT_1, "code-switched": P_AT_1, "sts": "spearman"}


class Gap(NamedTuple):
    """A score of a method with ORACLE's terms beside that of the method without them; unweighted means over a data set.

    Attributes:
        encoder: of the run.
        panel: of the paper's figure.
        method: with the terms.
        against: without them; the undivided vector, where the terms stand alone.
        data: task and data set, in words.
        view: "meaning" or "language".
        score: of `method`.
        without: of `against`; None of the language view of the undivided vector, which has none.
        gap: `score` less `without`, paired where the run has it; the ends are None where it has not.
        alone: `score` less that of the terms alone; None where they were not run, or for themselves.
        alone_method: the terms alone, in the same reading as `method` where the run has it; empty where there is none.
    """

    encoder: str
    panel: str
    method: str
    against: str
    data: str
    view: str
    score: Number
    without: Number | None
    gap: Number | None
    alone: float | None
    alone_method: str

    def row(self) -> dict[str, Any]:
        """As plain values, for a file."""
        ends = (None, None) if self.gap is None else (self.gap.low, self.gap.high)
        return self._asdict() | {
            "score": self.score.value,
            "without": self.without and self.without.value,
            "gap": self.gap and self.gap.value,
            "low": ends[0],
            "high": ends[1],
        }


def gaps(run: Run) -> list[Gap]:
    """By encoder, panel and data set, meaning before language; of every reading of a method that the run has.

    Source: docs/papers.md#protocol-gaps.
    """
    return [one for encoder in run.encoders for panel in run.paper.panels for one in _of(run, encoder, panel)]


def _of(run: Run, encoder: str, panel: str) -> Iterator[Gap]:
    pair = run.paper.panels[panel]
    alone = next((method for method, host in run.paper.panels.values() if host == ORIGINAL), "")
    every = run.methods_of(encoder, alone).values() if pair[0] != alone else ()
    same = dict(run.readings(encoder, pair[0], alone)) if every else {}
    for method, against in run.readings(encoder, *pair):
        themselves = same.get(method, next(iter(every), ""))
        for task, metric in TASKS.items():
            for dataset in run.measured.datasets(task):
                for view in ("meaning", "language"):
                    name = Name(encoder, method, view, task, dataset, metric)
                    other = name._replace(method=against, view=SENTENCE if pair[1] == ORIGINAL else view)
                    score = run.level(name, None)
                    if score is None:
                        continue
                    whole = pair[1] == ORIGINAL and view == "language"
                    without = None if whole else run.level(other, None)
                    gap = without and (run.difference(name, other) or _apart(score, without))
                    less = run.level(name._replace(method=themselves), None) if themselves else None
                    yield Gap(
                        *(encoder, panel, method, against, title(task, dataset), view),
                        score=score,
                        without=without,
                        gap=gap,
                        alone=score.value - less.value if less else None,
                        alone_method=themselves if less else "",
                    )


def _apart(score: Number, without: Number) -> Number:
    """The difference of two numbers that the run did not pair."""
    return score._replace(value=score.value - without.value, low=None, high=None)
