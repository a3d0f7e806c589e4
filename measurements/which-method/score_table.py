"""Print a table of a run's scores in Markdown: a row for each method, a column for each score.

    python measurements/which-method/score_table.py measurements/which-method/whole.parquet --encoder me5-small-4bit \
        --score "tatoeba P@1" --score "tatoeba P@1 language" --score "tatoeba P@1 change"

With --short, as docs/methods.md has them: values alone, one for each --encoder, the best bold. A score then begins with
its heading, whose arrow says what is best: "Tatoeba ↑ = tatoeba P@1".

A score is a data set (TASK/DATASET where several tasks use it) and a metric of the meaning view, of the language view,
or the meaning view's change against the vector before any split; over all pairs of languages, mean over seeds, with its
interval over sentences and, of a method with several seeds, half of its interval over trainings after a ±.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pandas as pd

from orthoglot.statistics.records import ALL, read_records
from orthoglot.study.report.comparisons import ORIGINAL
from orthoglot.study.report.frame import frame, spread


def chosen(table: pd.DataFrame, score: str) -> tuple[pd.DataFrame, str, str]:
    """The rows of a score, the form of its interval, and its view."""
    dataset, metric, *kind = score.split(" ")
    task, _, dataset = dataset.rpartition("/")
    view, form = "meaning", "{:.1f} [{:.1f}, {:.1f}]"
    if kind == ["language"]:
        view = "language"
    elif kind == ["change"]:
        metric, form = f"difference-{metric}:{ORIGINAL}", "{:+.1f} [{:+.1f}, {:+.1f}]"
    views = table["method"].map(lambda name: "sentence" if (name, view) == (ORIGINAL, "meaning") else view)
    scores = table[(table["dataset"] == dataset) & (table["metric"] == metric) & (table["view"] == views)]
    if task:
        scores = scores[scores["task"] == task]
    if len(tasks := scores["task"].unique()) > 1:
        raise SystemExit(
            f"{score}: several tasks use {dataset}; write one of them before it: {', '.join(tasks)}"
        )
    return scores, form, view


def cells(table: pd.DataFrame, score: str) -> dict[str, str]:
    """Value and interval by method."""
    scores, form, view = chosen(table, score)
    return {
        row.method: (f"{row.value:.1f}" if pd.isna(row.low) else form.format(row.value, row.low, row.high))
        + ("" if view == "sentence" or pd.isna(row.reach) else f" ± {row.reach:.1f}")
        for row in scores.itertuples()
    }


def short(tables: list[pd.DataFrame], score: str) -> tuple[str, dict[str, str]]:
    """Heading, and by method the values of each encoder's table, the best bold."""
    heading, _, of = score.partition(" = ")
    parts = []
    for table in tables:
        shown = {row.method: f"{row.value:.1f}" for row in chosen(table, of)[0].itertuples()}
        best = (min if "↓" in heading else max)(shown.values(), key=float)
        parts.append({name: f"**{value}**" if value == best else value for name, value in shown.items()})
    return heading, {name: " / ".join(part.get(name, "–") for part in parts) for name in parts[0]}


def main() -> None:
    """Read the command line, print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("records", type=Path)
    parser.add_argument("--encoder", action="append", required=True)
    parser.add_argument(
        "--score", action="append", required=True, metavar="'[TASK/]DATASET METRIC [language|change]'"
    )
    parser.add_argument("--short", action="store_true")
    given = parser.parse_args()
    every = frame(read_records(given.records))
    tables = [
        spread(every[(every["encoder"] == encoder) & (every["subset"] == ALL)]) for encoder in given.encoder
    ]
    table = tables[0]
    if given.short:
        columns = dict(short(tables, score) for score in given.score)
    else:
        columns = {score: cells(table, score) for score in given.score}
    rows = [["Method", *columns], ["---"] * (len(columns) + 1)]
    rows += [
        [f"`{method}`" if given.short else method, *(scores.get(method, "–") for scores in columns.values())]
        for method in table["method"].unique()
    ]
    sys.stdout.writelines(f"| {' | '.join(row)} |\n" for row in rows)


if __name__ == "__main__":
    main()
