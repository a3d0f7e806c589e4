"""Maps of vectors as small SVGs: all points of a language are one path, so thousands of points take little room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from markupsafe import Markup

from orthoglot.statistics.records import ALL
from orthoglot.study.report.frame import where
from orthoglot.study.report.plots import COLOURS
from orthoglot.study.report.queries import GEOMETRY, SHAPES, undivided
from orthoglot.study.tasks.projections import Map, TextMap

MAP_POINTS, TEXT_MAP_POINTS = 300, 200
SIZE = 160


class Panel(NamedTuple):
    """A map, its heading in lines, and its languages with their colours."""

    lines: list[str]
    svg: Markup
    colours: dict[str, str]


def maps(projections: Mapping[tuple[str, str], Map]) -> list[Panel]:
    """A panel per encoder and method: dots are the meaning or the undivided vector, squares the language view."""
    panels = []
    for (encoder, method), projection in projections.items():
        points, languages = projection.points, projection.languages
        about = f"{'-'.join(colours_of(languages))}, {len(points):,} points"
        if len(projection.explained):
            about = f"{projection.explained.sum():.0%} of the variance"
        squares = projection.parts == "language"
        panels.append(_panel([encoder, method, about], points, languages, squares, MAP_POINTS))
    return panels


def text_maps(
    records: pd.DataFrame, dataset: str, projections: Mapping[tuple[str, str], TextMap]
) -> list[Panel]:
    """Two panels per encoder and method, t-SNE and principal components, with the numbers of the first seed."""
    whole = undivided(records)
    records = where(records[records["seed"].notna()], task=GEOMETRY, dataset=dataset, subset=ALL)
    panels = []
    for (encoder, method), projection in projections.items():
        view = "sentence" if method in whole else "meaning"
        scores = where(records, encoder=encoder, method=method, view=view)
        numbers = scores.groupby("metric", sort=False)["value"].first()
        known = {name.split()[0]: numbers[metric] for metric, name in SHAPES.items() if metric in numbers}
        about = ", ".join(f"{name} {value:.3g}" for name, value in known.items())
        languages = projection.languages
        dots = np.zeros(len(languages), dtype=bool)
        for points, kind in ((projection.tsne, "t-SNE"), (projection.pca, "PCA")):
            lines = [encoder, f"{method}, {kind}", about]
            panels.append(_panel(lines, points, languages, dots, TEXT_MAP_POINTS))
    return panels


def colours_of(languages: Sequence[str] | np.ndarray) -> dict[str, str]:
    """Colour by language, in order of the alphabet; of more than 16 languages two have the same."""
    return {str(code): COLOURS[n % len(COLOURS)] for n, code in enumerate(np.unique(languages))}


def _panel(
    lines: list[str], points: np.ndarray, languages: np.ndarray, squares: np.ndarray, most: int
) -> Panel:
    """A panel of at most so many of the points."""
    sampled = np.random.default_rng(0).permutation(len(points))[:most]
    colours = colours_of(languages)
    return Panel(lines, _svg(points[sampled], languages[sampled], squares[sampled], colours), colours)


def _svg(
    points: np.ndarray, languages: np.ndarray, squares: np.ndarray, colours: Mapping[str, str]
) -> Markup:
    """Points (n, 2) in a square: a path per language and form, a subpath of no length per point."""
    low, high = points.min(axis=0), points.max(axis=0)
    places = np.round(6 + (SIZE - 12) * (points - low) / np.where(high > low, high - low, 1)).astype(int)
    places[:, 1] = SIZE - places[:, 1]
    paths = []
    for square, form in ((False, "round"), (True, "square")):
        for code, colour in colours.items():
            chosen = places[(languages == code) & (squares == square)]
            if len(chosen):
                data = "".join(f"M{x} {y}h0" for x, y in chosen)
                paths.append(f'<path d="{data}" stroke="{colour}" stroke-linecap="{form}"/>')
    # `paths` holds numbers and colours alone.
    return Markup(f'<svg viewBox="0 0 {SIZE} {SIZE}" class="map">{"".join(paths)}</svg>')
