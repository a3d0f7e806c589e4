"""The tables of one task on one data set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from orthoglot.statistics.records import ALL, GROUPS, PROPORTIONS, TRANSFER
from orthoglot.study.report.frame import comparisons, rows, spread, where
from orthoglot.study.report.queries import (
    GEOMETRY,
    LEAKAGE,
    LEVEL,
    PERCENT,
    SHAPES,
    better,
    metric_name,
    overall,
    significance,
    tasks,
    title,
    undivided,
)
from orthoglot.study.report.table import ARROWS, POINTS, Cell, Table, grid, number, reach
from orthoglot.study.tasks import registry
from orthoglot.study.tasks.examples import Shown
from orthoglot.study.tasks.registry import NWAY

# Metric and view of each column of the leakage table, its heading, and which way is better.
LEAKS = {
    ("cosine", "language"): "cos(meaning, language) × 100 → 0",
    ("norm:meaning", "meaning"): "Length of meaning",
    ("norm:language", "language"): "Length of language",
    ("language_share", "meaning"): "Language share: meaning ↓",
    ("language_share", "language"): "language ↑",
    ("language_share", "sentence"): "sentence",
    ("r2:meaning", "language"): "R² of meaning from language ↓",
    ("r2:sentence", "language"): "R² of sentence from language ↓",
}
# The other metrics of the geometry.
VARIANTS = {
    "kl-d:full": "KL-D, full covariance ↓",
    "kl-d:full/d": "the same over D ↓",
    "ch-i:ratio": "CH-I, ratio ↑",
    "pr:both-signs": "PR over both signs → 1",
}
# The controls and confounds of quality estimation, see `orthoglot.study.tasks.kinds.qe`.
CHECKS = {
    "untranslated:above": "Source scored above translation ↓",
    "length:prediction": "Prediction with length",
    "length:gold": "Gold with length",
    "length-ratio:prediction": "Prediction with length ratio",
    "length-ratio:gold": "Gold with length ratio",
    "pearson:length-removed": "Pearson without length",
    "pooled:pearson": "Pearson of all pairs at once",
    "pooled:within": "the same within pairs",
    "pooled:between": "Covariance between pairs",
}
FIXED = (
    "Intervals and p take the trained models as fixed: they show what other sentences would change, ± shows what "
    f"other seeds would. Colour: p < {LEVEL} and all seeds agree in sign."
)
INTERVALS = {"wilson": "Wilson", "bootstrap-percentile": "bootstrap"}
TRAININGS = (
    "± is half of the 95 % interval over trainings with other seeds (Student's t); from two seeds it is wide."
)


class Section(NamedTuple):
    """The tables of one task on one data set by one metric; None for leakage and geometry, which have several."""

    task: str
    dataset: str
    metric: str | None
    table: Table
    details: dict[str, list[Table]]


def sections(records: pd.DataFrame) -> list[Section]:
    """One section per task, data set and metric, in the order of the records; leakage and geometry come last."""
    shown = []
    for task, dataset, metric in tasks(records):
        kind = "By direction" if metric in PROPORTIONS else "By language pair"
        details = {
            "Paired comparisons": [comparison_table(records, task, dataset, metric)],
            "By language" if task == NWAY else kind: list(subset_tables(records, task, dataset, metric)),
        }
        if task == "qe" and metric == "spearman":
            details["Controls and confounds"] = [checks_table(records, dataset)]
        details = {name: tables for name, tables in details.items() if tables and tables[0].rows}
        table = task_table(records, task, dataset, metric)
        shown.append(Section(task, dataset, metric, table, details))
    if (records["task"] == LEAKAGE).any():
        shown.append(Section(LEAKAGE, "test", None, leakage_table(records), {}))
    for dataset in records.loc[records["task"] == GEOMETRY, "dataset"].unique():
        details = {"Variants": [geometry_table(records, dataset, VARIANTS)]}
        shown.append(Section(GEOMETRY, dataset, None, geometry_table(records, dataset, SHAPES), details))
    return shown


def task_table(records: pd.DataFrame, task: str, dataset: str, metric: str) -> Table:
    """Encoder and method by view, and the difference to the undivided vector."""
    values = where(overall(records), task=task, dataset=dataset, metric=metric)
    best = {
        (encoder, view): _clearly_best(scores, view, metric, better(task, view))
        for view in ("meaning", "language")
        for encoder, scores in where(values, view=view).groupby("encoder")
    }
    differences = comparisons(where(records, task=task, dataset=dataset))
    differences = where(differences, compared=metric, baseline_view="sentence")
    differences = differences.assign(view="difference")
    shown = pd.concat([values, differences], ignore_index=True)

    def show(row: Any) -> Cell:
        if row.view == "difference":
            return difference_cell(row._replace(view="meaning"))
        return score_cell(row, "best" if best.get((row.encoder, row.view)) == row.method else "")

    columns = {
        "meaning": f"Meaning view {ARROWS[better(task, 'meaning')]}",
        "language": f"Language view {ARROWS[better(task, 'language')] if metric in PERCENT else '→ 0'}",
        "sentence": "Sentence vector",
        "difference": "Meaning − original",
    }
    table = grid(shown, ["encoder", "method"], ["view"], list(columns), show)
    headings = ["Encoder", "Method", *columns.values()]
    return Table(title(task, dataset, metric), _note(values, task, metric), headings, table)


def checks_table(records: pd.DataFrame, dataset: str) -> Table:
    """Encoder, method and view by what else than quality a correlation may come from."""
    scores = where(records, task="qe", dataset=dataset, subset=ALL)
    values = spread(scores[scores["metric"].isin(CHECKS) & (scores["view"] != "language")])
    note = (
        "Does the cosine follow quality, or something simpler? Source scored above translation: percent of items whose "
        "source, left as it is in the translation's place, has the higher cosine with the source; ideal 0. Length: "
        "correlation times 100 with the characters of the source, ratio: with the log of the translation's over the "
        "source's; gold stands by for comparison. Without length: Pearson's correlation of prediction and gold after "
        "regressing both on length and ratio. These are means over language pairs. At once: all items in one "
        "correlation; within: of the deviations from each pair's mean; between: percent of the covariance of all items "
        f"that comes from the means of the pairs. {TRAININGS}"
    )
    table = grid(values, ["encoder", "method", "view"], ["metric"], list(CHECKS), score_cell)
    return Table("Controls and confounds", note, ["Encoder", "Method", "View", *CHECKS.values()], table)


def leakage_table(records: pd.DataFrame) -> Table:
    """Encoder and method by what the two parts share."""
    values = spread(where(records, task=LEAKAGE, subset=ALL))
    shares = values[values["metric"] == "language_share"]
    chance = float(shares["chance"].iloc[0])
    note = (
        "On held-out sentences, unweighted mean over language pairs. Only the lengths depend on the scale of a view: "
        "they are mean lengths over that of the sentence vector. Language share: percent of a view's variance that "
        f"lies between the languages of a pair, from 0 to 100, chance {chance:.2g}. R²: percent of the variance of "
        "held-out sentences that ridge regression from the language view explains, at most 100, below 0 if worse than "
        "the mean; a language view that holds only the language scores 0 for meaning, and the sentence's language "
        "share for the sentence. Intervals resample pivot sentences and keep models, means and regressions. "
        f"{TRAININGS}"
    )

    def show(row: Any) -> Cell:
        form = ".2f" if row.metric.startswith("norm") else ".1f"
        return score_cell(row, form=form, reach_form=form)

    table = grid(values, ["encoder", "method"], ["metric", "view"], list(LEAKS), show)
    return Table(registry.title(LEAKAGE), note, ["Encoder", "Method", *LEAKS.values()], table)


def geometry_table(records: pd.DataFrame, dataset: str, metrics: Mapping[str, str]) -> Table:
    """Encoder, method and view by group of languages and metric."""
    values = spread(where(records, task=GEOMETRY, dataset=dataset))
    groups = [group for group in GROUPS if group in set(values["subset"])]
    columns = [(group, metric) for group in groups for metric in metrics]

    def show(row: Any) -> Cell:
        return score_cell(row, form=".4g", reach_form=".2g")  # as these numbers span decades

    table = grid(values, ["encoder", "method", "view"], ["subset", "metric"], columns, show)
    languages = {
        group: where(values, subset=group)["languages"].iloc[0].replace(",", " ") for group in groups
    }
    parts = ", ".join(f"{group}: {codes}" for group, codes in languages.items() if group != ALL)
    note = (
        f"{values['n'].min():,} sentences, each in all languages ({parts or languages[ALL]}), vectors scaled to length "
        "1. KL-D: how differently languages are spread, in nats, symmetric KL divergence of Gaussians (diagonal "
        "covariance), mean over pairs of languages; 0 is the same. CH-I: Calinski and Harabasz's index with a "
        "sentence's translations as its cluster. PR: isotropy, 1 where no direction is preferred; a direction's sign "
        "is the solver's choice, which widens the interval. Intervals leave out a tenth of the sentences at a time and "
        f"keep models and languages. {TRAININGS} Groups differ in their number of "
        "languages, on which CH-I depends. Arrows are for meaning and undivided vectors: a language view that is one "
        "vector for each language has a CH-I of 0 and a huge KL-D, as it should; vectors that are all the same have a "
        "PR of 0.368 or less."
    )
    heading = title(GEOMETRY, dataset)
    if metrics is VARIANTS:
        heading = "Other forms of the same measures"
        note = (
            "Of the same vectors: Gaussians with a full covariance, shrunk (Ledoit and Wolf), which depends on the "
            "number of sentences and has no interval; CH-I without the factor of its sizes, as it is printed; the "
            "least and greatest sum over both signs of each direction."
        )
    headings = [f"{group.capitalize()}: {metrics[metric]}" for group, metric in columns]
    return Table(heading, note, ["Encoder", "Method", "View", *headings], table)


def subset_tables(records: pd.DataFrame, task: str, dataset: str, metric: str) -> Iterator[Table]:
    """A table per encoder and view with a row per direction, pair or language, and a column per method."""
    values = where(records[records["seed"].isna()], task=task, dataset=dataset, metric=metric)
    values = values[values["subset"] != ALL]
    whole = values["method"].isin(undivided(records))
    for encoder in values["encoder"].unique():
        for view in ("meaning", "language"):
            # The undivided vector is the reference of the meaning view.
            shown = (values["view"] == view) | (whole & (view == "meaning"))
            chosen = values[(values["encoder"] == encoder) & shown]
            methods = list(chosen["method"].unique())
            note, heading = "Mean over seeds.", "Query → candidate" if metric in PROPORTIONS else "Pair"
            if task in TRANSFER:
                heading = "Learnt → tested"
            if task == NWAY and len(chosen):
                # n languages have n (n - 1) directions.
                chosen = chosen.assign(subset=chosen["subset"].str.split("->")).explode("subset")
                chosen = chosen.groupby(["subset", "method"], as_index=False)["value"].mean()
                chosen[["low", "high"]] = float("nan")
                note = "Mean over seeds and over all directions from and to the language; each direction is a record."
                heading = "Language"
            chosen = chosen.assign(
                subset=chosen["subset"].str.replace("->", " → "), view=view, reach=float("nan")
            )
            table = grid(chosen, ["subset"], ["method"], methods, score_cell)
            if table:
                yield Table(f"{encoder}, {view} view", note, [heading, *methods], table)


def comparison_table(records: pd.DataFrame, task: str, dataset: str, metric: str) -> Table:
    """Every paired comparison of a task by a metric, with the p of the bootstrap and, for hits, of the sign test."""
    chosen = where(comparisons(where(records, task=task, dataset=dataset)), compared=metric)
    hits = metric in PROPORTIONS
    columns = ["Encoder", "Method, view", "Against", "Difference", "p", "n"]
    if hits:
        columns.insert(-1, "Sign test p")
    table = []
    for row in rows(chosen):
        cells = [
            Cell(row.encoder),
            Cell(f"{row.method}, {row.view}"),
            Cell(f"{row.baseline}, {row.baseline_view}"),
        ]
        cells += [difference_cell(row), _probability(row.p)]
        if hits:
            cells.append(_probability(row.sign_p))
        table.append([*cells, Cell(f"{row.n:,}")])
    if hits:
        scale = (
            f"Points of {metric_name(metric)}. Both p are Holm-corrected over the rows of this table; the sign "
            "test counts one win or loss for each pivot sentence"
        )
    elif metric in PERCENT:
        scale = f"Points of {metric_name(metric)}. p is Holm-corrected over the rows of this table"
    else:
        scale = (
            f"Differences of {metric_name(metric)}'s correlations times 100, from -200 to 200. p is "
            "Holm-corrected over the rows of this table. The language view's ideal is 0, so its differences have "
            "no better side"
        )
    note = (
        f"{scale}; n counts sentence pairs. p is a paired bootstrap over pivot sentences and cannot be smaller than "
        f"the number of rows over the number of resamples. {FIXED}"
    )
    return Table("Paired comparisons", note, columns, table)


def examples_table(task: str, shown: Sequence[Shown]) -> Table:
    """Examples in text of a task; what several encoders have is one row."""
    encoders: dict[tuple[str, ...], list[str]] = {}
    for example in shown:
        encoders.setdefault((example.subset, *example.texts.values()), []).append(example.encoder)
    title, note = registry.examples(task)
    columns = ["Languages", *dict.fromkeys(name for example in shown for name in example.texts)]
    table = [[Cell(text) for text in texts] for texts in encoders]
    if len({*map(tuple, encoders.values())}) > 1:  # else every encoder has the same, and none is named
        columns.insert(0, "Encoder")
        table = [
            [Cell(", ".join(names)), *cells] for names, cells in zip(encoders.values(), table, strict=True)
        ]
    return Table(title, note, columns, table, text=True)


def score_cell(
    row: Any, tone: str = "", form: str = ".1f", reach_form: str = ".1f", *, trained: bool = False
) -> Cell:
    """A value, its interval if it has one, and what other seeds would change, of a view that was trained."""
    more = reach(row, reach_form) if trained or row.view != "sentence" else ""
    return number(row, form, tone, more)


def difference_cell(row: Any) -> Cell:
    """A paired difference, coloured where it is significant."""
    return number(row, POINTS, significance(row), reach(row))


def _probability(p: float) -> Cell:
    return Cell("< 0.001" if p < 0.001 else f"{p:.3f}")


def _clearly_best(values: pd.DataFrame, view: str, metric: str, direction: str) -> str | None:
    """The method whose whole interval is better than that of each other method, if there is one."""
    low, high = values["low"].to_numpy(), values["high"].to_numpy()
    if view == "language" and metric not in PERCENT:
        # The nearest to 0 is best; an interval that holds 0 reaches it.
        nearest = pd.DataFrame({"low": abs(low), "high": abs(high)})
        crossing, direction = (low <= 0) & (high >= 0), "lower"
        low, high = nearest.min(axis=1).mask(crossing, 0.0).to_numpy(), nearest.max(axis=1).to_numpy()
    if direction == "lower":
        low, high = -high, -low
    order = low.argsort()[::-1]
    if len(order) < 2 or not low[order[0]] > high[order[1:]].max():
        return None
    return str(values["method"].iloc[order[0]])


def _note(values: pd.DataFrame, task: str, metric: str) -> str:
    """The scale of the scores, and how they were made: for each encoder, where their data differ."""
    name = metric_name(metric)
    scale = (
        f"{name[:1].upper()}{name[1:]} in percent"
        if metric in PERCENT
        else f"{name}'s correlation with the gold scores times 100, from -100 to 100"
    )
    parts = [scale]
    if metric not in PERCENT:
        parts.append("the prediction is the cosine of the two sentences; the language view's ideal is 0")
        parts.append("unweighted mean over language pairs; a constant prediction has no correlation: –")
    if "undefined" in values and (values["undefined"].fillna("0") != "0").any():
        parts.append("a mean leaves out the language pairs and seeds whose prediction is constant")
    encoders: dict[str, list[str]] = {}
    for encoder, scores in values.groupby("encoder", sort=False):
        encoders.setdefault(_data(scores, task), []).append(str(encoder))
    if len(encoders) == 1:
        about = "; ".join([*parts, *encoders])
    else:
        data = [f"{', '.join(names)}: {data}" for data, names in encoders.items()]
        about = ". ".join(["; ".join(parts), *data])
    return f"{about}. {TRAININGS} Bold: the interval is better than all others."


def _data(values: pd.DataFrame, task: str) -> str:
    """What an encoder was scored on, and the kind of the intervals."""
    facts = values.iloc[0].dropna()
    parts = [f"chance {float(facts['chance']):.2g}"] if "chance" in facts else []
    if "candidates" in facts:
        directions = "pairs" if task == "code-switched" else "pairs and both directions"
        parts.append(f"{facts['candidates']} candidates, unweighted mean over {directions}")
    if "languages" in facts:
        parts.append(f"{facts['languages']} languages, linear classifier, {facts['test']} sentences scored")
    if "seen_dropped" in facts:
        parts.append(f"{facts['seen_dropped']} pairs dropped as training saw one of their sentences")
    parts.append(
        f"{values['n'].max():,} sentence pairs; {float(facts['confidence']):.0%} interval "
        f"({INTERVALS[facts['interval']]}) over {int(facts['units']):,} distinct pivot sentences"
    )
    return "; ".join(parts)
