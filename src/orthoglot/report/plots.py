"""The report's figures as inline SVG in the colour of the surrounding text."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from orthoglot.pretraining.emma_x_diagnostics import signs
from orthoglot.report.queries import GEOMETRY, PROBE, SHAPES, chosen_values, lines, ordered, overall, spread
from orthoglot.statistics.comparisons import ORACLE, ORIGINAL, RELEASED, host_of
from orthoglot.statistics.records import ALL, PROPORTIONS
from orthoglot.tasks.geometry import GROUPS
from orthoglot.tasks.projections import Map, TextMap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from matplotlib.axes import Axes

# Stands for the colour of the page's text, which only the browser knows.
INK = "#010203"
COLOURS = {
    "dream": "#3b82c4",
    "meat": "#e07b39",
    "oracle": "#2f9e6e",
    "seed": "#9467bd",
    "centering": "#b8860b",
}
OTHER = "#8c8c8c"
PANELS = 12
MAP_POINTS = 4000
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "orthoglot",
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": OTHER,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.titlesize": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "axes.grid": True,
    "grid.color": OTHER,
    "grid.alpha": 0.2,
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "legend.frameon": False,
    "legend.labelcolor": INK,
}


class Curve(NamedTuple):
    """One training's history: who was trained, and the rows of history.jsonl."""

    encoder: str
    method: str
    seed: int | None
    rows: list[dict[str, float]]


def corner(records: pd.DataFrame, task: str, dataset: str, metric: str) -> str:
    """One panel per encoder, one point per method: the ideal is the upper left corner.

    Retrieval and correlations: meaning up, language to the right; a language view's correlation is best at 0.
    The probe wants the opposite of both, so its axes are swapped. An arrow leads from a host to the host with ORACLE.
    """
    values = chosen_values(overall(records), task, dataset, metric)
    unit = f"{metric} (%)" if metric in PROPORTIONS else f"{metric.capitalize()} × 100"
    lowest = -4 if metric in PROPORTIONS else -104
    y, x = ("language", "meaning") if task == PROBE else ("meaning", "language")
    encoders = list(values["encoder"].unique())
    with _figure(len(encoders), columns=3, width=4.2, height=3.4) as (figure, axes):
        for axis, encoder in zip(axes, encoders, strict=True):
            _corner_panel(axis, values[values["encoder"] == encoder], x, y, lowest)
            axis.set_title(encoder, loc="left")
            axis.set_xlabel(f"{x} view, {unit}")
        axes[0].set_ylabel(f"{y} view, {unit}")
        methods = [name for name in ordered(values["method"]) if name != ORIGINAL]
        handles = [_handle(name) for name in methods]
        if ORIGINAL in set(values["method"]):
            handles.append(Line2D([], [], color=OTHER, linestyle="--", label="original (sentence)"))
        figure.legend(handles=handles, loc="outside lower center", ncols=2 * min(3, len(encoders)))
        return _svg(figure)


def curves(trainings: Sequence[Curve]) -> str:
    """Total loss by epoch, training thin and validation thick, one line per seed."""
    groups: dict[tuple[str, str], list[Curve]] = {}
    for training in trainings:
        groups.setdefault((training.encoder, training.method), []).append(training)
    with _figure(len(groups), columns=4, width=3.0, height=2.2) as (figure, axes):
        for axis, ((encoder, method), members) in zip(axes, groups.items(), strict=True):
            for training in members:
                epochs = [row["epoch"] for row in training.rows]
                for part, width in (("train", 0.8), ("valid", 1.8)):
                    totals = [row.get(f"{part}.total", np.nan) for row in training.rows]
                    axis.plot(epochs, totals, color=_colour(method), linewidth=width, alpha=0.8)
            axis.set_title(f"{encoder}\n{method}", loc="left", fontsize=9)
        handles = [
            Line2D([], [], color=OTHER, linewidth=width, label=part)
            for part, width in (("training", 0.8), ("validation", 1.8))
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=2)
        return _svg(figure)


def votes(trainings: Sequence[Curve]) -> str:
    """Six panels per Emma-X training; a dashed line where Phase 2 begins, red spans where a sign alarms."""
    panels = [(training, sign) for training in trainings for sign in signs(training.rows)]
    with _figure(len(panels), columns=3, width=4.2, height=2.3) as (figure, axes):
        for axis, (training, sign) in zip(axes, panels, strict=True):
            epochs = [row["epoch"] for row in training.rows]
            colours = mpl.colormaps["viridis"](np.linspace(0, 0.85, len(sign.lines)))
            for (name, values), colour in zip(sign.lines.items(), colours, strict=True):
                axis.plot(epochs, values, color=colour, marker=".", linewidth=1.4, label=name)
            for epoch in np.array(epochs)[sign.alarming]:
                axis.axvspan(epoch - 0.5, epoch + 0.5, color="#b3382c", alpha=0.2, linewidth=0)
            if later := [row["epoch"] for row in training.rows if row.get("phase") == 2]:
                axis.axvline(min(later) - 0.5, color=OTHER, linestyle="--", linewidth=0.8)
            axis.set_xlim(min(epochs) - 0.5, max(epochs) + 0.5)
            axis.set_title(f"{training.encoder}\n{sign.title}", loc="left", fontsize=9)
            if len(sign.lines) > 1:
                axis.legend(fontsize=7.5)
        return _svg(figure)


def maps(drawn: Mapping[tuple[str, str], Map]) -> str:
    """One panel per encoder and method: colour is language, discs are meaning, crosses are language parts."""
    shown = {name: drawn[name] for name in chosen_maps(list(drawn))}
    colours = _language_colours(shown.values())
    with _figure(len(shown), columns=4, width=3.0, height=2.8) as (figure, axes):
        for axis, ((encoder, method), one) in zip(axes, shown.items(), strict=True):
            for part, marker, size in (("sentence", "o", 7), ("meaning", "o", 7), ("language", "x", 10)):
                chosen = np.flatnonzero(one.parts == part)[:: 1 + len(one.points) // MAP_POINTS]
                axis.scatter(
                    one.points[chosen, 0],
                    one.points[chosen, 1],
                    c=[colours[str(language)] for language in one.languages[chosen]],
                    marker=marker,
                    s=size,
                    linewidths=0.7 if marker == "x" else 0,
                    alpha=0.65,
                    rasterized=True,
                )
            axis.set_title(f"{encoder}\n{method}", loc="left", fontsize=9)
            axis.set(xticks=[], yticks=[], xlabel=f"{one.explained.sum():.0%} of the variance")
            axis.grid(visible=False)
        handles = [Line2D([], [], color=c, marker="o", ls="", label=name) for name, c in colours.items()]
        handles += [Line2D([], [], color=OTHER, marker=m, ls="", label=n) for n, m in _PARTS.items()]
        figure.legend(handles=handles, loc="outside lower center", ncols=min(10, len(handles)))
        return _svg(figure)


def text_maps(records: pd.DataFrame, dataset: str, drawn: Mapping[tuple[str, str], TextMap]) -> str:
    """Two panels per encoder and method, t-SNE and principal components, with the numbers of all languages."""
    shown = {name: drawn[name] for name in chosen_maps(list(drawn))}
    colours = _language_colours(shown.values())
    chosen = records[(records["task"] == GEOMETRY) & (records["dataset"] == dataset)]
    chosen = chosen[(chosen["subset"] == ALL) & chosen["seed"].notna()]
    with _figure(2 * len(shown), columns=4, width=3.0, height=2.9) as (figure, axes):
        for place, ((encoder, method), one) in enumerate(shown.items()):
            own = chosen[(chosen["encoder"] == encoder) & (chosen["method"] == method)]
            own = own[own["view"] != "language"] if method == ORIGINAL else own[own["view"] == "meaning"]
            values = {row.metric: row.value for row in reversed(list(lines(own)))}  # of the first seed
            told = [
                f"{heading.split()[0]} {values[metric]:.3g}"
                for metric, heading in SHAPES.items()
                if metric in values
            ]
            # Where languages fall together, none of them should hide all others.
            order = np.random.default_rng(0).permutation(len(one.languages))
            for axis, points, kind in zip(
                axes[2 * place :][:2], (one.tsne, one.pca), ("t-SNE", "PCA"), strict=True
            ):
                axis.scatter(
                    points[order, 0],
                    points[order, 1],
                    c=[colours[str(language)] for language in one.languages[order]],
                    s=7,
                    linewidths=0,
                    alpha=0.7,
                    rasterized=True,
                )
                axis.set_title(f"{encoder}\n{method}, {kind}", loc="left", fontsize=9)
                axis.set(xticks=[], yticks=[])
                axis.set_xlabel(", ".join(told), fontsize=8.5)
                axis.grid(visible=False)
        handles = [Line2D([], [], color=c, marker="o", ls="", label=name) for name, c in colours.items()]
        figure.legend(handles=handles, loc="outside lower center", ncols=min(10, len(handles)))
        return _svg(figure)


def geometry(records: pd.DataFrame, dataset: str) -> str:
    """A row of panels per encoder, one per metric: the meaning view of each method by group of languages."""
    values = spread(records[(records["task"] == GEOMETRY) & (records["dataset"] == dataset)])
    values = values[(values["view"] == "meaning") | (values["method"] == ORIGINAL)]
    encoders = list(values["encoder"].unique())
    groups = [group for group in GROUPS if group in set(values["subset"])]
    with _figure(3 * len(encoders), columns=3, width=4.2, height=2.6) as (figure, axes):
        panels = [(encoder, metric) for encoder in encoders for metric in SHAPES]
        for axis, (encoder, metric) in zip(axes, panels, strict=True):
            own = values[(values["encoder"] == encoder) & (values["metric"] == metric)]
            methods = ordered(own["method"])
            for place, method in enumerate(methods):
                for row in lines(own[own["method"] == method]):
                    across = groups.index(row.subset) + 0.7 * ((place + 0.5) / len(methods) - 0.5)
                    ends = [[row.value - row.low], [row.high - row.value]]
                    colour, style = _colour(method), _handle(method)
                    axis.errorbar(across, row.value, yerr=ends, color=colour, lw=0.8, fmt="none")
                    face, marker = style.get_markerfacecolor(), style.get_marker()
                    axis.plot(
                        across, row.value, marker=marker, color=colour, markerfacecolor=face, markersize=6
                    )
            if metric == "kl-d" and (own["value"] > 0).all() and own["value"].max() > 50 * own["value"].min():
                axis.set_yscale("log")
                axis.yaxis.set_major_formatter("{x:g}")
                axis.yaxis.set_minor_formatter("")
            axis.set_title(f"{encoder}\n{SHAPES[metric]}", loc="left", fontsize=9)
            axis.set_xticks(range(len(groups)), groups)
            axis.set_xlim(-0.5, len(groups) - 0.5)
        handles = [_handle(name) for name in ordered(values["method"])]
        figure.legend(handles=handles, loc="outside lower center", ncols=6)
        return _svg(figure)


def _language_colours(maps: Iterable[Map | TextMap]) -> dict[str, Any]:
    languages = sorted({str(language) for one in maps for language in one.languages})
    palette = mpl.colormaps["tab10" if len(languages) <= 10 else "tab20"]
    return {language: palette(i % palette.N) for i, language in enumerate(languages)}


def chosen_maps(names: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """At most a dozen (encoder, method), equally many of each encoder; plain baselines give way first."""
    encoders = dict.fromkeys(encoder for encoder, _ in names)
    chosen: list[tuple[str, str]] = []
    for one in encoders:
        own = [name for name in names if name[0] == one]
        kept = sorted(own, key=lambda name: name[1] in ("centering", "oracle"))
        kept = kept[: max(1, PANELS // len(encoders))]
        chosen += [name for name in own if name in kept]
    return chosen[:PANELS]


_PARTS = {"meaning or sentence": "o", "language": "x"}


def _corner_panel(axis: Axes, values: pd.DataFrame, x: str, y: str, lowest: float) -> None:
    points: dict[str, tuple[float, float]] = {}
    for method in ordered(values["method"]):
        views = {row.view: row for row in lines(values[values["method"] == method])}
        if {x, y} <= set(views):
            points[method] = views[x].value, views[y].value
            _point(axis, method, views[x], views[y])
        elif "sentence" in views:
            across = axis.axvline if x == "meaning" else axis.axhline
            across(views["sentence"].value, color=OTHER, linestyle="--", linewidth=1)
    for method, end in points.items():
        if start := points.get(host_of(method, points) or ""):
            style = {"arrowstyle": "->", "color": _colour(method), "alpha": 0.6, "shrinkA": 5, "shrinkB": 5}
            axis.annotate("", end, start, arrowprops=style)
    axis.margins(0.12)
    for limits, bound in ((axis.get_xlim(), axis.set_xlim), (axis.get_ylim(), axis.set_ylim)):
        bound(max(limits[0], lowest), min(limits[1], 104))


def _point(axis: Axes, method: str, x: Any, y: Any) -> None:
    """A method's marker with the intervals of both views."""
    spans = [[[row.value - row.low], [row.high - row.value]] for row in (x, y)]
    colour, style = _colour(method), _handle(method)
    axis.errorbar(x.value, y.value, xerr=spans[0], yerr=spans[1], color=colour, lw=0.8, fmt="none")
    face, marker = style.get_markerfacecolor(), style.get_marker()
    axis.plot(x.value, y.value, marker=marker, color=colour, markerfacecolor=face, markersize=8)


def _family(method: str) -> str:
    """The paper that a method is from: "dream+oracle-released" -> "dream"."""
    return method.partition(ORACLE)[0].removesuffix(RELEASED)


def _colour(method: str) -> str:
    return COLOURS.get(_family(method), OTHER)


def _handle(method: str) -> Line2D:
    """A method's marker: hollow for a host alone, filled with ORACLE or without a host; released ones differ."""
    filled = ORACLE in method or _family(method) not in ("dream", "meat")
    face = _colour(method) if filled else "none"
    marker = {ORIGINAL: "*", "dream": "o", "meat": "s", "oracle": "D", "seed": "^"}.get(_family(method), "v")
    marker = "p" if method.endswith(RELEASED) else marker
    return Line2D([], [], color=_colour(method), marker=marker, markerfacecolor=face, ls="", label=method)


@contextmanager
def _figure(panels: int, *, columns: int, width: float, height: float) -> Iterator[tuple[Figure, list[Axes]]]:
    """A figure with `panels` axes, at most `columns` beside each other."""
    columns = max(1, min(columns, panels))
    rows = max(1, -(-panels // columns))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width * columns, height * rows + 0.4), layout="constrained", dpi=150)
        FigureCanvasAgg(figure)
        grid = figure.subplots(rows, columns, squeeze=False).ravel()
        for spare in grid[panels:]:
            spare.set_axis_off()
        yield figure, list(grid[:panels])


def _svg(figure: Figure) -> str:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :].replace(INK, "currentColor")
