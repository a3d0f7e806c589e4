"""The store of sentence vectors: found by sentence and language, refused where it is not what is needed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orthoglot.embeddings.store import (
    DIGESTS,
    META,
    ROWS,
    VECTORS,
    EmbeddingStore,
    digests_of,
    index_digest,
)
from orthoglot.errors import DataError


def write(folder: Path, sentences: list[tuple[str, str]], identity: str = "abc") -> None:
    """Vector of row i is [i, -i]."""
    digests = np.concatenate([digests_of([], "de"), *(digests_of([text], code) for code, text in sentences)])
    order = np.argsort(digests)
    n = len(sentences)
    np.save(folder / VECTORS, np.arange(n, dtype=np.float32)[:, None] * np.array([1, -1], dtype=np.float32))
    np.save(folder / DIGESTS, digests[order])
    np.save(folder / ROWS, order)
    index = index_digest(digests[order], order)
    meta = {"encoder": "toy", "identity": identity, "dim": 2, "n": n, "index": index}
    (folder / META).write_text(json.dumps(meta))


WORDS = [("de", "Hund"), ("en", "hand"), ("de", "hand"), ("de", "ein Hund"), ("en", "")]


def test_rows_follow_sentence_and_language(tmp_path: Path) -> None:
    write(tmp_path, WORDS)
    store = EmbeddingStore.open(tmp_path, "abc")
    assert store.rows(["hand", "Hund", "hand"], "de").tolist() == [2, 0, 2]
    assert store.rows(["hand", ""], "en").tolist() == [1, 4]
    assert store.vectors[store.rows(["ein Hund"], "de")].tolist() == [[3, -3]]
    assert store.rows([], "en").tolist() == []
    assert isinstance(store.vectors, np.memmap)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.text(), unique=True, max_size=20))
def test_any_text_is_found_again(texts: list[str]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), [("de", text) for text in texts])
        store = EmbeddingStore.open(Path(folder), "abc")
        assert store.rows(texts, "de").tolist() == list(range(len(texts)))


def test_language_and_sentence_do_not_run_together() -> None:
    assert digests_of(["x"], "de")[0] != digests_of(["ex"], "d")[0]
    assert len(set(digests_of([str(i) for i in range(2000)], "de").tolist())) == 2000


def test_missing_sentence_is_named_and_counted(tmp_path: Path) -> None:
    write(tmp_path, WORDS)
    with pytest.raises(DataError, match=r"no vector of en 'Hund' \(2 of 3 sentences are missing\)"):
        EmbeddingStore.open(tmp_path, "abc").rows(["hand", "Hund", "Katze"], "en")


def test_empty_store_names_the_missing_sentence_too(tmp_path: Path) -> None:
    write(tmp_path, [])
    with pytest.raises(DataError, match="no vector of en 'a'"):
        EmbeddingStore.open(tmp_path, "abc").rows(["a"], "en")


def test_store_of_another_encoder_is_refused_with_both_identities(tmp_path: Path) -> None:
    write(tmp_path, WORDS, identity="abc")
    with pytest.raises(DataError, match="made by encoder abc, needed is xyz"):
        EmbeddingStore.open(tmp_path, "xyz")


def test_another_stored_type_is_refused(tmp_path: Path) -> None:
    write(tmp_path, WORDS)
    meta = json.loads((tmp_path / META).read_text())
    for dtype, told in (("float16", "float32 .*expected float16"), ("float64", "known are float32, float16")):
        (tmp_path / META).write_text(json.dumps({**meta, "dtype": dtype}))
        with pytest.raises(DataError, match=told):
            EmbeddingStore.open(tmp_path, "abc")


def test_taken_rows_are_float32_and_the_only_ones_read(tmp_path: Path) -> None:
    write(tmp_path, WORDS)
    np.save(tmp_path / VECTORS, np.load(tmp_path / VECTORS).astype(np.float16))
    meta = json.loads((tmp_path / META).read_text())
    (tmp_path / META).write_text(json.dumps({**meta, "dtype": "float16"}))
    store = EmbeddingStore.open(tmp_path, "abc")
    taken = store.take(store.rows(["hand", "Hund"], "de"))
    assert (taken.tolist(), taken.dtype) == ([[2, -2], [0, 0]], np.float32)
    assert isinstance(store.vectors, np.memmap)


def test_damage_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        EmbeddingStore.open(tmp_path, "abc")
    write(tmp_path, WORDS)
    np.save(tmp_path / ROWS, np.arange(5)[::-1])
    with pytest.raises(DataError, match="index has digest"):
        EmbeddingStore.open(tmp_path, "abc")
    write(tmp_path, WORDS)
    np.save(tmp_path / VECTORS, np.zeros((4, 2), dtype=np.float32))
    with pytest.raises(DataError, match=r"float32 \(4, 2\), expected float32 \(5, 2\)"):
        EmbeddingStore.open(tmp_path, "abc")
    write(tmp_path, WORDS)
    (tmp_path / VECTORS).write_bytes((tmp_path / VECTORS).read_bytes()[:-4])
    with pytest.raises(DataError, match="cannot be read"):
        EmbeddingStore.open(tmp_path, "abc")


def float_of(folder: Path, value: float) -> None:
    vectors = np.load(folder / VECTORS)
    vectors[3, 1] = value
    np.save(folder / VECTORS, vectors)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_vector_that_is_not_finite_is_never_read(value: float, tmp_path: Path) -> None:
    write(tmp_path, WORDS)
    float_of(tmp_path, value)
    store = EmbeddingStore.open(tmp_path, "abc")
    assert store.take(np.array([0, 4])).tolist() == [[0, 0], [4, -4]]
    with pytest.raises(DataError, match=r"vector 3 \(from 0\) is not finite"):
        store.take(np.array([4, 3]))


def test_the_largest_finite_numbers_are_vectors(tmp_path: Path) -> None:
    write(tmp_path, WORDS)
    np.save(tmp_path / VECTORS, np.full((5, 2), np.finfo(np.float32).max))
    assert EmbeddingStore.open(tmp_path, "abc").take(np.arange(5)).shape == (5, 2)


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((2, 5), dtype=np.float32),
        np.asfortranarray(np.arange(10, dtype=np.float32).reshape(5, 2)),
        np.zeros((5, 2), dtype=np.float64),
        np.zeros((5, 2), dtype=">f4"),
        np.zeros((5, 2), dtype=np.int32),
        np.zeros((6, 2), dtype=np.float32),
        np.zeros(10, dtype=np.float32),
    ],
)
def test_vectors_of_another_type_shape_or_order_are_refused(array: np.ndarray, tmp_path: Path) -> None:
    write(tmp_path, WORDS)
    np.save(tmp_path / VECTORS, array)
    with pytest.raises(DataError, match=r"vectors\.npy"):
        EmbeddingStore.open(tmp_path, "abc")


@pytest.mark.parametrize("name", [VECTORS, DIGESTS, ROWS])
def test_a_file_that_is_longer_than_it_says_is_refused(name: str, tmp_path: Path) -> None:
    write(tmp_path, WORDS)
    with (tmp_path / name).open("ab") as file:
        file.write(b"x" * 16)
    with pytest.raises(DataError, match=name):
        EmbeddingStore.open(tmp_path, "abc")


@pytest.mark.parametrize(
    "changes",
    [{"n": "5"}, {"n": 4}, {"n": -5}, {"dim": 2.0}, {"dtype": ["float32"]}, {"dtype": 4}, {"encoder": None}],
)
def test_a_description_of_another_type_is_refused(changes: dict[str, object], tmp_path: Path) -> None:
    write(tmp_path, WORDS)
    meta = json.loads((tmp_path / META).read_text())
    (tmp_path / META).write_text(json.dumps(meta | changes))
    with pytest.raises(DataError, match="cannot be read"):
        EmbeddingStore.open(tmp_path, "abc")
    for text in ("[]", "7", "[" * 100_000):
        (tmp_path / META).write_text(text)
        with pytest.raises(DataError, match="cannot be read"):
            EmbeddingStore.open(tmp_path, "abc")
