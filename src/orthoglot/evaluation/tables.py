"""Every table of the report as a query over the records; the same tables in Markdown."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, fields
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from orthoglot.evaluation.base import ALL, Record, unsign
from orthoglot.evaluation.comparisons import ORIGINAL, host_of

PROBE = "language-probe"
# Families of methods in the order of the papers; unknown ones follow by name.
METHOD_ORDER = (
    ORIGINAL,
    "centering",
    "oracle",
    "oracle-printed",
    "dream",
    "dream+oracle",
    "dream-released",
    "dream+oracle-released",
    "meat",
    "meat+oracle",
    "meat+oracle-released",
    "seed",
)
TITLES = {"heldout": "Held-out retrieval", "tatoeba": "Tatoeba retrieval", PROBE: "Language probe"}
LEVEL = 0.05
FIXED = (
    "Intervals and p take the trained models as fixed: they tell what other sentences would change, ± what "
    f"other seeds would. Colour: p < {LEVEL} and all seeds agree in sign."
)
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
    """One row per paired difference, with `baseline`, both corrected probabilities, and what the seeds say.

    `sd` is over the differences by seed (NaN for one seed), `agreed` whether all have the sign of their mean.
    """
    chosen = records[records["metric"] != "accuracy"]
    names = chosen["metric"].str.split(":", n=1)
    chosen = chosen.assign(kind=names.str[0], baseline=names.str[1])
    keys = ["task", "dataset", "encoder", "method", "view", "baseline"]
    by_seed = chosen[chosen["seed"].notna()].assign(sign=lambda rows: np.sign(rows["value"]))
    spread = by_seed.groupby(keys, sort=False).agg(
        sd=("value", "std"), lowest=("sign", "min"), highest=("sign", "max")
    )
    chosen = chosen[chosen["seed"].isna()]
    wide = chosen.pivot(index=keys, columns="kind", values="value")
    wide = wide.reindex(columns=["p", "sign"]).rename(columns={"sign": "sign_p"}).join(spread)
    found = chosen[chosen["kind"] == "difference"].merge(wide.reset_index(), on=keys, validate="one_to_one")
    direction = np.sign(found["value"])
    return found.assign(agreed=(found["lowest"] == direction) & (found["highest"] == direction))


def hosted(records: pd.DataFrame) -> Iterator[Any]:
    """The comparisons of ORACLE on a host with the host, in retrieval, by encoder."""
    differences = comparisons(records)
    for encoder in records["encoder"].unique():
        methods = set(records.loc[records["encoder"] == encoder, "method"])
        for found in lines(differences[differences["encoder"] == encoder]):
            if found.task != PROBE and found.baseline == host_of(found.method, methods):
                yield found


def verdict(records: pd.DataFrame) -> str:
    """The headline in one sentence: how often ORACLE made each view better or worse; empty without a host."""
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    for found in hosted(records):
        counted[found.view][tone(found)] += 1
    views = [
        f"the {name} view better in {tones['good']} and worse in {tones['bad']} of {tones.total()}"
        for name, tones in counted.items()
    ]
    if not views:
        return ""
    return f"Of the comparisons with its hosts in retrieval, ORACLE made {', '.join(views)}."


def headline(records: pd.DataFrame) -> Table:
    """What ORACLE adds to each host in retrieval, meaning and language view, per encoder."""
    values = overall(records)
    rows = []
    for found in hosted(records):
        chosen = values[_same(values, found, "task", "dataset", "encoder", "view")]
        before, after = (first(chosen[chosen["method"] == name]) for name in (found.baseline, found.method))
        arrow = ARROWS[wanted(found.task, found.view)]
        task = title(found.task, found.dataset)
        names = found.encoder, found.baseline, found.method, task, f"{found.view} {arrow}"
        rows.append([*map(Cell, names), *map(_accuracy, (before, after)), *_difference(found)])
    note = (
        "Accuracy in percent [interval] ± standard deviation over seeds. The arrow says which way is better. "
        "The difference is paired by sentence pair over seeds and directions [interval] ± standard deviation "
        "of the differences by seed; p is a paired bootstrap over pivot sentences, Holm-corrected over the "
        "comparisons of its task: it cannot be smaller than their number over the number of resamples. "
        f"{FIXED}"
    )
    columns = ["Encoder", "Host", "Method", "Task", "View", "Host alone", "Host + ORACLE", "Difference", "p"]
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
    """Every paired comparison of a task, with the p of both tests."""
    chosen = comparisons(records)
    chosen = chosen[(chosen["task"] == task) & (chosen["dataset"] == dataset)]
    rows = []
    for found in lines(chosen):
        against = f"{found.baseline}, {unsign(found.signature)['baseline_view']}"
        names = Cell(found.encoder), Cell(f"{found.method}, {found.view}"), Cell(against)
        n = Cell(f"{found.n:,}")
        rows.append([*names, *_difference(found), _probability(found.sign_p), n])
    columns = ["Encoder", "Method, view", "Against", "Difference", "p", "Sign test p", "n"]
    note = (
        "Points of accuracy. Both p are Holm-corrected over the rows of this table; the sign test counts wins "
        f"and losses of sentence pairs and takes them as independent; n counts sentence pairs. {FIXED}"
    )
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
    """Difference and p of a comparison."""
    small = f"[{_points(row.low)}, {_points(row.high)}]"
    if pd.notna(row.sd):
        small += f" ± {row.sd:.1f}"
    return [Cell(_points(row.value), small, tone(row)), _probability(row.p)]


def tone(row: Any) -> str:
    """ "good" or "bad" for a significant difference in whose sign all seeds agree, else nothing."""
    if row.p >= LEVEL or not row.agreed:
        return ""
    return "good" if (row.value > 0) == (wanted(row.task, row.view) == "higher") else "bad"


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
    if "seen_dropped" in facts:
        told.append(f"{facts['seen_dropped']} pairs dropped as training saw one of their sentences")
    told.append(
        f"{values['n'].max():,} sentence pairs, of which the {float(facts['confidence']):.0%} interval "
        f"resamples {int(facts['units']):,} distinct pivot sentences"
    )
    return "; ".join(told) + ". ± is the standard deviation over seeds."
