"""What ORACLE changes beside a host and alone, in scores: the three panels of its Figure 6."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import pandas as pd
from markupsafe import Markup

from orthoglot.study.papers.matching import SENTENCE, Run
from orthoglot.study.papers.measured import NO_METHOD, absent
from orthoglot.study.papers.published import P_AT_1
from orthoglot.study.report import plots
from orthoglot.study.report.comparisons import ORIGINAL
from orthoglot.study.report.frame import Name, Number
from orthoglot.study.report.queries import title
from orthoglot.study.report.table import EMPTY, Cell, Table, number

# What the paper's tables score, and by which metric.
TASKS = {"heldout": P_AT_1, "tatoeba": P_AT_1, "code-switched": P_AT_1, "sts": "spearman"}


class Gap(NamedTuple):
    """A score of a method with ORACLE's terms beside the same without them; unweighted means over a data set."""

    encoder: str
    panel: str  # a panel of the paper's figure
    method: str  # with the terms
    against: str  # without them; the undivided vector, where the terms stand alone
    data: str  # task and data set, in words
    view: str  # "meaning" or "language"
    score: Number  # what `method` scores
    without: Number | None  # what `against` scores; the undivided vector has no language view
    gap: Number | None  # `score` less `without`; the ends are None where the run has not paired them
    alone: float | None  # `score` less the score of the terms alone, where both were run
    alone_method: str  # the terms alone, in the same reading as `method` where the run has it, "" for none

    def row(self) -> dict[str, Any]:
        """The gap as plain values, for a file."""
        return self._asdict() | {
            "score": self.score.value,
            "without": self.without and self.without.value,
            "gap": self.gap and self.gap.value,
            "low": self.gap and self.gap.low,
            "high": self.gap and self.gap.high,
        }


def gaps(run: Run) -> list[Gap]:
    """The gaps by encoder, panel and data set, meaning before language, of every reading of a method that the run has.

    Source: docs/papers.md#protocol-gaps.
    """
    return [gap for encoder in run.encoders for panel in run.paper.panels for gap in _of(run, encoder, panel)]


def _of(run: Run, encoder: str, panel: str) -> Iterator[Gap]:
    left, right = run.paper.panels[panel]
    hosted = right != ORIGINAL
    alone = next((method for method, other in run.paper.panels.values() if other == ORIGINAL), "")
    alone_methods = list(run.methods_of(encoder, alone).values()) if hosted else []
    same_reading = dict(run.readings(encoder, left, alone)) if alone_methods else {}
    data = [
        (task, dataset, metric) for task, metric in TASKS.items() for dataset in run.measured.datasets(task)
    ]
    for (method, against), (task, dataset, metric) in product(run.readings(encoder, left, right), data):
        for view in ("meaning", "language"):
            name = Name(encoder, method, view, task, dataset, metric)
            score = run.level(name, None)
            if score is None:
                continue
            # The undivided vector has no language view.
            other = name._replace(method=against, view=view if hosted else SENTENCE)
            without = run.level(other, None) if hosted or view == "meaning" else None
            terms_alone = same_reading.get(method, next(iter(alone_methods), ""))
            less = run.level(name._replace(method=terms_alone), None) if terms_alone else None
            yield Gap(
                encoder=encoder,
                panel=panel,
                method=method,
                against=against,
                data=title(task, dataset),
                view=view,
                score=score,
                without=without,
                gap=without and (run.difference(name, other) or _apart(score, without)),
                alone=score.value - less.value if less else None,
                alone_method=terms_alone if less else "",
            )


def _apart(score: Number, without: Number) -> Number:
    return score._replace(value=score.value - without.value, low=None, high=None)


def gap_table(run: Run, shown: Sequence[Gap]) -> Table:
    """A row for each gap; a panel without its methods is grey."""
    note = (
        "From the hollow point, the method without ORACLE, to the filled one, the method with it; alone it stands "
        "beside the undivided vector, which has no language part. P@1 in percent, Spearman × 100: meaning should be "
        "high, language near chance or 0. Gap: with less without [95 % interval, paired]. The last column compares "
        "with ORACLE alone. The paper's figure prints no numbers, and its text does not name the scores."
    )
    rows: list[list[Cell]] = []
    for encoder, (panel, pair) in product(run.encoders, run.paper.panels.items()):
        in_panel = [gap for gap in shown if (gap.encoder, gap.panel) == (encoder, panel)]
        rows += map(_row, in_panel)
        if not in_panel:
            names = encoder, panel, " less ".join(pair), "", ""
            rows.append([*map(Cell, names), *[absent(NO_METHOD)] * 4])
    columns = ["Encoder", "Panel", "Methods", "Data", "View", "Without", "With", "Gap", "Less ORACLE alone"]
    return Table("Figure 6: what ORACLE changes beside a host and alone", note, columns, rows)


def _row(gap: Gap) -> list[Cell]:
    names = gap.encoder, gap.panel, f"{gap.method} less {gap.against}", gap.data, gap.view
    return [
        *map(Cell, names),
        EMPTY if gap.without is None else Cell(f"{gap.without.value:.2f}"),
        Cell(f"{gap.score.value:.2f}"),
        number(gap.gap, "+.2f"),
        EMPTY if gap.alone is None else Cell(f"{gap.alone:+.2f}", gap.alone_method),
    ]


def gap_figure(shown: Sequence[Gap]) -> Markup | None:
    """The panels; None without a gap."""
    if not shown:
        return None
    return plots.gaps(pd.DataFrame([gap.row() for gap in shown]).astype({"without": float}))
