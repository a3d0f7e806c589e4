"""Figures of the report: the Vega-Lite charts of charts/, drawn to SVG without a browser or a network.

In the page, text has the page's colour; as files, the same figures have black text on white.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from markupsafe import Markup
from scipy.optimize import isotonic_regression

from orthoglot.drawing.svg import COLOURS, Spec, svg
from orthoglot.statistics.records import GROUPS
from orthoglot.study.pretraining.emma_x_diagnostics import signs
from orthoglot.study.report.frame import rows, spread, where
from orthoglot.study.report.queries import GEOMETRY, SHAPES, label, overall, undivided

MARKERS = ("circle", "triangle-up", "square", "diamond", "cross", "triangle-down", "stroke", "triangle-left")
SIGNS = dict(zip(MARKERS, "●▲■◆✚▼▬◀", strict=True))
# The height of a label in a figure, and the least height of the figure, in pixels.
LINE, HEIGHT = 15, 240
# How far the axes reach beyond what is drawn, as a share of their length.
MARGIN = 0.06
CHARTS = Path(__file__).with_name("charts")
# The legend of the methods; labels replace it in the first chart, panels' titles in the second.
LEGENDS: dict[str, Any] = {"corner": None, "curves": None, "geometry": {"columns": 3}}


class History(NamedTuple):
    """The history of one training: the rows of history.jsonl, and how it ended."""

    encoder: str  # name
    method: str  # name, or "pretraining"
    seed: int | None  # None for an encoder
    rows: list[dict[str, float]]  # one per epoch
    stopped: str = ""  # of a decomposer, see `orthoglot.training.endings.ending`


def method_styles(methods: Mapping[str, str | None]) -> dict[str, tuple[str, str]]:
    """Colour and marker by method: a method has the colour of its host, and no two methods have both in common."""
    colours: dict[str, str] = {}
    used: Counter[str] = Counter()
    styles = {}
    for method in methods:
        root = _root(method, methods)
        colour = colours.setdefault(root, COLOURS[len(colours) % len(COLOURS)])
        styles[method] = colour, MARKERS[used[colour] % len(MARKERS)]
        used[colour] += 1
    return styles


def corner_table(records: pd.DataFrame, methods: Mapping[str, str | None]) -> pd.DataFrame:
    """A row per encoder, task and method: both views with intervals, the host, the undivided vector."""
    values = overall(records)
    values["task"] = [label(row.task, row.dataset, row.metric) for row in rows(values)]
    keys = ["encoder", "task", "method"]
    wide = values.pivot(index=keys, columns="view", values=["value", "low", "high"])
    wide.columns = wide.columns.map(lambda name: name[1] if name[0] == "value" else f"{name[1]}_{name[0]}")
    ends = [f"{view}_{end}" for view in ("meaning", "language") for end in ("low", "high")]
    wide = wide.reindex(columns=["meaning", "language", *ends, "sentence"]).reset_index()
    sentences = wide[wide["method"].isin(undivided(records))].set_index(keys[:2])["sentence"]
    points = wide.drop(columns="sentence").dropna(subset=["meaning", "language"])
    hosts = points[[*keys, "meaning", "language"]].rename(
        columns={"method": "host", "meaning": "host_meaning", "language": "host_language"}
    )
    points = points.assign(host=points["method"].map(lambda name: methods[name] or ""))
    points = points.merge(hosts, how="left", on=["encoder", "task", "host"]).drop(columns="host")
    points = points.join(sentences, on=keys[:2])
    placed = [_placed(group) for _, group in points.groupby(keys[:2], sort=False)]
    return (pd.concat(placed) if placed else points).round(4)


def height(table: pd.DataFrame) -> int:
    """The height of a figure with these rows of `corner_table`, in pixels: its labels need a line each."""
    return max(HEIGHT, LINE * (table["method"].nunique() + 2))


def _placed(table: pd.DataFrame) -> pd.DataFrame:
    """Rows of one figure with the ends of its axes and the heights of its labels, none of which cover another."""
    across = table[["language", "language_low", "language_high"]].to_numpy()
    up = table[["meaning", "meaning_low", "meaning_high", "sentence"]].to_numpy()
    ends: dict[str, float] = {}
    for name, values in (("x", across), ("y", up)):
        low, high = np.nanmin(values), np.nanmax(values)
        reach = MARGIN * max(high - low, 1.0)
        ends |= {f"{name}_from": low - reach, f"{name}_to": high + reach}
    wished = [*table["meaning"], table["sentence"].iloc[0]]
    if math.isnan(wished[-1]):
        wished.pop()
    line = (ends["y_to"] - ends["y_from"]) * LINE / height(table)
    labels = spread_out(np.array(wished), line, ends["y_from"] + line / 2, ends["y_to"] - line / 2)
    whole = labels[len(table)] if len(labels) > len(table) else math.nan
    return table.assign(**ends, label=labels[: len(table)], sentence_label=whole)


def spread_out(wished: np.ndarray, gap: float, low: float, high: float) -> np.ndarray:
    """The places nearest to the wished ones (least squares), at least `gap` apart in the same order, in [low, high].

    Places that have no room in [low, high] are nearer to each other.
    """
    order = np.argsort(wished, kind="stable")
    gap = min(gap, (high - low) / max(len(wished) - 1, 1))
    steps = gap * np.arange(len(wished))
    placed = np.empty(len(wished))
    placed[order] = np.clip(isotonic_regression(wished[order] - steps).x, low, high - steps[-1]) + steps
    return placed


def curves_table(trainings: Iterable[History]) -> pd.DataFrame:
    """Total validation (`loss`) and training loss by epoch."""
    losses = [
        {
            "encoder": training.encoder,
            "method": training.method,
            "seed": training.seed,
            "epoch": int(row["epoch"]),
            "loss": row["valid.total"],
            "train": row["train.total"],
        }
        for training in trainings
        for row in training.rows
    ]
    columns = ["encoder", "method", "seed", "epoch", "loss", "train"]
    return pd.DataFrame(losses, columns=columns).astype({"seed": "Int64"}).round(6)


def corner(
    table: pd.DataFrame, encoder: str, task: str, unit: str, methods: Mapping[str, str | None]
) -> Spec:
    """Meaning view against language view of an encoder and task of `corner_table`: a labelled point per method."""
    points = where(table, encoder=encoder, task=task)
    spec = {**_chart("corner", points, methods), "height": height(points)}
    for axis, view in (("x", "language"), ("y", "meaning")):
        spec["encoding"][axis]["title"] = f"{unit} by {view}"
    return spec


def curves(table: pd.DataFrame, methods: Mapping[str, str | None]) -> Spec:
    """Loss by epoch, to be drawn: validation thick, training thin, a panel per training, a line per seed."""
    return _chart("curves", table.assign(training=table["encoder"] + "\n" + table["method"]), methods)


def row(drawn: Sequence[tuple[str, Spec]]) -> Spec:
    """Figures next to each other, three in a row, each under its heading."""
    independent = {"color": "independent", "shape": "independent"}
    return {
        "concat": [spec | _title(heading) for heading, spec in drawn],
        "columns": 3,
        "resolve": {"scale": independent},
    }


def votes(trainings: Sequence[History]) -> Markup:
    """Six panels per Emma-X training; a dashed line where Phase 2 begins, red where a sign alarms."""
    values = []
    for training in trainings:
        second = min((row["epoch"] for row in training.rows if row.get("phase") == 2), default=math.nan)
        for sign in signs(training.rows):
            for place, (row, alarm) in enumerate(zip(training.rows, sign.alarming, strict=True)):
                point = {
                    "panel": f"{training.encoder}\n{sign.title}",
                    "phase_2": second - 0.5,
                    "epoch": row["epoch"],
                    "alarm": bool(alarm),
                }
                values += [{**point, "name": name, "value": line[place]} for name, line in sign.lines.items()]
    return svg(_chart("votes", pd.DataFrame(values)))


def geometry(records: pd.DataFrame, dataset: str, methods: Mapping[str, str | None]) -> list[Markup]:
    """A figure per metric with a panel per encoder: the meaning view of each method by group of languages."""
    values = spread(where(records, task=GEOMETRY, dataset=dataset))
    values = values[(values["view"] == "meaning") | values["method"].isin(undivided(records))]
    charts = []
    for metric, heading in SHAPES.items():
        scores = values[values["metric"] == metric]
        spec = _chart("geometry", scores, methods) | _title(heading)
        encoding = spec["spec"]["encoding"]
        encoding["x"]["sort"], encoding["xOffset"]["sort"] = GROUPS, list(methods)
        least, most = scores["value"].min(), scores["value"].max()
        if metric == "kl-d" and 0 < 50 * least < most:
            encoding["y"]["scale"] = {"type": "log"}
        charts.append(svg(spec))
    return charts


def gaps(table: pd.DataFrame) -> Markup:
    """A row per encoder, a column per panel; for each data set and view a line from `without`, if any, to `score`."""
    return svg(_chart("gaps", table))


def _title(heading: str) -> Spec:
    return {"title": {"text": heading, "anchor": "start", "color": "currentColor"}}


def _root(method: str, methods: Mapping[str, str | None]) -> str:
    host = methods.get(method)
    return method if host is None else _root(host, methods)


def _chart(name: str, table: pd.DataFrame, methods: Mapping[str, str | None] | None = None) -> Spec:
    """A chart of charts/ with its data, panels in the order of the data, colours and markers by method."""
    spec: Spec = json.loads((CHARTS / f"{name}.json").read_text(encoding="utf-8"))
    facet, panel = spec.get("facet", {}), spec.get("spec", spec)
    for channel in [facet] if "field" in facet else facet.values():
        channel["sort"] = list(table[channel["field"]].unique())
    if methods is not None:
        styles = method_styles(methods)
        names = [name for name in methods if name in set(table["method"])]
        by_method = {"field": "method", "type": "nominal", "title": None, "sort": names}
        colours, shapes = ({"domain": names, "range": [styles[name][i] for name in names]} for i in (0, 1))
        panel["encoding"]["color"] = {**by_method, "scale": colours, "legend": LEGENDS[name]}
        for layer in panel["layer"]:
            if layer["mark"]["type"] == "point":
                layer["encoding"]["shape"] = {**by_method, "scale": shapes, "legend": LEGENDS[name]}
    return {**spec, "data": {"values": json.loads(table.to_json(orient="records"))}}
