"""Figures of the report: the Vega-Lite charts of charts/, drawn to SVG without a browser or a network.

`dvc plots` draws corner.json and curves.json as well. Text has the colour of the page that the SVG is part of.
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
import vl_convert
from markupsafe import Markup

from orthoglot.pretraining.emma_x_diagnostics import signs
from orthoglot.report.queries import GEOMETRY, SHAPES, label, overall, rows, spread, undivided, where
from orthoglot.statistics.records import ALL
from orthoglot.tasks.geometry import GROUPS
from orthoglot.tasks.projections import Map, TextMap

COLOURS = (
    *("#4c78a8", "#f58518", "#54a24b", "#e45756", "#b279a2", "#72b7b2", "#d4a900", "#9d755d"),
    *("#ff9da6", "#7f7f7f", "#00a4e4", "#8c1d40", "#a6d854", "#7b3294", "#17476b", "#b35806"),
)
MARKERS = ("circle", "triangle-up", "square", "diamond", "cross", "triangle-down", "stroke", "triangle-left")
# Points of one map: each is an element of the SVG.
MAP_POINTS, TEXT_MAP_POINTS = 300, 150
CHARTS = Path(__file__).with_name("charts")
_TEXT = {"labelColor": "currentColor", "titleColor": "currentColor", "titleFontWeight": "normal"}
CONFIG: dict[str, Any] = {
    "background": None,
    "aria": False,
    "lineBreak": "\n",
    "font": "sans-serif",
    "view": {"stroke": None},
    "axis": {**_TEXT, "gridOpacity": 0.3, "domainColor": "#888888", "tickColor": "#888888"},
    "header": {**_TEXT, "labelAnchor": "start", "labelFontSize": 11, "labelAlign": "left"},
    "legend": {**_TEXT, "orient": "bottom", "labelLimit": 400, "columns": 6, "symbolOpacity": 1},
}
Spec = dict[str, Any]


class History(NamedTuple):
    """The history of one training: the rows of history.jsonl, and how it ended.

    Attributes:
        encoder: name.
        method: name, or "pretraining".
        seed: None for an encoder.
        rows: one per epoch.
        capped: whether the maximum number of epochs ended it before its patience did.
    """

    encoder: str
    method: str
    seed: int | None
    rows: list[dict[str, float]]
    capped: bool = False


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
    found = wide.drop(columns="sentence").dropna(subset=["meaning", "language"])
    hosts = found[[*keys, "meaning", "language"]].rename(
        columns={"method": "host", "meaning": "host_meaning", "language": "host_language"}
    )
    found = found.assign(host=found["method"].map(lambda name: methods[name] or ""))
    found = found.merge(hosts, how="left", on=["encoder", "task", "host"]).drop(columns="host")
    return found.join(sentences, on=keys[:2]).round(4)


def curves_table(trainings: Iterable[History]) -> pd.DataFrame:
    """Total validation (`loss`) and training loss by epoch."""
    found = [
        (one.encoder, one.method, one.seed, int(row["epoch"]), row["valid.total"], row["train.total"])
        for one in trainings
        for row in one.rows
    ]
    columns = ["encoder", "method", "seed", "epoch", "loss", "train"]
    return pd.DataFrame(found, columns=columns).astype({"seed": "Int64"}).round(6)


def corner(table: pd.DataFrame, task: str, unit: str, methods: Mapping[str, str | None]) -> Markup:
    """Meaning view against language view, a panel per encoder, a point per method.

    Args:
        table: `corner_table`.
        task: one of its tasks.
        unit: of the scores.
        methods: {method: its host}.
    """
    spec = _chart("corner", table[table["task"] == task], methods)
    spec["facet"]["row"]["header"] = None
    for axis, view in (("x", "language"), ("y", "meaning")):
        spec["spec"]["encoding"][axis]["title"] = f"{view} view, {unit}"
    return _svg(spec)


def curves(table: pd.DataFrame, methods: Mapping[str, str | None]) -> Markup:
    """Loss by epoch, validation thick and training thin, a panel per encoder and method, a line per seed."""
    spec = _chart("curves", table.assign(training=table["encoder"] + "\n" + table["method"]), methods)
    spec["spec"]["encoding"]["color"]["legend"] = None
    return _svg(spec)


def votes(trainings: Sequence[History]) -> Markup:
    """Six panels per Emma-X training; a dashed line where Phase 2 begins, red where a sign alarms."""
    values = []
    for one in trainings:
        second = min((row["epoch"] for row in one.rows if row.get("phase") == 2), default=math.nan)
        for sign in signs(one.rows):
            for place, (row, alarm) in enumerate(zip(one.rows, sign.alarming, strict=True)):
                about = f"{one.encoder}\n{sign.title}", second - 0.5, row["epoch"], bool(alarm)
                values += [(*about, name, line[place]) for name, line in sign.lines.items()]
    table = pd.DataFrame(values, columns=["panel", "phase_2", "epoch", "alarm", "name", "value"])
    return _svg(_chart("votes", table))


def maps(drawn: Mapping[tuple[str, str], Map]) -> Markup:
    """A panel per encoder and method: the colour is the language, the marker the part of the vector."""
    panels = []
    for (encoder, method), one in drawn.items():
        panel = f"{encoder}\n{method}, {one.explained.sum():.0%} of the variance"
        points = _sampled(MAP_POINTS, panel, one.points, one.languages)
        panels.append(points.assign(part=one.parts[points.index]))
    return _svg(_chart("maps", pd.concat(panels)))


def text_maps(records: pd.DataFrame, dataset: str, drawn: Mapping[tuple[str, str], TextMap]) -> Markup:
    """Two panels per encoder and method, t-SNE and principal components, with the numbers of the first seed."""
    whole = undivided(records)
    records = where(records[records["seed"].notna()], task=GEOMETRY, dataset=dataset, subset=ALL)
    panels = []
    for (encoder, method), one in drawn.items():
        view = "sentence" if method in whole else "meaning"
        own = where(records, encoder=encoder, method=method, view=view)
        numbers = own.groupby("metric", sort=False)["value"].first()
        known = {
            heading.split()[0]: numbers[metric] for metric, heading in SHAPES.items() if metric in numbers
        }
        about = ", ".join(f"{name} {value:.3g}" for name, value in known.items())
        for points, kind in ((one.tsne, "t-SNE"), (one.pca, "PCA")):
            panel = f"{encoder}\n{method}, {kind}\n{about}"
            panels.append(_sampled(TEXT_MAP_POINTS, panel, points, one.languages))
    spec = _chart("maps", pd.concat(panels))
    del spec["spec"]["encoding"]["shape"]
    return _svg(spec)


def geometry(records: pd.DataFrame, dataset: str, methods: Mapping[str, str | None]) -> Markup:
    """A column of panels per metric, one per encoder: the meaning view of each method by group of languages."""
    values = spread(where(records, task=GEOMETRY, dataset=dataset))
    values = values[(values["view"] == "meaning") | values["method"].isin(undivided(records))]
    charts = []
    for metric, heading in SHAPES.items():
        own = values[values["metric"] == metric]
        spec = _chart("geometry", own, methods)
        spec["title"] = {"text": heading, "anchor": "start", "color": "currentColor"}
        encoding = spec["spec"]["encoding"]
        encoding["x"]["sort"], encoding["xOffset"]["sort"] = GROUPS, list(methods)
        if metric == "kl-d" and own["value"].min() > 0 and own["value"].max() > 50 * own["value"].min():
            encoding["y"]["scale"] = {"type": "log"}
        charts.append(spec)
    return _svg({"hconcat": charts})


def _root(method: str, methods: Mapping[str, str | None]) -> str:
    host = methods.get(method)
    return method if host is None else _root(host, methods)


def _sampled(n: int, panel: str, points: np.ndarray, languages: np.ndarray) -> pd.DataFrame:
    """At most n of the points, shuffled, as the language drawn last would hide the others."""
    table = pd.DataFrame({"panel": panel, "x": points[:, 0], "y": points[:, 1], "language": languages})
    return table.sample(min(n, len(table)), random_state=0)


def _chart(name: str, table: pd.DataFrame, methods: Mapping[str, str | None] | None = None) -> Spec:
    """A chart of charts/ with its data, panels in the order of the data, colours and markers by method."""
    spec: Spec = json.loads((CHARTS / f"{name}.json").read_text(encoding="utf-8"))
    facet = spec["facet"]
    for channel in [facet] if "field" in facet else facet.values():
        channel["sort"] = list(table[channel["field"]].unique())
    if methods is not None:
        styles = method_styles(methods)
        names = [name for name in methods if name in set(table["method"])]
        by_method = {"field": "method", "type": "nominal", "title": None, "sort": names}
        colours, shapes = ({"domain": names, "range": [styles[name][i] for name in names]} for i in (0, 1))
        spec["spec"]["encoding"]["color"] = {**by_method, "scale": colours}
        for layer in spec["spec"]["layer"]:
            if layer["mark"]["type"] == "point":
                layer["encoding"]["shape"] = {**by_method, "scale": shapes}
    data = {**spec.get("data", {}), "values": json.loads(table.to_json(orient="records"))}
    return {**spec, "data": data, "title": None}


def _svg(spec: Spec) -> Markup:
    """The drawing as SVG, in which Vega escapes every text of the data."""
    return Markup(vl_convert.vegalite_to_svg({**spec, "config": CONFIG}))
