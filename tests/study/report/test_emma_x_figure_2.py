"""The figure with a column for each encoder and a row each for invariance, canonical form and isotropy."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from orthoglot.study.report.emma_x_figure_2 import ACROSS, ROWS, ellipse, panels
from orthoglot.study.tasks.projections import TextMap

SVG = "{http://www.w3.org/2000/svg}"


def text_map(offsets: dict[str, tuple[float, float]], n: int = 30, seed: int = 0) -> TextMap:
    """The same cloud of n points around the offset of each language."""
    cloud = np.random.default_rng(seed).standard_normal((n, 2))
    points = np.concatenate([cloud + offset for offset in offsets.values()]).astype(np.float32)
    return TextMap(points, points, np.repeat(list(offsets), n), np.array([0.5, 0.5]))


def groups(drawn: str) -> dict[str, ElementTree.Element]:
    """Panels by heading."""
    found = {}
    for group in ElementTree.fromstring(drawn).iter(f"{SVG}g"):
        heading = group.find(f"{SVG}text")
        assert heading is not None
        assert heading.text is not None
        found[heading.text] = group
    return found


def labels(panel: ElementTree.Element) -> list[str]:
    """What stands within a panel."""
    return ["".join(one.itertext()) for one in panel.findall(f"{SVG}text")[1:]]


def test_encoders_are_columns_and_measures_rows_lettered_as_printed() -> None:
    one = text_map({"de": (0, 0), "en": (0, 0)})
    found = list(groups(panels(dict.fromkeys(("x", "y", "z", "e"), one))))
    assert found == [
        f"({letter}) {encoder} ({row})"
        for letter, (row, encoder) in zip(
            "abcdefghijkl", ((row, encoder) for row in ROWS for encoder in "xyze"), strict=True
        )
    ]


def test_further_encoders_stand_below_and_nothing_lies_on_anything() -> None:
    one = text_map({"de": (0, 0), "en": (0, 0)})
    names = [f"encoder-{n}" for n in range(2 * ACROSS + 1)]
    drawn = panels(dict.fromkeys(names, one))
    found = groups(drawn)
    assert [*found][-1] == f"(aa) {names[-1]} ({ROWS[2]})"
    places = {panel.attrib["transform"] for panel in found.values()}
    assert len(places) == len(found) == 3 * len(names)
    width, height = map(int, re.findall(r'viewBox="0 0 (\d+) (\d+)"', drawn)[0])
    for place in places:
        x, y = map(int, re.findall(r"\d+", place))
        assert 0 < x < width - 160
        assert 0 < y < height - 160


def test_languages_on_one_another_have_one_label_and_outliers_their_own() -> None:
    near = dict.fromkeys(("de", "en", "fr"), (0.0, 0.0))
    figure = groups(panels({"x": text_map({**near, "xh": (40, 0), "ur": (0, 40)})}))
    invariance = figure["(a) x (Invariance)"]
    assert labels(invariance) == ["de en fr3 languages", "ur" * 2, "xhxh"]
    assert len(invariance.findall(f"{SVG}ellipse")) == 5
    # A colour for each language, then one for all.
    colours = [
        {path.attrib["stroke"] for path in panel.findall(f"{SVG}path")} for panel in [*figure.values()][1:]
    ]
    assert [len(some) for some in colours] == [5, 1]
    points = [
        sum(path.attrib["d"].count("M") for path in panel.findall(f"{SVG}path"))
        for panel in [*figure.values()][1:]
    ]
    assert points == [150, 150]


def test_an_ellipse_is_the_mean_and_one_standard_deviation() -> None:
    rng = np.random.default_rng(1)
    turn = np.radians(30)
    axes = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    found = ellipse((rng.standard_normal((40_000, 2)) * (5, 2)) @ axes + (7, -3))
    assert found.centre == pytest.approx([7, -3], abs=0.1)
    assert found.radii == pytest.approx([5, 2], rel=0.02)
    assert found.angle % 180 == pytest.approx(30, abs=1)
    assert ellipse(np.array([[1.0, 2.0]])).radii.tolist() == [0, 0]


def test_a_map_of_one_place_and_names_of_any_character_are_drawn() -> None:
    flat = TextMap(
        np.zeros((4, 2), np.float32), np.zeros((4, 2), np.float32), np.array([*"aabb"]), np.zeros(2)
    )
    drawn = panels({"<script>\x00": flat})
    assert "nan" not in drawn
    assert "<script" not in drawn
    assert len(groups(drawn)) == 3


def test_axes_have_one_scale() -> None:
    wide = TextMap(
        np.array([[0, 0], [100, 0], [50, 5]], np.float32),
        np.zeros((3, 2), np.float32),
        np.array([*"abc"]),
        np.zeros(2),
    )
    path = groups(panels({"x": wide}))["(c) x (Isotropy)"].find(f"{SVG}path")
    assert path is not None
    (x1, y1), (x2, _), (_, y3) = (
        map(float, one) for one in re.findall(r"M([\d.]+) ([\d.]+)", path.attrib["d"])
    )
    assert (y1 - y3) / (x2 - x1) == pytest.approx(0.05, abs=0.002)
    assert y3 < y1  # up is up
