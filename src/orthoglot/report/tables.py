"""Every table of the report, as cells to print; the same tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from orthoglot.report.queries import (
    GEOMETRY,
    LEAKAGE,
    LEVEL,
    SCALES,
    SHAPES,
    TITLES,
    chosen_values,
    comparisons,
    first,
    hosted,
    lines,
    ordered,
    over_seeds,
    overall,
    same,
    spread,
    tasks,
    title,
    tone,
    wanted,
)
from orthoglot.statistics.comparisons import ORIGINAL
from orthoglot.statistics.records import ALL, PROPORTIONS, unsign
from orthoglot.tasks.geometry import GROUPS
from orthoglot.tasks.registry import NWAY

# Metric and view of each column of the leakage table, its heading, and which way is better.
LEAKS = (
    ("cosine", "language", "cos(meaning, language) × 100 → 0"),
    ("norm:meaning", "meaning", "Length of meaning"),
    ("norm:language", "language", "Length of language"),
    ("language_share", "meaning", "Language share: meaning ↓"),
    ("language_share", "language", "language ↑"),
    ("language_share", "sentence", "sentence"),
    ("r2:meaning", "language", "R² of meaning from language ↓"),
    ("r2:sentence", "language", "R² of sentence from language ↓"),
)
# The other readings of the geometry.
READINGS = {
    "kl-d:full": "KL-D, full covariance ↓",
    "kl-d:full/d": "the same over D ↓",
    "ch-i:ratio": "CH-I, ratio ↑",
    "pr:both-signs": "PR over both signs → 1",
}
FIXED = (
    "Intervals and p take the trained models as fixed: they tell what other sentences would change, ± what "
    f"other seeds would. Colour: p < {LEVEL} and all seeds agree in sign."
)
INTERVALS = {"wilson": "Wilson", "bootstrap-percentile": "bootstrap"}
ARROWS = {"higher": "↑", "lower": "↓"}


class Cell(NamedTuple):
    """One cell: the number, what is small beside it, and "best", "good", "bad" or nothing."""

    text: str
    small: str = ""
    tone: str = ""


class Table(NamedTuple):
    """One table of the report."""

    title: str
    note: str
    columns: list[str]
    rows: list[list[Cell]]


class Section(NamedTuple):
    """Everything the report tells in tables about one task on one data set by one metric, if it is compared by one."""

    task: str
    dataset: str
    metric: str | None
    table: Table
    comparisons: Table
    details: list[Table]


def sections(records: pd.DataFrame) -> list[Section]:
    """One section per task, data set and metric, in the order of the records; leakage and geometry come last."""
    found = [
        Section(
            *key, task_table(records, *key), comparison_table(records, *key), list(details(records, *key))
        )
        for key in tasks(records)
    ]
    if (records["task"] == LEAKAGE).any():
        nothing = Table("", "", [], [])
        found.append(Section(LEAKAGE, "test", None, leakage_table(records), nothing, []))
    for dataset in records.loc[records["task"] == GEOMETRY, "dataset"].unique():
        table = geometry_table(records, dataset, SHAPES)
        nothing, readings = Table("", "", [], []), geometry_table(records, dataset, READINGS)
        found.append(Section(GEOMETRY, dataset, None, table, nothing, [readings]))
    return found


def headline(records: pd.DataFrame) -> Table:
    """What ORACLE adds to each host in retrieval, meaning and language view, per encoder."""
    values = overall(records)
    rows = []
    for found in hosted(records):
        chosen = values[same(values, found, "task", "dataset", "encoder", "view")]
        chosen = chosen[chosen["metric"] == found.compared]
        before, after = (first(chosen[chosen["method"] == name]) for name in (found.baseline, found.method))
        arrow = ARROWS[wanted(found.task, found.view)]
        task = title(found.task, found.dataset, found.compared)
        names = found.encoder, found.baseline, found.method, task, f"{found.view} {arrow}"
        rows.append([*map(Cell, names), *map(_score, (before, after)), *_difference(found)])
    note = (
        "P@1 in percent [interval] ± standard deviation over seeds. The arrow says which way is better. "
        "The difference is paired by sentence pair over seeds and directions [interval] ± standard deviation "
        "of the differences by seed; p is a paired bootstrap over pivot sentences, Holm-corrected over the "
        "comparisons of its task: it cannot be smaller than their number over the number of resamples. "
        f"{FIXED}"
    )
    columns = ["Encoder", "Host", "Method", "Task", "View", "Host alone", "Host + ORACLE", "Difference", "p"]
    return Table("What ORACLE adds", note, columns, rows)


def task_table(records: pd.DataFrame, task: str, dataset: str, metric: str) -> Table:
    """Encoder and method by view."""
    values = chosen_values(overall(records), task, dataset, metric)
    differences = chosen_values(comparisons(records), task, dataset, metric, "compared")
    differences = differences[differences["baseline"] == ORIGINAL]
    rows = []
    for encoder in values["encoder"].unique():
        chosen = values[values["encoder"] == encoder]
        for method in ordered(chosen["method"]):
            cells = [Cell(encoder), Cell(method)]
            for view in ("meaning", "language", "sentence"):
                found = chosen[(chosen["method"] == method) & (chosen["view"] == view)]
                best = _best(chosen, task, view, metric)
                cells.append(_score(first(found), best) if len(found) else Cell("–"))
            against = differences[(differences["encoder"] == encoder) & (differences["method"] == method)]
            cells.append(_difference(first(against))[0] if len(against) else Cell("–"))
            rows.append(cells)
    arrows = {view: ARROWS[wanted(task, view)] for view in ("meaning", "language")}
    if metric not in PROPORTIONS:
        arrows["language"] = "→ 0"
    columns = [
        "Encoder",
        "Method",
        f"Meaning view {arrows['meaning']}",
        f"Language view {arrows['language']}",
        "Sentence vector",
        "Meaning − original",
    ]
    return Table(title(task, dataset, metric), _note(values, metric), columns, rows)


def leakage_table(records: pd.DataFrame) -> Table:
    """Encoder and method by what the two parts share."""
    values = over_seeds(records[records["task"] == LEAKAGE])
    rows = []
    for encoder in values["encoder"].unique():
        chosen = values[values["encoder"] == encoder]
        for method in ordered(chosen["method"]):
            own = chosen[chosen["method"] == method]
            cells = [Cell(encoder), Cell(method)]
            for metric, view, _ in LEAKS:
                found = own[(own["metric"] == metric) & (own["view"] == view)]
                cells.append(
                    _score(first(found), digits=2 if "norm" in metric else 1) if len(found) else Cell("–")
                )
            rows.append(cells)
    shares = values[values["metric"] == "language_share"]
    chance = float(unsign(shares["signature"].iloc[0])["chance"])
    note = (
        "On held-out sentences, unweighted mean over language pairs. Nothing but the lengths depends on the "
        "scale of a view. Lengths are mean lengths over that of the sentence vector. Language share: percent of "
        f"a view's variance that lies between the languages of a pair, from 0 to 100, chance {chance:.2g}. R²: "
        "percent of the variance of held-out sentences that ridge regression from the language view explains, at "
        "most 100, below 0 if worse than the mean; a language view that holds the language alone scores 0 for "
        "meaning and the sentence's language share for the sentence. Intervals resample pivot sentences and "
        "keep models, means and regressions. ± is the standard deviation over seeds."
    )
    return Table(TITLES[LEAKAGE], note, ["Encoder", "Method", *(heading for *_, heading in LEAKS)], rows)


def geometry_table(records: pd.DataFrame, dataset: str, metrics: Mapping[str, str]) -> Table:
    """Encoder, method and view by group of languages and metric."""
    values = spread(records[(records["task"] == GEOMETRY) & (records["dataset"] == dataset)])
    groups = [group for group in GROUPS if group in set(values["subset"])]
    cells = {(row.encoder, row.method, row.view, row.subset, row.metric): row for row in lines(values)}
    rows = []
    for encoder in values["encoder"].unique():
        own = values[values["encoder"] == encoder]
        for method in ordered(own["method"]):
            views = own.loc[own["method"] == method, "view"].unique()
            for view in views:
                found = [cells.get((encoder, method, view, g, m)) for g in groups for m in metrics]
                rows.append(
                    [
                        Cell(encoder),
                        Cell(method),
                        Cell(view),
                        *(_measured(one) if one else Cell("–") for one in found),
                    ]
                )
    facts = {
        group: unsign(values.loc[values["subset"] == group, "signature"].iloc[0])["languages"]
        for group in groups
    }
    told = ", ".join(
        f"{group}: {languages.replace(',', ' ')}" for group, languages in facts.items() if group != ALL
    )
    note = (
        f"{values['n'].min():,} sentences side by side in all languages ({told or facts[ALL].replace(',', ' ')}), "
        "vectors scaled to length 1. KL-D: how differently languages are spread, in nats, symmetric KL divergence "
        "of Gaussians (diagonal covariance), mean over pairs of languages; 0 is the same. CH-I: Calinski and "
        "Harabasz's index with a sentence's translations as its cluster. PR: isotropy, 1 where no direction is "
        "preferred; a direction's sign is the solver's choice, which widens the interval. Intervals leave out a tenth "
        "of the sentences at a time and keep models and languages; ± is the standard deviation over seeds. Groups "
        "differ in their number of languages, on which CH-I depends. Arrows are "
        "for meaning and undivided vectors: a language view that is one vector for each language has a CH-I of 0 and a "
        "huge KL-D, as it should; vectors that are all one have a PR of 0.368 or less."
    )
    if metrics is READINGS:
        note = (
            "Of the same vectors: Gaussians with a full covariance, shrunk (Ledoit and Wolf), which depends on the "
            "number of sentences and has no interval; CH-I without the factor of its sizes, as it is printed; the "
            "least and greatest sum over both signs of each direction."
        )
    columns = [f"{group.capitalize()}: {heading}" for group in groups for heading in metrics.values()]
    heading = title(GEOMETRY, dataset, "Accuracy") if metrics is SHAPES else "Other readings"
    return Table(heading, note, ["Encoder", "Method", "View", *columns], rows)


def details(records: pd.DataFrame, task: str, dataset: str, metric: str) -> Iterator[Table]:
    """Per direction, or per language: one table per encoder and view, one column per method."""
    accuracy = records[(records["subset"] != ALL) & records["seed"].isna()]
    accuracy = chosen_values(accuracy, task, dataset, metric)
    for encoder in accuracy["encoder"].unique():
        for view in ("meaning", "language"):
            # The original has one view only, which stands beside the others' meaning as the reference.
            shown = accuracy["view"] == view
            if view == "meaning":
                shown |= (accuracy["view"] == "sentence") & (accuracy["method"] == ORIGINAL)
            chosen = accuracy[(accuracy["encoder"] == encoder) & shown]
            if chosen.empty:
                continue
            methods = ordered(chosen["method"])
            if task == NWAY:
                yield _by_language(f"{encoder}, {view} view", chosen, methods)
                continue
            cells = {(row.subset, row.method): _plain(row) for row in lines(chosen)}
            rows = [
                [Cell(subset.replace("->", " → "))]
                + [cells.get((subset, name), Cell("–")) for name in methods]
                for subset in chosen["subset"].unique()
            ]
            heading = "Query → candidate" if metric in PROPORTIONS else "Pair"
            yield Table(f"{encoder}, {view} view", "Mean over seeds.", [heading, *methods], rows)


def _by_language(title: str, chosen: pd.DataFrame, methods: Sequence[str]) -> Table:
    """A row a language, as n of them have n (n - 1) directions."""
    directions = chosen.assign(language=chosen["subset"].str.split("->")).explode("language")
    means = directions.groupby(["language", "method"])["value"].mean().unstack("method")
    rows = [
        [Cell(str(language)), *(Cell(f"{row[name]:.1f}" if pd.notna(row[name]) else "–") for name in methods)]
        for language, row in means.iterrows()
    ]
    note = "Mean over seeds and over all directions from and to the language; each direction is a record."
    return Table(title, note, ["Language", *methods], rows)


def comparison_table(records: pd.DataFrame, task: str, dataset: str, metric: str) -> Table:
    """Every paired comparison of a task by a metric, with the p of the bootstrap and, of hits, of the sign test."""
    chosen = chosen_values(comparisons(records), task, dataset, metric, "compared")
    hits = metric in PROPORTIONS
    rows = []
    for found in lines(chosen):
        against = f"{found.baseline}, {unsign(found.signature)['baseline_view']}"
        names = Cell(found.encoder), Cell(f"{found.method}, {found.view}"), Cell(against)
        n = Cell(f"{found.n:,}")
        signs = [_probability(found.sign_p)] if hits else []
        rows.append([*names, *_difference(found), *signs, n])
    columns = ["Encoder", "Method, view", "Against", "Difference", "p", *["Sign test p"] * hits, "n"]
    if hits:
        told = (
            "Points. Both p are Holm-corrected over the rows of this table; the sign test counts one win or loss for "
            "each pivot sentence"
        )
    else:
        told = (
            f"Differences of {metric.capitalize()}'s correlations times 100, from -200 to 200. p is "
            "Holm-corrected over the rows of this table. The language view's ideal is 0, so its differences have "
            "no better side"
        )
    note = f"{told}; n counts sentence pairs. {FIXED}"
    return Table("Paired comparisons", note, columns, rows)


def markdown(top: Table, told: Sequence[Section]) -> str:
    """The report's tables in Markdown."""
    tables = [top]
    for section in told:
        tables += [section.table, section.comparisons, *section.details]
    return "\n".join(_markdown(one) for one in tables if one.rows)


def _markdown(table: Table) -> str:
    lines = [
        f"### {table.title}\n",
        f"{table.note}\n",
        _line(table.columns),
        _line(["---"] * len(table.columns)),
    ]
    for row in table.rows:
        lines.append(_line([" ".join(filter(None, (cell.text, cell.small))) for cell in row]))
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("<", "&lt;") for cell in cells) + " |"


def _score(row: Any, best: float | None = None, digits: int = 1) -> Cell:
    small = f"[{row.low:.{digits}f}, {row.high:.{digits}f}]"
    if row.view != "sentence" and pd.notna(row.sd):
        small += f" ± {row.sd:.{digits}f}"
    return Cell(f"{row.value:.{digits}f}", small, "best" if best == round(row.value, 1) else "")


def _plain(row: Any) -> Cell:
    return Cell(f"{row.value:.1f}", f"[{row.low:.1f}, {row.high:.1f}]")


def _measured(row: Any) -> Cell:
    """Four figures, as these numbers span decades."""
    told = [] if pd.isna(row.low) else [f"[{row.low:.4g}, {row.high:.4g}]"]
    if row.view != "sentence" and pd.notna(row.sd):
        told.append(f"± {row.sd:.2g}")
    return Cell(f"{row.value:.4g}", " ".join(told))


def _best(values: pd.DataFrame, task: str, view: str, metric: str) -> float | None:
    """The best value of a view, as printed, among an encoder's methods; the sentence view has no rivals."""
    found = values[values["view"] == view]["value"]
    if view == "sentence" or found.empty:
        return None
    if view == "language" and metric not in PROPORTIONS:
        return round(float(min(found, key=abs)), 1)
    return round(float(found.max() if wanted(task, view) == "higher" else found.min()), 1)


def _difference(row: Any) -> list[Cell]:
    """Difference and p of a comparison."""
    small = f"[{_points(row.low)}, {_points(row.high)}]"
    if pd.notna(row.sd):
        small += f" ± {row.sd:.1f}"
    return [Cell(_points(row.value), small, tone(row)), _probability(row.p)]


def _points(value: float) -> str:
    return f"{round(value, 1) + 0.0:+.1f}"  # adding zero turns -0.0 into +0.0


def _probability(p: float) -> Cell:
    return Cell("< 0.001" if p < 0.001 else f"{p:.3f}")


def _note(values: pd.DataFrame, metric: str) -> str:
    signatures = [unsign(signature) for signature in values["signature"]]
    facts = signatures[0]
    told = [f"{SCALES[metric]}, chance {float(facts['chance']):.2g}"]
    if metric not in PROPORTIONS:
        told.append("the prediction is the cosine of the two sentences; the language view's ideal is 0")
        told.append("unweighted mean over language pairs; a constant prediction has no correlation: –")
    if any(int(one.get("undefined", 0)) for one in signatures):
        told.append("a mean goes without the language pairs and seeds whose prediction is constant")
    if "candidates" in facts:
        directions = "pairs" if values["task"].iloc[0] == "code-switched" else "pairs and both directions"
        told.append(f"{facts['candidates']} candidates, unweighted mean over {directions}")
    if "languages" in facts:
        told.append(f"{facts['languages']} languages, linear classifier, {facts['test']} sentences scored")
    if "seen_dropped" in facts:
        told.append(f"{facts['seen_dropped']} pairs dropped as training saw one of their sentences")
    told.append(
        f"{values['n'].max():,} sentence pairs; {float(facts['confidence']):.0%} interval "
        f"({INTERVALS[facts['interval']]}) over {int(facts['units']):,} distinct pivot sentences"
    )
    return "; ".join(told) + ". ± is the standard deviation over seeds."
