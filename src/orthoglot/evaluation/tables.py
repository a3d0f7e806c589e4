"""Every table of the report as a query over the records; the same tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, fields
from typing import Any, NamedTuple

import pandas as pd

from orthoglot.evaluation.base import ALL, Record, unsign
from orthoglot.evaluation.comparisons import ORACLE, ORIGINAL

PROBE = "language-probe"
# Families of methods in the order of the papers; unknown ones follow by name.
METHOD_ORDER = (ORIGINAL, "centering", "oracle", "dream", "dream+oracle", "meat", "meat+oracle", "seed")
TITLES = {"heldout": "Held-out retrieval", "tatoeba": "Tatoeba retrieval", PROBE: "Language probe"}
LEVEL = 0.05
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
    """Everything the report tells in tables about one task on one data set."""

    task: str
    dataset: str
    table: Table
    comparisons: Table
    details: list[Table]


def sections(records: pd.DataFrame) -> list[Section]:
    """One section per task and data set, in the order of the records."""
    return [
        Section(
            *key, task_table(records, *key), comparison_table(records, *key), list(details(records, *key))
        )
        for key in tasks(records)
    ]


def frame(records: Sequence[Record]) -> pd.DataFrame:
    """Records as a table, one row per number; seed is a nullable integer."""
    names = [field.name for field in fields(Record)]
    table = pd.DataFrame([asdict(record) for record in records], columns=names)
    return table.astype({"seed": "Int64", "low": "float64", "high": "float64", "n": "int64"})


def lines(table: pd.DataFrame) -> Iterator[Any]:
    """The rows as named tuples, whose fields pandas cannot type."""
    yield from table.itertuples(index=False)


def first(table: pd.DataFrame) -> Any:
    """The first row as a named tuple."""
    return next(lines(table))


def ordered(methods: Iterable[str]) -> list[str]:
    """Distinct methods in the order of the papers."""
    known = {name: rank for rank, name in enumerate(METHOD_ORDER)}
    return sorted(set(methods), key=lambda name: (known.get(name, len(known)), name))


def label(task: str, dataset: str) -> str:
    """A short name of a task on a data set, as in metrics.json: "heldout", "tatoeba/mini"."""
    return task if dataset in ("test", task) else f"{task}/{dataset}"


def title(task: str, dataset: str) -> str:
    """A readable name of a task on a data set."""
    name = TITLES.get(task, task)
    return name if dataset in ("test", task) else f"{name} ({dataset})"


def tasks(records: pd.DataFrame) -> list[tuple[str, str]]:
    """Distinct (task, dataset), in the order of the records."""
    distinct = records[["task", "dataset"]].drop_duplicates()
    return list(distinct.itertuples(index=False, name=None))


def wanted(task: str, view: str) -> str:
    """ "higher" or "lower": a probe should read language off the language view, retrieval should not."""
    return "higher" if (view == "language") == (task == PROBE) else "lower"


def overall(records: pd.DataFrame) -> pd.DataFrame:
    """Accuracy over all subsets, mean over seeds, with `sd` over seeds (NaN for one seed)."""
    accuracy = records[(records["metric"] == "accuracy") & (records["subset"] == ALL)]
    keys = ["task", "dataset", "view", "encoder", "method"]
    by_seed = accuracy[accuracy["seed"].notna()].groupby(keys, sort=False)["value"]
    spread = by_seed.agg(sd="std", seeds="count").reset_index()
    return accuracy[accuracy["seed"].isna()].merge(spread, on=keys, validate="one_to_one")


def comparisons(records: pd.DataFrame) -> pd.DataFrame:
    """One row per paired difference, with its `baseline` and both corrected probabilities beside it."""
    chosen = records[records["metric"] != "accuracy"]
    names = chosen["metric"].str.split(":", n=1)
    chosen = chosen.assign(kind=names.str[0], baseline=names.str[1])
    keys = ["task", "dataset", "encoder", "method", "view", "baseline"]
    wide = chosen.pivot(index=keys, columns="kind", values="value")
    wide = wide.reindex(columns=["p", "mcnemar"]).reset_index()
    return chosen[chosen["kind"] == "difference"].merge(wide, on=keys, validate="one_to_one")


def headline(records: pd.DataFrame) -> Table:
    """What ORACLE adds to each host in retrieval, meaning and language view, per encoder."""
    values = overall(records)
    differences = comparisons(records)
    rows = []
    for encoder in records["encoder"].unique():
        for found in lines(differences[differences["encoder"] == encoder]):
            host = found.baseline
            if found.method != host + ORACLE or found.task == PROBE:
                continue
            chosen = values[_same(values, found, "task", "dataset", "encoder", "view")]
            before, after = (first(chosen[chosen["method"] == name]) for name in (host, found.method))
            arrow = ARROWS[wanted(found.task, found.view)]
            names = encoder, host.upper(), title(found.task, found.dataset), f"{found.view} {arrow}"
            rows.append([*map(Cell, names), *map(_accuracy, (before, after)), *_difference(found)])
    note = (
        "Accuracy in percent [interval] ± standard deviation over seeds. The arrow says which way is better. "
        "The difference is paired by sentence pair over seeds and directions; p is a paired bootstrap over "
        "sentence pairs, Holm-corrected over the comparisons of its task: it cannot be smaller than their "
        "number over the number of resamples."
    )
    columns = ["Encoder", "Host", "Task", "View", "Host alone", "Host + ORACLE", "Difference", "p"]
    return Table("What ORACLE adds", note, columns, rows)


def task_table(records: pd.DataFrame, task: str, dataset: str) -> Table:
    """Encoder and method by view."""
    values = overall(records)
    values = values[(values["task"] == task) & (values["dataset"] == dataset)]
    differences = comparisons(records)
    same = (differences["task"] == task) & (differences["dataset"] == dataset)
    differences = differences[same & (differences["baseline"] == ORIGINAL)]
    rows = []
    for encoder in values["encoder"].unique():
        chosen = values[values["encoder"] == encoder]
        for method in ordered(chosen["method"]):
            cells = [Cell(encoder), Cell(method)]
            for view in ("meaning", "language", "sentence"):
                found = chosen[(chosen["method"] == method) & (chosen["view"] == view)]
                cells.append(_accuracy(first(found), _best(chosen, task, view)) if len(found) else Cell("–"))
            against = differences[(differences["encoder"] == encoder) & (differences["method"] == method)]
            cells.append(_difference(first(against))[0] if len(against) else Cell("–"))
            rows.append(cells)
    arrows = {view: ARROWS[wanted(task, view)] for view in ("meaning", "language")}
    columns = [
        "Encoder",
        "Method",
        f"Meaning view {arrows['meaning']}",
        f"Language view {arrows['language']}",
        "Sentence vector",
        "Meaning − original",
    ]
    return Table(title(task, dataset), _note(values), columns, rows)


def details(records: pd.DataFrame, task: str, dataset: str) -> Iterator[Table]:
    """Per direction: one table per encoder and view, one column per method."""
    accuracy = records[
        (records["metric"] == "accuracy") & (records["subset"] != ALL) & records["seed"].isna()
    ]
    accuracy = accuracy[(accuracy["task"] == task) & (accuracy["dataset"] == dataset)]
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
            cells = {(row.subset, row.method): _plain(row) for row in lines(chosen)}
            rows = [
                [Cell(subset.replace("->", " → "))]
                + [cells.get((subset, name), Cell("–")) for name in methods]
                for subset in chosen["subset"].unique()
            ]
            yield Table(f"{encoder}, {view} view", "Mean over seeds.", ["Query → candidate", *methods], rows)


def comparison_table(records: pd.DataFrame, task: str, dataset: str) -> Table:
    """Every paired comparison of a task, with both p."""
    chosen = comparisons(records)
    chosen = chosen[(chosen["task"] == task) & (chosen["dataset"] == dataset)]
    rows = []
    for found in lines(chosen):
        against = f"{found.baseline}, {unsign(found.signature)['baseline_view']}"
        names = Cell(found.encoder), Cell(f"{found.method}, {found.view}"), Cell(against)
        n = Cell(f"{found.n:,}")
        rows.append([*names, *_difference(found), _probability(found.mcnemar), n])
    columns = ["Encoder", "Method, view", "Against", "Difference", "p", "McNemar p", "n"]
    note = (
        "Points of accuracy. Both p are Holm-corrected over the rows of this table; n counts resampled items."
    )
    return Table("Paired comparisons", note, columns, rows)


def markdown_table(records: Sequence[Record]) -> str:
    """Every table of the report in Markdown, per direction and comparisons included."""
    table = frame(records)
    return markdown(headline(table), sections(table))


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


def _accuracy(row: Any, best: float | None = None) -> Cell:
    small = f"[{row.low:.1f}, {row.high:.1f}]"
    if row.view != "sentence" and pd.notna(row.sd):
        small += f" ± {row.sd:.1f}"
    return Cell(f"{row.value:.1f}", small, "best" if best == round(row.value, 1) else "")


def _plain(row: Any) -> Cell:
    return Cell(f"{row.value:.1f}", f"[{row.low:.1f}, {row.high:.1f}]")


def _best(values: pd.DataFrame, task: str, view: str) -> float | None:
    """The best value of a view, as printed, among an encoder's methods; the sentence view has no rivals."""
    found = values[values["view"] == view]["value"]
    if view == "sentence" or found.empty:
        return None
    return round(float(found.max() if wanted(task, view) == "higher" else found.min()), 1)


def _same(records: pd.DataFrame, row: Any, *names: str) -> pd.Series:
    """Which records agree with `row` in the named fields."""
    return (records[list(names)] == [getattr(row, name) for name in names]).all(axis=1)


def _difference(row: Any) -> list[Cell]:
    """Difference and p of a comparison; the tone says whether a clear difference is a good one."""
    tone = ""
    if row.p < LEVEL:
        tone = "good" if (row.value > 0) == (wanted(row.task, row.view) == "higher") else "bad"
    return [Cell(_points(row.value), f"[{_points(row.low)}, {_points(row.high)}]", tone), _probability(row.p)]


def _points(value: float) -> str:
    return f"{round(value, 1) + 0.0:+.1f}"  # adding zero turns -0.0 into +0.0


def _probability(p: float) -> Cell:
    return Cell("< 0.001" if p < 0.001 else f"{p:.3f}")


def _note(values: pd.DataFrame) -> str:
    facts = unsign(values["signature"].iloc[0])
    told = [f"Accuracy in percent, chance {float(facts['chance']):.2g}"]
    if "candidates" in facts:
        told.append(f"{facts['candidates']} candidates, unweighted mean over pairs and both directions")
    if "languages" in facts:
        told.append(f"{facts['languages']} languages, linear classifier, {facts['test']} sentences scored")
    told.append(f"{values['n'].max():,} items resampled for the {float(facts['confidence']):.0%} interval")
    return "; ".join(told) + ". ± is the standard deviation over seeds."
