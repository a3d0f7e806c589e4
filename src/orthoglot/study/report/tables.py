"""The tables of the report, and the same tables in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, product
from typing import Any, NamedTuple, cast

import pandas as pd

from orthoglot.statistics.records import ALL, GROUPS, MAE, P_AT_1, PROPORTIONS, TRANSFER
from orthoglot.study.report.frame import comparisons, rows, spread, where
from orthoglot.study.report.headline import CLOSED_FORM, Row, Score
from orthoglot.study.report.queries import (
    COMPARED,
    GEOMETRY,
    LEAKAGE,
    LEVEL,
    PERCENT,
    RETRIEVAL,
    SHAPES,
    better,
    host_comparisons,
    metric_name,
    overall,
    significance,
    tasks,
    title,
    undivided,
)
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
# The controls and confounds of quality estimation, see `orthoglot.study.tasks.suite.qe`.
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
ARROWS = {"higher": "↑", "lower": "↓"}
ROLES = {"undivided": "", "ours": "", "published": ", published", "best": ", best variant"}


class Cell(NamedTuple):
    """One cell: the number, its interval in small print, its style, and what a pointer on it shows.

    The style is "best", "good", "bad", "absent" or nothing.
    """

    text: str
    small: str = ""
    tone: str = ""
    hint: str = ""


class Table(NamedTuple):
    """One table of the report.

    `groups` are headings over several columns, each with their number; the cells of a `text` table are broken into
    lines.
    """

    title: str
    note: str
    columns: list[str]
    rows: list[list[Cell]]
    groups: Sequence[tuple[str, int]] = ()
    text: bool = False

    @property
    def starts(self) -> set[int]:
        """The first column of each group but the first."""
        return set(accumulate(count for _, count in self.groups[:-1]))


class Section(NamedTuple):
    """The tables of one task on one data set by one metric; None of leakage and geometry, which have several."""

    task: str
    dataset: str
    metric: str | None
    table: Table
    details: dict[str, list[Table]]


EMPTY = Cell("–")


def sections(records: pd.DataFrame) -> list[Section]:
    """One section per task, data set and metric, in the order of the records; leakage and geometry come last."""
    shown = []
    for key in tasks(records):
        compared = comparison_table(records, *key)
        kind = "By direction" if key[2] in PROPORTIONS else "By language pair"
        kind = "By language" if key[0] == NWAY else kind
        details = {compared.title: [compared], kind: list(subset_tables(records, *key))}
        if key[0] == "qe" and key[2] == "spearman":
            details["Controls and confounds"] = [checks_table(records, key[1])]
        details = {name: tables for name, tables in details.items() if tables and tables[0].rows}
        shown.append(Section(*key, task_table(records, *key), details))
    if (records["task"] == LEAKAGE).any():
        shown.append(Section(LEAKAGE, "test", None, leakage_table(records), {}))
    for dataset in records.loc[records["task"] == GEOMETRY, "dataset"].unique():
        details = {"Variants": [geometry_table(records, dataset, VARIANTS)]}
        shown.append(Section(GEOMETRY, dataset, None, geometry_table(records, dataset, SHAPES), details))
    return shown


def tracked(records: pd.DataFrame, selected: Sequence[str]) -> dict[str, Any]:
    """The numbers of metrics.json: {encoder: {task: {metric: {"original": .., "meaning": .., "language": .., ..}}}}.

    "original" is the sentence vector itself. "meaning" and "language" are those views, averaged over the `selected`
    methods, and "methods" has them for each method. All are means over data sets and seeds. The only correlation is
    Spearman's, without the language view.
    """
    values = overall(records)
    values = values[values["metric"].isin((*PROPORTIONS, "spearman"))]
    whole = values["method"].isin(undivided(records))
    original = values[whole & (values["view"] == "sentence")].assign(view="original")
    shown = (values["view"] == "meaning") | values["metric"].isin(PROPORTIONS)
    divided = values[~whole & (values["view"] != "sentence") & shown]
    chosen = pd.concat([original, divided[divided["method"].isin(selected)]])
    tree: dict[str, Any] = {}
    for (encoder, task, metric, view), value in _means(chosen, "view"):
        _put(tree, (encoder, task, metric_name(metric), view), value)
    for (encoder, task, metric, method, view), value in _means(divided, "method", "view"):
        _put(tree, (encoder, task, metric_name(metric), "methods", method, view), value)
    return tree


def _means(values: pd.DataFrame, *names: str) -> Iterator[tuple[tuple[str, ...], float]]:
    """The mean of each encoder's task and metric, and of each value of further columns."""
    means = values.groupby(["encoder", "task", "metric", *names], sort=False)["value"].mean()
    for keys, value in means.items():
        yield tuple(map(str, cast(tuple[str, ...], keys))), round(value, 4)


def _put(tree: dict[str, Any], names: Sequence[str], value: float) -> None:
    """Put a value into nested dictionaries, under these names."""
    for name in names[:-1]:
        tree = tree.setdefault(name, {})
    tree[names[-1]] = value


def headline_table(found: Sequence[Row], early: Collection[tuple[str, str]] = ()) -> Table:
    """A row per method; of each encoder retrieval by meaning, its change, retrieval by language, and any probe.

    Args:
        found: of the headline.
        early: (encoder, method) whose training may have ended too early, which stands by their change.
    """
    probed = any(row.probe for row in found)
    headings = ["By meaning ↑", "Change", "By language ↓", *["Language read ↓"] * probed]
    by_name = {(row.encoder, row.method): row for row in found}
    encoders = {row.encoder: title(row.task, row.dataset) for row in reversed(found)}
    encoders = {name: encoders[name] for name in dict.fromkeys(row.encoder for row in found)}
    table = []
    for method, about in {row.method: row for row in found}.items():
        family = about.family + (", best" if about.family == CLOSED_FORM else ROLES[about.role])
        cells = [Cell(method, family)]
        for encoder in encoders:
            row = by_name.get((encoder, method))
            if row is None:
                cells += [EMPTY] * len(headings)
                continue
            caveat = ", training may have ended too early" * ((encoder, method) in early)
            change = row.change and Cell(
                _points(row.change.value), _ends(row.change, _points) + caveat, row.tone
            )
            cells += [
                _level(row.meaning),
                change or EMPTY,
                _level(row.language),
                *[_level(row.probe)] * probed,
            ]
        table.append(cells)
    note = (
        "P@1: percent of sentences whose nearest neighbour is their translation. By meaning it should be high, by "
        "language as good as none. Change: by meaning, less the undivided vector, in points. In brackets: intervals "
        "over sentences, models fixed. Green and red: p < 0.05, corrected for all comparisons, and all seeds agree. "
        "Best: chosen by meaning, on the scores that are shown."
    )
    if probed:
        note += (
            " Language read: percent of sentences whose language a linear classifier tells from the meaning part. "
            "Retrieval does not show that: a part can find translations and still hold the language."
        )
    columns = ["Method", *headings * len(encoders)]
    groups = [("", 1), *((f"{encoder}: {task}", len(headings)) for encoder, task in encoders.items())]
    return Table("The answer in numbers", note, columns, table, groups)


def _level(score: Score | None) -> Cell:
    return EMPTY if score is None else Cell(f"{score.value:.1f}", _ends(score, lambda end: f"{end:.1f}"))


def _ends(score: Score, form: Callable[[float], str]) -> str:
    return f"[{form(score.low)}, {form(score.high)}]"


def means_table(records: pd.DataFrame) -> Table:
    """A row per method; of each encoder retrieval by both views, semantic similarity and quality estimation."""
    values = overall(records)
    whole = values["method"].isin(undivided(records)) & (values["view"] == "sentence")
    values = values.assign(view=values["view"].mask(whole, "meaning"))
    kinds = {
        "P@1 meaning ↑": (RETRIEVAL, "meaning", P_AT_1),
        "P@1 language ↓": (RETRIEVAL, "language", P_AT_1),
        "STS ↑": (["sts"], "meaning", "spearman"),
        "QE ↑": (["qe"], "meaning", "spearman"),
    }
    chosen = pd.concat(
        where(values[values["task"].isin(names)], view=view, metric=metric).assign(kind=kind)
        for kind, (names, view, metric) in kinds.items()
    )
    means = chosen.groupby(["method", "encoder", "kind"], sort=False)["value"].mean().reset_index()
    columns = list(product(values["encoder"].unique(), means["kind"].unique()))
    table = _grid(means, ["method"], ["encoder", "kind"], columns, lambda row: Cell(f"{row.value:.1f}"))
    note = (
        "Mean over data sets and seeds. P@1 in percent, of all retrieval tasks; STS and QE: Spearman's correlation "
        "times 100, by the meaning view. The original's “meaning” is its sentence vector."
    )
    return Table(
        "Every method, mean over tasks",
        note,
        ["Method", *(f"{encoder}: {kind}" for encoder, kind in columns)],
        table,
    )


def fine_tuned_table(tuned: pd.DataFrame, records: pd.DataFrame) -> Table:
    """A row per fine-tuned encoder, data set and metric, beside the same encoder's frozen vectors.

    Args:
        tuned: records of fine-tuned encoders.
        records: of all others.
    """
    measured, frozen = (
        spread(part[part["metric"].isin([*COMPARED, MAE]) & (part["subset"] == ALL)])
        for part in (tuned, records)
    )
    frozen = frozen[frozen["method"].isin(undivided(records)) & (frozen["view"] == "sentence")]
    keys = ["encoder", "task", "dataset", "metric"]
    levels = {tuple(getattr(row, key) for key in keys): row for row in rows(frozen)}
    shown = []
    for row in rows(measured):
        level = levels.get(tuple(getattr(row, key) for key in keys))
        names = [row.encoder, title(row.task, row.dataset), row.metric]
        shown.append(
            [*map(Cell, names), _score(row, trained=True), EMPTY if level is None else _score(level)]
        )
    note = (
        "Mean over languages and seeds [interval over sentences]. A fine-tuned encoder went on training on the task, "
        f"with a head; beside it, the task on the encoder's frozen vectors. {TRAININGS}"
    )
    columns = ["Encoder", "Task", "Metric", "Fine-tuned", "Frozen"]
    return Table("Fine-tuned encoders", note, columns, shown)


def host_table(records: pd.DataFrame, methods: Mapping[str, str | None]) -> Table:
    """A method with a host less the host, in retrieval: a row per encoder and method, a column per task and view."""
    compared = host_comparisons(records, methods)
    compared = compared.assign(
        what=[
            f"{title(row.task, row.dataset)}, {row.view} {ARROWS[better(row.task, row.view)]}"
            for row in rows(compared)
        ]
    )
    columns = list(compared["what"].unique())
    note = (
        "P@1 of the method minus that of its host, in points [interval], paired by sentence pair. "
        f"{TRAININGS} The arrow shows which way is better. {FIXED} Levels and p are in the "
        "sections of the tasks."
    )
    table = _grid(compared, ["encoder", "method", "baseline"], ["what"], columns, _difference)
    return Table("What a method adds to its host", note, ["Encoder", "Method", "Host", *columns], table)


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
            return _difference(row._replace(view="meaning"))
        return _score(row, "best" if best.get((row.encoder, row.view)) == row.method else "")

    columns = {
        "meaning": f"Meaning view {ARROWS[better(task, 'meaning')]}",
        "language": f"Language view {ARROWS[better(task, 'language')] if metric in PERCENT else '→ 0'}",
        "sentence": "Sentence vector",
        "difference": "Meaning − original",
    }
    table = _grid(shown, ["encoder", "method"], ["view"], list(columns), show)
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
    table = _grid(values, ["encoder", "method", "view"], ["metric"], list(CHECKS), _score)
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
        return _score(row, form=form, reach_form=form)

    table = _grid(values, ["encoder", "method"], ["metric", "view"], list(LEAKS), show)
    return Table(registry.title(LEAKAGE), note, ["Encoder", "Method", *LEAKS.values()], table)


def geometry_table(records: pd.DataFrame, dataset: str, metrics: Mapping[str, str]) -> Table:
    """Encoder, method and view by group of languages and metric."""
    values = spread(where(records, task=GEOMETRY, dataset=dataset))
    groups = [group for group in GROUPS if group in set(values["subset"])]
    columns = [(group, metric) for group in groups for metric in metrics]

    def show(row: Any) -> Cell:
        """Four significant digits, as these numbers span decades."""
        return _score(row, form=".4g", reach_form=".2g")

    table = _grid(values, ["encoder", "method", "view"], ["subset", "metric"], columns, show)
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
    """A table per encoder and view: a row per direction, pair or language, a column per method."""
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
            table = _grid(chosen, ["subset"], ["method"], methods, _score)
            if table:
                yield Table(f"{encoder}, {view} view", note, [heading, *methods], table)


def comparison_table(records: pd.DataFrame, task: str, dataset: str, metric: str) -> Table:
    """Every paired comparison of a task by a metric, with the p of the bootstrap and, of hits, of the sign test."""
    chosen = where(comparisons(where(records, task=task, dataset=dataset)), compared=metric)
    hits = metric in PROPORTIONS
    table = []
    for row in rows(chosen):
        names = row.encoder, f"{row.method}, {row.view}", f"{row.baseline}, {row.baseline_view}"
        probabilities = [row.p, *[row.sign_p] * hits]
        table.append(
            [*map(Cell, names), _difference(row), *map(_probability, probabilities), Cell(f"{row.n:,}")]
        )
    columns = ["Encoder", "Method, view", "Against", "Difference", "p", *["Sign test p"] * hits, "n"]
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
    # No encoder is named where every encoder has the same.
    named = len({*map(tuple, encoders.values())}) > 1
    title, note = registry.examples(task)
    columns = [
        *["Encoder"] * named,
        "Languages",
        *dict.fromkeys(name for example in shown for name in example.texts),
    ]
    cells = [[*[Cell(", ".join(names))] * named, *map(Cell, row)] for row, names in encoders.items()]
    return Table(title, note, columns, cells, text=True)


def markdown(shown: Iterable[Table]) -> str:
    """Tables that have a row, in Markdown."""
    return "\n".join(_markdown(table) for table in shown if table.rows)


def _markdown(table: Table) -> str:
    body = [[" ".join(filter(None, (cell.text, cell.small))) for cell in row] for row in table.rows]
    over = [name for name, count in table.groups for _ in range(count)] or [""] * len(table.columns)
    columns = [f"{group}: {name}" if group else name for group, name in zip(over, table.columns, strict=True)]
    lines = map(_markdown_row, [columns, ["---"] * len(table.columns), *body])
    return "\n".join([f"### {table.title}\n", f"{table.note}\n", *lines]) + "\n"


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("<", "&lt;") for cell in cells) + " |"


def _grid(
    values: pd.DataFrame,
    by: list[str],
    across: list[str],
    columns: Sequence[Any],
    show: Callable[[Any], Cell],
) -> list[list[Cell]]:
    """A row for each distinct `by`, in the order of the values; a cell for each of `columns`, which `across` has."""
    keys = values[by].itertuples(index=False, name=None)
    places = values[across[0]] if len(across) == 1 else values[across].itertuples(index=False, name=None)
    table: dict[tuple[Any, ...], dict[Any, Any]] = {}
    for key, place, row in zip(keys, places, rows(values), strict=True):
        table.setdefault(key, {})[place] = row
    return [
        [
            *(Cell(str(name)) for name in key),
            *(show(line[column]) if column in line else EMPTY for column in columns),
        ]
        for key, line in table.items()
    ]


def _score(
    row: Any, tone: str = "", form: str = ".1f", reach_form: str = ".1f", *, trained: bool = False
) -> Cell:
    """A value, its interval if it has one, and what other seeds would change, of a view that was trained."""
    small = [] if pd.isna(row.low) else [f"[{row.low:{form}}, {row.high:{form}}]"]
    if (trained or row.view != "sentence") and pd.notna(row.reach):
        small.append(f"± {row.reach:{reach_form}}")
    return Cell(f"{row.value:{form}}", " ".join(small), tone)


def _difference(row: Any) -> Cell:
    small = f"[{_points(row.low)}, {_points(row.high)}]"
    if pd.notna(row.reach):
        small += f" ± {row.reach:.1f}"
    return Cell(_points(row.value), small, significance(row))


def _points(value: float) -> str:
    return f"{round(value, 1) + 0.0:+.1f}"  # adding zero turns -0.0 into +0.0


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
        parts += encoders
        about = "; ".join(parts)
    else:
        about = ". ".join(
            ["; ".join(parts), *(f"{', '.join(names)}: {data}" for data, names in encoders.items())]
        )
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
