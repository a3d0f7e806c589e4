"""What ORACLE changes beside a host and alone, in scores: the three panels of its Figure 6."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import pandas as pd
from markupsafe import Markup

from orthoglot.study.papers.measured import NO_METHOD, REASONS
from orthoglot.study.papers.published import P_AT_1
from orthoglot.study.papers.runs import SENTENCE, Run
from orthoglot.study.report import plots
from orthoglot.study.report.comparisons import ORIGINAL
from orthoglot.study.report.frame import Name, Number
from orthoglot.study.report.queries import title
from orthoglot.study.report.tables import EMPTY, Cell, Table

# What the paper's tables score, and by which metric.
TASKS = {"heldout": P_AT_1, "tatoeba": P_AT_1, "code-switched": P_AT_1, "sts": "spearman"}


class Gap(NamedTuple):
    """A score of a method with ORACLE's terms beside the same without them; unweighted means over a data set."""

    encoder: str  # of the run
    panel: str  # of the paper's figure
    method: str  # with the terms
    against: str  # without them; the undivided vector, where the terms stand alone
    data: str  # task and data set, in words
    view: str  # "meaning" or "language"
    score: Number  # of `method`
    without: Number | None  # of `against`; None of the language view of the undivided vector, which has none
    # `score` less `without`, paired where the run has it; the ends are None where it has not
    gap: Number | None
    # `score` less that of the terms alone; None where they were not run, or for themselves
    alone: float | None
    # the terms alone, in the same reading as `method` where the run has it; empty where there is none
    alone_method: str

    def row(self) -> dict[str, Any]:
        """The gap as plain values, for a file."""
        ends = (None, None) if self.gap is None else (self.gap.low, self.gap.high)
        return self._asdict() | {
            "score": self.score.value,
            "without": self.without and self.without.value,
            "gap": self.gap and self.gap.value,
            "low": ends[0],
            "high": ends[1],
        }


def gaps(run: Run) -> list[Gap]:
    """The gaps by encoder, panel and data set, meaning before language, of every reading of a method that the run has.

    Source: docs/papers.md#protocol-gaps.
    """
    return [gap for encoder in run.encoders for panel in run.paper.panels for gap in _of(run, encoder, panel)]


def _of(run: Run, encoder: str, panel: str) -> Iterator[Gap]:
    pair = run.paper.panels[panel]
    host = pair[1] != ORIGINAL
    alone = next((method for method, other in run.paper.panels.values() if other == ORIGINAL), "")
    alone_methods = run.methods_of(encoder, alone).values() if host else ()
    same = dict(run.readings(encoder, pair[0], alone)) if alone_methods else {}
    data = [
        (task, dataset, metric) for task, metric in TASKS.items() for dataset in run.measured.datasets(task)
    ]
    views = "meaning", "language"
    for (method, against), (task, dataset, metric), view in product(
        run.readings(encoder, *pair), data, views
    ):
        name = Name(encoder, method, view, task, dataset, metric)
        score = run.level(name, None)
        if score is None:
            continue
        # The undivided vector has no language view.
        other = name._replace(method=against, view=view if host else SENTENCE)
        without = run.level(other, None) if host or view == "meaning" else None
        themselves = same.get(method, next(iter(alone_methods), ""))
        less = run.level(name._replace(method=themselves), None) if themselves else None
        yield Gap(
            *(encoder, panel, method, against, title(task, dataset), view),
            score=score,
            without=without,
            gap=without and (run.difference(name, other) or _apart(score, without)),
            alone=score.value - less.value if less else None,
            alone_method=themselves if less else "",
        )


def _apart(score: Number, without: Number) -> Number:
    """The difference of two numbers that the run did not pair."""
    return score._replace(value=score.value - without.value, low=None, high=None)


def gap_table(run: Run, found: Sequence[Gap]) -> Table:
    """A row for each gap; a panel without its methods is grey."""
    note = (
        "From the hollow point, the method without ORACLE, to the filled one, the method with it; alone it stands "
        "beside the undivided vector, which has no language part. P@1 in percent, Spearman × 100: meaning should be "
        "high, language near chance or 0. Gap: with less without [95 % interval, paired]. The last column compares "
        "with ORACLE alone. The paper's figure prints no numbers, and its text does not name the scores."
    )
    rows: list[list[Cell]] = []
    for encoder, (panel, pair) in product(run.encoders, run.paper.panels.items()):
        shown = [gap for gap in found if (gap.encoder, gap.panel) == (encoder, panel)]
        rows += map(_row, shown)
        if not shown:
            grey = Cell(EMPTY.text, NO_METHOD, "absent", REASONS[NO_METHOD])
            rows.append([*map(Cell, (encoder, panel, " less ".join(pair), "", "")), *[grey] * 4])
    columns = ["Encoder", "Panel", "Methods", "Data", "View", "Without", "With", "Gap", "Less ORACLE alone"]
    return Table("Figure 6: what ORACLE changes beside a host and alone", note, columns, rows)


def _row(one: Gap) -> list[Cell]:
    names = one.encoder, one.panel, f"{one.method} less {one.against}", one.data, one.view
    gap = EMPTY
    if one.gap is not None:
        ends = f"[{one.gap.ends[0]:+.2f}, {one.gap.ends[1]:+.2f}]" if one.gap.ends else ""
        gap = Cell(f"{one.gap.value:+.2f}", ends)
    levels = [EMPTY if level is None else Cell(f"{level.value:.2f}") for level in (one.without, one.score)]
    alone = EMPTY if one.alone is None else Cell(f"{one.alone:+.2f}", one.alone_method)
    return [*map(Cell, names), *levels, gap, alone]


def gap_figure(found: Sequence[Gap]) -> Markup | None:
    """The panels; None without a gap."""
    if not found:
        return None
    return plots.gaps(pd.DataFrame([gap.row() for gap in found]).astype({"without": float}))
