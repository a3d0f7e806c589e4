"""Draw scores against the number of training pairs, from the records of several runs of one preset.

    python benchmarks/learning_curves.py 100=a.parquet 300=b.parquet --encoder me5-small-4bit \
        --score "tatoeba P@1" --score "sts17 spearman" --method plda --method seed --output curves.svg

Each score is a data set and a metric, of the meaning view, over all of its pairs of languages and the mean over
seeds. The method `original` is the vector before any split, which training pairs do not change.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd
import vl_convert

from orthoglot.statistics.comparisons import ORIGINAL
from orthoglot.statistics.records import ALL, read_records
from orthoglot.statistics.table import frame

COLOURS = "tableau10"


def scores(runs: dict[int, Path], encoder: str, wanted: list[str], methods: list[str]) -> pd.DataFrame:
    """One row for each number of pairs, score and method: pairs, score, method, value, low, high."""
    found = []
    for pairs, path in runs.items():
        table = frame(read_records(path))
        table = table[(table["encoder"] == encoder) & (table["subset"] == ALL) & table["seed"].isna()]
        table = table[
            table["view"] == table["method"].map(lambda name: "sentence" if name == ORIGINAL else "meaning")
        ]
        table["score"] = table["dataset"] + " " + table["metric"]
        table = table[table["score"].isin(wanted) & table["method"].isin(methods)]
        found.append(table.assign(pairs=pairs)[["pairs", "score", "method", "value", "low", "high"]])
    return pd.concat(found)


def draw(table: pd.DataFrame, wanted: list[str], methods: list[str]) -> str:
    """The figure as SVG: a panel for each score, a line with a band for each method."""
    x = {
        "field": "pairs",
        "type": "quantitative",
        "title": "training pairs of a language",
        "scale": {"type": "log"},
    }
    colour = {
        "field": "method",
        "type": "nominal",
        "title": None,
        "sort": methods,
        "scale": {"scheme": COLOURS},
    }
    y = {"type": "quantitative", "title": None, "scale": {"zero": False}}
    layers = [
        {
            "mark": {"type": "area", "opacity": 0.12},
            "encoding": {"x": x, "y": {"field": "low", **y}, "y2": {"field": "high"}, "color": colour},
        },
        {
            "mark": {"type": "line", "point": True},
            "encoding": {"x": x, "y": {"field": "value", **y}, "color": colour},
        },
    ]
    spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "data": {"values": table.to_dict("records")},
        "facet": {"field": "score", "type": "nominal", "title": None, "sort": wanted},
        "columns": 2,
        "spec": {"width": 320, "height": 240, "layer": layers},
        "resolve": {"scale": {"y": "independent"}},
        "config": {"background": "white", "legend": {"orient": "bottom", "columns": 5, "symbolOpacity": 1}},
    }
    return str(vl_convert.vegalite_to_svg(spec))


def main() -> None:
    """Read the command line, draw, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", metavar="PAIRS=RECORDS")
    parser.add_argument("--encoder", required=True)
    parser.add_argument("--score", action="append", required=True)
    parser.add_argument("--method", action="append", required=True)
    parser.add_argument("--output", type=Path, required=True)
    given = parser.parse_args()
    runs = {int(pairs): Path(path) for pairs, _, path in (one.partition("=") for one in given.runs)}
    table = scores(runs, given.encoder, given.score, given.method)
    given.output.write_text(draw(table, given.score, given.method), encoding="utf-8")


if __name__ == "__main__":
    main()
