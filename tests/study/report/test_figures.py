"""Where labels of figures stand, and maps as SVG."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from orthoglot.drawing.svg import file, svg
from orthoglot.study.report.maps import MAP_POINTS, maps
from orthoglot.study.report.plots import curves, spread_out
from orthoglot.study.tasks.projections import Map


def test_labels_keep_their_distance_and_their_order() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 17):
        wished = rng.choice([0.0, 1.0, 50.0, 99.0, 100.0], size=n)
        placed = spread_out(wished, 4.0, 0.0, 100.0)
        order = np.argsort(wished, kind="stable")
        assert (np.diff(placed[order]) >= 4.0 - 1e-9).all()
        assert placed.min() >= 0
        assert placed.max() <= 100


def test_labels_that_have_room_stay_where_they_are() -> None:
    assert spread_out(np.array([50.0, 10.0, 90.0]), 5.0, 0.0, 100.0) == pytest.approx([50, 10, 90])
    # Two that collide move apart by as much.
    assert spread_out(np.array([50.0, 50.0]), 4.0, 0.0, 100.0) == pytest.approx([48, 52])
    assert spread_out(np.array([100.0, 100.0]), 4.0, 0.0, 100.0) == pytest.approx([96, 100])


def test_labels_without_room_share_it() -> None:
    assert spread_out(np.zeros(5), 40.0, 0.0, 100.0) == pytest.approx([0, 25, 50, 75, 100])


def test_names_with_any_character_are_drawn_as_text() -> None:
    name = "a\u2028b\u202e\x1b[31m\0|<script>alert(1)</script>\"'"
    rows = [(f"e{name}", name, 1, epoch, 1.0 / epoch, 2.0 / epoch) for epoch in (1, 2, 3)]
    table = pd.DataFrame(rows, columns=["encoder", "method", "seed", "epoch", "loss", "train"])
    for drawn in (svg(curves(table, {name: None})), file(curves(table, {name: None}), "")):
        ElementTree.fromstring(drawn)
        assert not set(drawn) & {*"\u2028\u202e\x1b\0"}
        assert "<script" not in drawn
        assert r"a\u2028b\u202e\x1b[31m\x00|&lt;script&gt;" in drawn


def test_a_map_has_a_path_per_language_and_part() -> None:
    points = np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 1.0], [2.0, 2.0]])
    languages, parts = np.array(["a", "a", "b", "b"]), np.array(["meaning", "language", "meaning", "meaning"])
    (panel,) = maps({("<e>", "seed"): Map(points, languages, parts, np.array([0.5, 0.25]))})
    assert panel.lines == ["<e>", "seed", "75% of the variance"]
    assert list(panel.colours) == ["a", "b"]
    paths = re.findall('<path d="(.*?)" stroke="(.*?)" stroke-linecap="(.*?)"/>', panel.svg)
    assert [(data.count("M"), colour, form) for data, colour, form in paths] == [
        (1, panel.colours["a"], "round"),
        (2, panel.colours["b"], "round"),
        (1, panel.colours["a"], "square"),
    ]
    # The lowest left point is at the lower left.
    assert paths[0][0] == "M6 154h0"
    assert "e" not in re.sub("<.*?>", "", panel.svg)


def test_large_maps_are_samples() -> None:
    n = 2 * MAP_POINTS
    points = np.random.default_rng(0).normal(size=(n, 2))
    (panel,) = maps({("e", "m"): Map(points, np.array(["a"] * n), np.array(["sentence"] * n), np.zeros(2))})
    assert panel.svg.count("M") == MAP_POINTS
