"""Stored vectors are edited as `transform` edits them, whatever the block."""

from __future__ import annotations

import tracemalloc
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file, save_file
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
        (np.ones((3, WIDTH + 1), dtype=np.float32), "expected float16, float32 or float64 (N, 6)"),
        (np.ones((3, WIDTH), dtype=int), "int64 (3, 6), expected"),
        (np.ones(WIDTH, dtype=np.float32), "expected"),
        (np.array([["a"] * WIDTH], dtype=object), "not an .npy file of numbers"),
        (
            np.array([[1] * WIDTH, [np.nan] + [1] * (WIDTH - 1)], dtype=np.float32),
            "vector 1 (from 0) is not finite",
        ),
    ],
)
def test_wrong_arrays_are_refused(array: np.ndarray, message: str, tmp_path: Path) -> None:
    np.save(tmp_path / "old.npy", array, allow_pickle=True)
    raised = unbias(tmp_path / "old.npy", tmp_path / "new.npy")
    assert isinstance(raised, DataError)
    assert message in str(raised)
    assert "pickle" not in str(raised)
    assert not (tmp_path / "new.npy").exists()


VECTORS = np.random.default_rng(3).normal(size=(50, WIDTH)).astype(np.float32)
VECTORS[[4, 31]] = np.nan  # blank lines
EXPECTED = decomposer().transform(VECTORS, "").meaning


def test_a_blank_row_stays_blank(tmp_path: Path) -> None:
    np.save(tmp_path / "old.npy", VECTORS.astype(np.float64))
    assert unbias(tmp_path / "old.npy", tmp_path / "new.npy") is None
    found = np.load(tmp_path / "new.npy")
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, EXPECTED, atol=1e-6)
    assert np.isnan(found[[4, 31]]).all()


@pytest.mark.parametrize("kind", ["list", "large_list", "fixed_size_list"])
@pytest.mark.parametrize("number", ["float", "double", "halffloat"])
def test_a_column_of_lists_is_edited_and_the_others_stay(
    kind: str, number: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MODULE, "ROWS", 7)
    inner = {"float": pa.float32(), "double": pa.float64(), "halffloat": pa.float16()}[number]
    types = {
        "list": pa.list_(inner),
        "large_list": pa.large_list(inner),
        "fixed_size_list": pa.list_(inner, WIDTH),
    }
    stored = VECTORS.astype(inner.to_pandas_dtype())
    rows = [None if np.isnan(row).all() else list(row) for row in stored]
    ids = [f"id{n}" for n in range(50)]
    table = pa.table({"id": ids, "vector": pa.array(rows, type=types[kind]), "score": np.arange(50.0)})
    table = table.replace_schema_metadata({"made": "by hand"})
    pq.write_table(table, tmp_path / "OLD.PARQUET", row_group_size=20)
    assert unbias(tmp_path / "OLD.PARQUET", tmp_path / "new.parquet") is None
    found = pq.read_table(tmp_path / "new.parquet")
    assert found.schema == table.schema
    assert found.schema.metadata == table.schema.metadata
    assert found["id"].to_pylist() == ids
    assert found["score"].to_pylist() == list(range(50))
    lists = found["vector"].to_pylist()
    assert [n for n, one in enumerate(lists) if one is None] == [4, 31]
    expected = decomposer().transform(stored.astype(np.float32), "").meaning
    limit = 1e-2 if number == "halffloat" else 1e-5
    for one, wanted in zip(lists, expected, strict=True):
        if one is not None:
            np.testing.assert_allclose(np.array(one, dtype=float), wanted, atol=limit)


def test_a_column_for_each_dimension_is_edited_in_the_order_of_its_number(tmp_path: Path) -> None:
    order = [3, 0, 5, 1, 2, 4]
    frame = pd.DataFrame({f"e{n}": VECTORS[:, n] for n in order})
    frame.insert(2, "text", [f"t{n}" for n in range(50)])
    frame["score"] = 0.5
    frame.to_parquet(tmp_path / "old.parquet")
    assert unbias(tmp_path / "old.parquet", tmp_path / "old.parquet") is None
    found = pd.read_parquet(tmp_path / "old.parquet")
    assert list(found) == list(frame)
    assert found["text"].tolist() == frame["text"].tolist()
    np.testing.assert_allclose(found[[f"e{n}" for n in range(WIDTH)]], EXPECTED, atol=1e-5)
    # Columns of other names, if there are no others with numbers.
    plain = pd.DataFrame(VECTORS, columns=list("abcdef")).assign(text="t")
    plain.to_parquet(tmp_path / "plain.parquet")
    assert unbias(tmp_path / "plain.parquet", tmp_path / "new.parquet") is None
    np.testing.assert_allclose(pd.read_parquet(tmp_path / "new.parquet")[list("abcdef")], EXPECTED, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
def test_tensors_are_edited_and_what_is_beside_them_stays(dtype: torch.dtype, tmp_path: Path) -> None:
    tensor = torch.from_numpy(VECTORS).to(dtype)
    expected = torch.from_numpy(decomposer().transform(tensor.float().numpy(), "").meaning).to(dtype)
    torch.save(tensor, tmp_path / "old.pt")
    assert unbias(tmp_path / "old.pt", tmp_path / "new.pt") is None
    torch.testing.assert_close(torch.load(tmp_path / "new.pt"), expected, equal_nan=True)
    beside = {"ids": list(range(50)), "vectors": tensor, "other": torch.ones(3)}
    torch.save(beside, tmp_path / "old.pt")
    assert unbias(tmp_path / "old.pt", tmp_path / "new.pt") is None
    found = torch.load(tmp_path / "new.pt")
    torch.testing.assert_close(found["vectors"], expected, equal_nan=True)
    assert (found["ids"], found["other"].tolist(), list(found)) == (list(range(50)), [1, 1, 1], list(beside))
    save_file({"v": tensor, "w": torch.ones(2)}, tmp_path / "old.safetensors", {"made": "by hand"})
    assert unbias(tmp_path / "old.safetensors", tmp_path / "new.safetensors") is None
    torch.testing.assert_close(load_file(tmp_path / "new.safetensors")["v"], expected, equal_nan=True)


def test_several_candidates_are_named_and_column_chooses(tmp_path: Path) -> None:
    one = torch.nan_to_num(torch.from_numpy(VECTORS))
    torch.save({"a": one, "b": 2 * one}, tmp_path / "old.pt")
    raised = unbias(tmp_path / "old.pt", tmp_path / "new.pt")
    assert isinstance(raised, ConfigError)
    assert "several tensors are (N, 6): a, b; choose one by --column" in str(raised)
    assert unbias(tmp_path / "old.pt", tmp_path / "new.pt", "--column", "b") is None
    found = torch.load(tmp_path / "new.pt")
    assert torch.equal(found["a"], one)
    assert not torch.allclose(found["b"], 2 * one)
    lists = [list(map(float, row)) for row in one]
    pq.write_table(pa.table({"a": lists, "b": lists}), tmp_path / "old.parquet")
    raised = unbias(tmp_path / "old.parquet", tmp_path / "new.parquet")
    assert "several columns hold lists of numbers (a, b); choose one by --column" in str(raised)
    assert unbias(tmp_path / "old.parquet", tmp_path / "new.parquet", "--column", "b") is None
    table = pq.read_table(tmp_path / "new.parquet")
    assert table["a"].to_pylist() == lists != table["b"].to_pylist()
    frame = pd.DataFrame({f"{name}{n}": one[:, n] for name in "ab" for n in range(WIDTH)})
    frame.to_parquet(tmp_path / "old.parquet")
    assert "several series of 6 columns" in str(unbias(tmp_path / "old.parquet", tmp_path / "new.parquet"))
    assert unbias(tmp_path / "old.parquet", tmp_path / "new.parquet", "--column", "b") is None
    np.testing.assert_array_equal(pd.read_parquet(tmp_path / "new.parquet")["a0"], frame["a0"])


class Strange:
    """What no file of tensors holds."""


def test_other_files_are_refused_in_our_own_words(tmp_path: Path) -> None:
    def refused(name: str, *options: str, output: str = "") -> str:
        raised = unbias(tmp_path / name, tmp_path / (output or f"new{Path(name).suffix}"), *options)
        assert isinstance(raised, DataError | ConfigError), raised
        message = str(raised)
        assert not any(word in message for word in ("pickle", "weights_only", "unsafe"))
        return message

    for name in ("a.npy", "a.parquet", "a.pt", "a.safetensors"):
        (tmp_path / name).write_bytes(b"something else")
        assert "or damaged" in refused(name) or "but damaged" in refused(name)
        assert "does not exist" in refused(f"absent{Path(name).suffix}")
    (tmp_path / "a.json").write_text("[]")
    assert "its ending is none of .npy, .parquet, .pt, .safetensors" in refused("a.json")
    np.save(tmp_path / "b.npy", VECTORS)
    assert "write a .npy file" in refused("b.npy", output="new.parquet")
    assert "leave --column out" in refused("b.npy", "--column", "x")
    (tmp_path / "c.pt").write_bytes((tmp_path / "b.npy").read_bytes())
    refused("c.pt")
    torch.save(Strange(), tmp_path / "d.pt")
    assert "objects other than tensors" in refused("d.pt")
    torch.save({"a": torch.ones(3)}, tmp_path / "e.pt")
    assert "no tensor of floats (N, 6)" in refused("e.pt")
    assert "no tensor 'b'; it has a" in refused("e.pt", "--column", "b")
    torch.save(torch.ones(3, WIDTH, dtype=torch.int64), tmp_path / "f.pt")
    assert "int64 (3, 6), expected floats" in refused("f.pt")
    torch.save([1], tmp_path / "g.pt")
    assert "holds a list" in refused("g.pt")
    pq.write_table(pa.table({"v": [[1.0] * WIDTH, [1.0]]}), tmp_path / "h.parquet")
    assert "vector 1 (from 0) has 1 numbers, expected 6" in refused("h.parquet")
    pq.write_table(pa.table({"v": [[1.0] * WIDTH, [1.0, None, 1, 1, 1, 1]]}), tmp_path / "i.parquet")
    assert "vector 1 (from 0) is not finite" in refused("i.parquet")
    pq.write_table(pa.table({"v": ["a"], "w": [1.0]}), tmp_path / "j.parquet")
    assert "no column has lists of numbers, and 1 have a number; expected 6" in refused("j.parquet")
    assert "no column or columns 'x'" in refused("j.parquet", "--column", "x")
    np.save(tmp_path / "k.npy", np.full((2, WIDTH), 60000, dtype=np.float16))
    assert "float16 does not hold the part of vector 0" in refused("k.npy")


def test_a_cut_part_has_fewer_numbers(tmp_path: Path) -> None:
    import orthoglot

    a = np.nan_to_num(VECTORS)
    split = orthoglot.Decomposer(dim=3).fit(a, a + 0.1 * VECTORS[::-1].copy().clip(-1, 1), "en", "gn")
    split.save(tmp_path / "cut")
    np.save(tmp_path / "old.npy", VECTORS)
    pq.write_table(pa.table({"v": [list(map(float, row)) for row in a]}), tmp_path / "old.parquet")
    pd.DataFrame(VECTORS, columns=[f"e{n}" for n in range(WIDTH)]).to_parquet(tmp_path / "wide.parquet")
    torch.save(torch.from_numpy(VECTORS), tmp_path / "old.pt")
    for name in ("old.npy", "old.parquet", "wide.parquet", "old.pt"):
        given = [
            "unbias",
            str(tmp_path / name),
            "--model",
            str(tmp_path / "cut"),
            "-o",
            str(tmp_path / f"new-{name}"),
        ]
        assert CliRunner().invoke(app, given).exception is None
    expected = split.transform(VECTORS)
    np.testing.assert_allclose(np.load(tmp_path / "new-old.npy"), expected, atol=1e-5)
    np.testing.assert_allclose(pd.read_parquet(tmp_path / "new-wide.parquet"), expected, atol=1e-5)
    np.testing.assert_allclose(torch.load(tmp_path / "new-old.pt"), expected, atol=1e-5)
    lists = np.array(pq.read_table(tmp_path / "new-old.parquet")["v"].to_pylist())
    np.testing.assert_allclose(lists, split.transform(a), atol=1e-5)
