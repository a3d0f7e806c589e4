"""Print a table of a run's scores in Markdown: a row for each method, a column for each score.

    python measurements/which-method/score_table.py measurements/which-method/whole.parquet --encoder me5-small-4bit \
        --score "tatoeba P@1" --score "tatoeba P@1 language" --score "tatoeba P@1 change"

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


def cells(table: pd.DataFrame, score: str) -> dict[str, str]:
    """Value and interval by method."""
    dataset, metric, *kind = score.split(" ")
    task, _, dataset = dataset.rpartition("/")
    view, form = "meaning", "{:.1f} [{:.1f}, {:.1f}]"
    if kind == ["language"]:
        view = "language"
    elif kind == ["change"]:
        metric, form = f"difference-{metric}:{ORIGINAL}", "{:+.1f} [{:+.1f}, {:+.1f}]"
    views = table["method"].map(lambda name: "sentence" if (name, view) == (ORIGINAL, "meaning") else view)
    found = table[(table["dataset"] == dataset) & (table["metric"] == metric) & (table["view"] == views)]
    if task:
        found = found[found["task"] == task]
    if len(tasks := found["task"].unique()) > 1:
        raise SystemExit(
            f"{score}: several tasks use {dataset}; write one of them before it: {', '.join(tasks)}"
        )
    return {
        row.method: (f"{row.value:.1f}" if pd.isna(row.low) else form.format(row.value, row.low, row.high))
        + ("" if view == "sentence" or pd.isna(row.reach) else f" ± {row.reach:.1f}")
        for row in found.itertuples()
    }


def main() -> None:
    """Read the command line, print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("records", type=Path)
    parser.add_argument("--encoder", required=True)
    parser.add_argument(
        "--score", action="append", required=True, metavar="'[TASK/]DATASET METRIC [language|change]'"
    )
    given = parser.parse_args()
    table = frame(read_records(given.records))
    table = spread(table[(table["encoder"] == given.encoder) & (table["subset"] == ALL)])
    columns = {score: cells(table, score) for score in given.score}
    rows = [["Method", *columns], ["---"] * (len(columns) + 1)]
    rows += [
        [method, *(found.get(method, "–") for found in columns.values())]
        for method in table["method"].unique()
    ]
    sys.stdout.writelines(f"| {' | '.join(row)} |\n" for row in rows)


if __name__ == "__main__":
    main()
