"""Tables over all tasks of a run, and the numbers of metrics.json."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import product
from typing import Any

import pandas as pd

from orthoglot.statistics.records import ALL, MAE, P_AT_1, PROPORTIONS
from orthoglot.study.report import queries
from orthoglot.study.report.frame import rows, spread, where
from orthoglot.study.report.headline import CLOSED_FORM, Row
from orthoglot.study.report.table import ARROWS, EMPTY, POINTS, Cell, Table, grid, number
from orthoglot.study.report.task_tables import FIXED, TRAININGS, difference_cell, score_cell

ROLES = {"undivided": "", "ours": "", "published": ", published", "best": ", best variant"}


def tracked(records: pd.DataFrame, selected: Sequence[str]) -> dict[str, Any]:
    """The numbers of metrics.json: {encoder: {task: {metric: {"original": .., "meaning": .., "language": .., ..}}}}.

    "original" is the sentence vector itself. "meaning" and "language" are those views, averaged over the `selected`
    methods, and "methods" has them for each method. All are means over data sets and seeds. The only correlation is
    Spearman's, without the language view.
    """
    values = queries.overall(records)
    values = values[values["metric"].isin((*PROPORTIONS, "spearman"))]
    whole = values["method"].isin(queries.undivided(records))
    original = values[whole & (values["view"] == "sentence")].assign(view="original")
    shown = (values["view"] == "meaning") | values["metric"].isin(PROPORTIONS)
    divided = values[~whole & (values["view"] != "sentence") & shown]
    chosen = pd.concat([original, divided[divided["method"].isin(selected)]])
    tree: dict[str, Any] = {}
    for table, names in ((chosen, ["view"]), (divided, ["method", "view"])):
        means = table.groupby(["encoder", "task", "metric", *names], sort=False)["value"].mean()
        for row in rows(means.reset_index()):
            metrics = tree.setdefault(row.encoder, {}).setdefault(row.task, {})
            branch = metrics.setdefault(queries.metric_name(row.metric), {})
            if "method" in names:
                branch = branch.setdefault("methods", {}).setdefault(row.method, {})
            branch[row.view] = round(row.value, 4)
    return tree


def headline_table(answer: Sequence[Row], early: Collection[tuple[str, str]] = ()) -> Table:
    """A row per method; of each encoder retrieval by meaning, its change, retrieval by language, and any probe.

    Args:
        answer: The headline.
        early: (encoder, method) whose training may have ended too early, which stands by their change.
    """
    headings = ["By meaning ↑", "Change", "By language ↓"]
    note = (
        "P@1: percent of sentences whose nearest neighbour is their translation. By meaning it should be high, by "
        "language as good as none. Change: by meaning, less the undivided vector, in points. In brackets: intervals "
        "over sentences, models fixed. Green and red: p < 0.05, corrected for all comparisons, and all seeds agree. "
        "Best: chosen by meaning, on the scores that are shown."
    )
    probed = any(row.probe for row in answer)
    if probed:
        headings.append("Language read ↓")
        note += (
            " Language read: percent of sentences whose language a linear classifier tells from the meaning part. "
            "Retrieval does not show that: a part can find translations and still hold the language."
        )
    by_name = {(row.encoder, row.method): row for row in answer}
    # An encoder's first row says what it was scored on.
    encoders: dict[str, str] = {}
    for row in answer:
        encoders.setdefault(row.encoder, queries.title(row.task, row.dataset))
    table = []
    for method, last in {row.method: row for row in answer}.items():
        role = ", best" if last.family == CLOSED_FORM else ROLES[last.role]
        cells = [Cell(method, last.family + role)]
        for encoder in encoders:
            score = by_name.get((encoder, method))
            if score is None:
                cells += [EMPTY] * len(headings)
                continue
            change = number(score.change, POINTS, score.tone)
            if score.change and (encoder, method) in early:
                change = change._replace(small=f"{change.small}, training may have ended too early")
            cells += [number(score.meaning), change, number(score.language)]
            if probed:
                cells.append(number(score.probe))
        table.append(cells)
    groups = [("", 1), *((f"{encoder}: {task}", len(headings)) for encoder, task in encoders.items())]
    return Table("The answer in numbers", note, ["Method", *headings * len(encoders)], table, groups)


def means_table(records: pd.DataFrame) -> Table:
    """A row per method; of each encoder retrieval by both views, semantic similarity and quality estimation."""
    values = queries.undivided_as_meaning(queries.overall(records), records)
    kinds = {
        "P@1 meaning ↑": (queries.RETRIEVAL, "meaning", P_AT_1),
        "P@1 language ↓": (queries.RETRIEVAL, "language", P_AT_1),
        "STS ↑": (["sts"], "meaning", "spearman"),
        "QE ↑": (["qe"], "meaning", "spearman"),
    }
    chosen = pd.concat(
        where(values[values["task"].isin(names)], view=view, metric=metric).assign(kind=kind)
        for kind, (names, view, metric) in kinds.items()
    )
    means = chosen.groupby(["method", "encoder", "kind"], sort=False)["value"].mean().reset_index()
    columns = list(product(values["encoder"].unique(), means["kind"].unique()))
    table = grid(means, ["method"], ["encoder", "kind"], columns, lambda row: Cell(f"{row.value:.1f}"))
    note = (
        "Mean over data sets and seeds. P@1 in percent, of all retrieval tasks; STS and QE: Spearman's correlation "
        "times 100, by the meaning view. The original's “meaning” is its sentence vector."
    )
    headings = ["Method", *(f"{encoder}: {kind}" for encoder, kind in columns)]
    return Table("Every method, mean over tasks", note, headings, table)


def fine_tuned_table(tuned: pd.DataFrame, records: pd.DataFrame) -> Table:
    """A row per fine-tuned encoder, data set and metric, beside the same encoder's frozen vectors.

    Args:
        tuned: Records of fine-tuned encoders.
        records: All others.
    """
    measured, frozen = (
        spread(part[part["metric"].isin([*queries.COMPARED, MAE]) & (part["subset"] == ALL)])
        for part in (tuned, records)
    )
    frozen = frozen[frozen["method"].isin(queries.undivided(records)) & (frozen["view"] == "sentence")]
    levels = {(row.encoder, row.task, row.dataset, row.metric): score_cell(row) for row in rows(frozen)}
    table = [
        [
            Cell(row.encoder),
            Cell(queries.title(row.task, row.dataset)),
            Cell(row.metric),
            score_cell(row, trained=True),
            levels.get((row.encoder, row.task, row.dataset, row.metric), EMPTY),
        ]
        for row in rows(measured)
    ]
    note = (
        "Mean over languages and seeds [interval over sentences]. A fine-tuned encoder went on training on the task, "
        f"with a head; beside it, the task on the encoder's frozen vectors. {TRAININGS}"
    )
    return Table("Fine-tuned encoders", note, ["Encoder", "Task", "Metric", "Fine-tuned", "Frozen"], table)


def host_table(records: pd.DataFrame, methods: Mapping[str, str | None]) -> Table:
    """A method with a host less the host, in retrieval: a row per encoder and method, a column per task and view."""
    compared = queries.host_comparisons(records, methods)
    what = [
        f"{queries.title(row.task, row.dataset)}, {row.view} {ARROWS[queries.better(row.task, row.view)]}"
        for row in rows(compared)
    ]
    columns = list(dict.fromkeys(what))
    note = (
        "P@1 of the method minus that of its host, in points [interval], paired by sentence pair. "
        f"{TRAININGS} The arrow shows which way is better. {FIXED} Levels and p are in the "
        "sections of the tasks."
    )
    table = grid(
        compared.assign(what=what), ["encoder", "method", "baseline"], ["what"], columns, difference_cell
    )
    return Table("What a method adds to its host", note, ["Encoder", "Method", "Host", *columns], table)
