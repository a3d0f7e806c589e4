"""Stored vectors are edited as `transform` edits them, whatever the block."""

from __future__ import annotations

import tracemalloc
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from orthoglot.cli import app
from orthoglot.decomposers.base import Decomposer
from orthoglot.errors import ConfigError, DataError

WIDTH = 6
MODULE = import_module("orthoglot.cli.unbias")


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


def unbias(vectors: Path, output: Path, *options: str, architecture: str = "two_head") -> Any:
    """The command with a decomposer; returns what it raised."""
    folder = output.with_name(architecture)
    folder.mkdir(exist_ok=True)
    decomposer(architecture).save(folder)
    given = ["unbias", str(vectors), "--model", str(folder), "-o", str(output), *options]
    return CliRunner().invoke(app, given).exception


@pytest.mark.parametrize("rows", [1, 7, 50, 1000])
@pytest.mark.parametrize("part", ["meaning", "language"])
def test_parts_are_those_of_transform(
    rows: int, part: str, stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MODULE, "ROWS", rows)
    assert unbias(stored, tmp_path / "new.npy", "--part", part) is None
    expected = getattr(decomposer().transform(np.load(stored), ""), part)
    np.testing.assert_allclose(np.load(tmp_path / "new.npy"), expected, rtol=1e-5, atol=1e-6)


def test_each_vector_may_have_its_language_and_a_method_may_need_it(
    stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MODULE, "ROWS", 7)
    (tmp_path / "codes.txt").write_text("de\nen\n" * 25)
    (tmp_path / "few.txt").write_text("de\nen\n")
    centred = partial(unbias, stored, tmp_path / "new.npy", architecture="centering")
    for options, error, message in (
        ((), DataError, "known: de, en"),
        (("--languages", str(tmp_path / "few.txt")), ConfigError, "50 vectors but 2 languages"),
        (("--language", "de", "--languages", str(tmp_path / "few.txt")), ConfigError, "not both"),
    ):
        raised = centred(*options)
        assert isinstance(raised, error)
        assert message in str(raised)
        assert not (tmp_path / "new.npy").exists()
    assert centred("--languages", str(tmp_path / "codes.txt")) is None
    expected = np.load(stored) - decomposer("centering").weights["means"][[0, 1] * 25]
    np.testing.assert_allclose(np.load(tmp_path / "new.npy"), expected, atol=1e-6)


def test_a_file_may_replace_itself_and_keeps_its_type(stored: Path) -> None:
    np.save(stored, np.load(stored).astype(np.float16))
    expected = decomposer().transform(np.load(stored).astype(np.float32), "").meaning
    assert unbias(stored, stored) is None
    edited = np.load(stored)
    assert edited.dtype == np.float16
    np.testing.assert_allclose(edited, expected, rtol=2e-3, atol=2e-3)


def test_memory_does_not_grow_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "ROWS", 500)
    unbias(tmp_path / "absent.npy", tmp_path / "new.npy")  # the imports of a first call
    peaks = []
    for count in (2_000, 40_000):
        np.save(tmp_path / "old.npy", np.ones((count, WIDTH), dtype=np.float32))
        tracemalloc.start()
        assert unbias(tmp_path / "old.npy", tmp_path / "new.npy") is None
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 100_000


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.ones((3, WIDTH + 1), dtype=np.float32), "expected float32 or float16 (N, 6)"),
        (np.ones((3, WIDTH)), "float64"),
        (np.ones(WIDTH, dtype=np.float32), "expected"),
        (np.array([["a"] * WIDTH], dtype=object), "not a .npy array"),
        (np.array([[1] * WIDTH, [np.nan] * WIDTH], dtype=np.float32), "vector 1 (from 0) is not finite"),
    ],
)
def test_wrong_arrays_are_refused(array: np.ndarray, message: str, tmp_path: Path) -> None:
    np.save(tmp_path / "old.npy", array, allow_pickle=True)
    raised = unbias(tmp_path / "old.npy", tmp_path / "new.npy")
    assert isinstance(raised, DataError)
    assert message in str(raised)
    assert not (tmp_path / "new.npy").exists()
