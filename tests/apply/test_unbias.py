"""Stored vectors are edited as `transform` edits them, whatever the block."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from orthoglot.apply.unbias import unbias
from orthoglot.cli import app
from orthoglot.decomposers.base import Decomposer
from orthoglot.errors import ConfigError, DataError

WIDTH = 6


def decomposer(architecture: str = "two_head") -> Decomposer:
    rng = np.random.default_rng(1)
    maps = {
        "meaning.weight": rng.normal(size=(WIDTH, WIDTH)),
        "meaning.bias": rng.normal(size=WIDTH),
        "language.weight": rng.normal(size=(WIDTH, WIDTH)),
        "language.bias": rng.normal(size=WIDTH),
    }
    if architecture == "centering":
        maps = {"means": rng.normal(size=(2, WIDTH))}
    weights = {name: one.astype(np.float32) for name, one in maps.items()}
    return Decomposer(architecture, "m", "toy", "abc", ["de", "en"], WIDTH, weights, {})


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    np.save(tmp_path / "old.npy", np.random.default_rng(2).normal(size=(50, WIDTH)).astype(np.float32))
    return tmp_path / "old.npy"


@pytest.mark.parametrize("rows", [1, 7, 50, 1000])
@pytest.mark.parametrize("part", ["meaning", "language"])
def test_parts_are_those_of_transform(rows: int, part: str, stored: Path, tmp_path: Path) -> None:
    assert unbias(stored, decomposer(), tmp_path / "new.npy", part=part, rows=rows) == 50
    expected = getattr(decomposer().transform(np.load(stored), ""), part)
    np.testing.assert_allclose(np.load(tmp_path / "new.npy"), expected, rtol=1e-5, atol=1e-6)


def test_each_vector_may_have_its_language_and_a_method_may_need_it(stored: Path, tmp_path: Path) -> None:
    languages = ["de", "en"] * 25
    unbias(stored, decomposer("centering"), tmp_path / "new.npy", languages=languages, rows=7)
    means = decomposer("centering").weights["means"]
    expected = np.load(stored) - means[[0, 1] * 25]
    np.testing.assert_allclose(np.load(tmp_path / "new.npy"), expected, atol=1e-6)
    with pytest.raises(DataError, match="known: de, en"):
        unbias(stored, decomposer("centering"), tmp_path / "other.npy")
    assert not (tmp_path / "other.npy").exists()
    with pytest.raises(ConfigError, match="50 vectors but 2 languages"):
        unbias(stored, decomposer("centering"), tmp_path / "other.npy", languages=["de", "en"])


def test_a_file_may_replace_itself_and_keeps_its_type(stored: Path) -> None:
    np.save(stored, np.load(stored).astype(np.float16))
    expected = decomposer().transform(np.load(stored).astype(np.float32), "").meaning
    unbias(stored, decomposer(), stored)
    found = np.load(stored)
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-3)


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    peaks = []
    for count in (2_000, 40_000):
        np.save(tmp_path / "old.npy", np.ones((count, WIDTH), dtype=np.float32))
        tracemalloc.start()
        unbias(tmp_path / "old.npy", decomposer(), tmp_path / "new.npy", rows=500)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 100_000


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.ones((3, WIDTH + 1), dtype=np.float32), r"expected float32 or float16 \(N, 6\)"),
        (np.ones((3, WIDTH)), "float64"),
        (np.ones(WIDTH, dtype=np.float32), "expected"),
        (np.array([["a"] * WIDTH], dtype=object), "not a .npy array"),
        (np.array([[1] * WIDTH, [np.nan] * WIDTH], dtype=np.float32), r"vector 1 \(from 0\) is not finite"),
    ],
)
def test_wrong_arrays_are_refused(array: np.ndarray, message: str, tmp_path: Path) -> None:
    np.save(tmp_path / "old.npy", array, allow_pickle=True)
    with pytest.raises(DataError, match=message):
        unbias(tmp_path / "old.npy", decomposer(), tmp_path / "new.npy")
    assert not (tmp_path / "new.npy").exists()


def test_command_line(stored: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    decomposer("centering").save(folder)
    (tmp_path / "codes.txt").write_text("de\nen\n" * 25)
    call = ["unbias", str(stored), "--model", str(folder), "-o", str(tmp_path / "new.npy")]
    found = CliRunner().invoke(app, [*call, "--languages", str(tmp_path / "codes.txt")])
    assert found.exit_code == 0, found.output
    expected = np.load(stored) - decomposer("centering").weights["means"][[0, 1] * 25]
    np.testing.assert_allclose(np.load(tmp_path / "new.npy"), expected, atol=1e-6)
    both = CliRunner().invoke(app, [*call, "--language", "de", "--languages", str(tmp_path / "codes.txt")])
    assert isinstance(both.exception, ConfigError)
