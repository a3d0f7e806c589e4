"""The store of sentence vectors: found by sentence and language, refused where it is not what is needed."""

from __future__ import annotations

import json
from collections.abc import Callable
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
    write(tmp_path, [])
    with pytest.raises(DataError, match="no vector of en 'a'"):
        EmbeddingStore.open(tmp_path, "abc").rows(["a"], "en")


def test_taken_rows_are_float32_and_the_only_ones_read(tmp_path: Path) -> None:
    write(tmp_path, WORDS)
    np.save(tmp_path / VECTORS, np.load(tmp_path / VECTORS).astype(np.float16))
    meta = json.loads((tmp_path / META).read_text())
    (tmp_path / META).write_text(json.dumps({**meta, "dtype": "float16"}))
    store = EmbeddingStore.open(tmp_path, "abc")
    taken = store.take(store.rows(["hand", "Hund"], "de"))
    assert (taken.tolist(), taken.dtype) == ([[2, -2], [0, 0]], np.float32)
    assert isinstance(store.vectors, np.memmap)


def test_the_largest_finite_numbers_are_vectors(tmp_path: Path) -> None:
    write(tmp_path, WORDS)
    np.save(tmp_path / VECTORS, np.full((5, 2), np.finfo(np.float32).max))
    assert EmbeddingStore.open(tmp_path, "abc").take(np.arange(5)).shape == (5, 2)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_vector_that_is_not_finite_is_never_read(value: float, tmp_path: Path) -> None:
    write(tmp_path, WORDS)
    vectors = np.load(tmp_path / VECTORS)
    vectors[3, 1] = value
    np.save(tmp_path / VECTORS, vectors)
    store = EmbeddingStore.open(tmp_path, "abc")
    assert store.take(np.array([0, 4])).tolist() == [[0, 0], [4, -4]]
    with pytest.raises(DataError, match=r"vector 3 \(from 0\) is not finite"):
        store.take(np.array([4, 3]))


Change = Callable[[Path], object]


def saved(name: str, array: np.ndarray) -> Change:
    return lambda folder: np.save(folder / name, array)


def described(**changes: object) -> Change:
    def change(folder: Path) -> None:
        meta = json.loads((folder / META).read_text())
        (folder / META).write_text(json.dumps(meta | changes))

    return change


def rewritten(name: str, change: Callable[[bytes], bytes]) -> Change:
    return lambda folder: (folder / name).write_bytes(change((folder / name).read_bytes()))


TWO_COLUMNS = np.arange(10, dtype=np.float32).reshape(5, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (described(identity="xyz"), "made by encoder xyz, needed is abc"),
        (described(dtype="float16"), "float32 .*expected float16"),
        (described(dtype="float64"), "known are float32, float16"),
        (lambda folder: (folder / META).unlink(), "cannot be read"),
        (saved(ROWS, np.arange(5)[::-1]), "index has digest"),
        (saved(VECTORS, TWO_COLUMNS[:4]), r"float32 \(4, 2\), expected float32 \(5, 2\)"),
        (saved(VECTORS, TWO_COLUMNS.T), r"vectors\.npy"),
        (saved(VECTORS, np.asfortranarray(TWO_COLUMNS)), r"vectors\.npy"),
        (saved(VECTORS, TWO_COLUMNS.astype(np.float64)), r"vectors\.npy"),
        (saved(VECTORS, TWO_COLUMNS.astype(">f4")), r"vectors\.npy"),
        (saved(VECTORS, TWO_COLUMNS.astype(np.int32)), r"vectors\.npy"),
        (saved(VECTORS, np.zeros((6, 2), dtype=np.float32)), r"vectors\.npy"),
        (saved(VECTORS, TWO_COLUMNS.ravel()), r"vectors\.npy"),
        (rewritten(VECTORS, lambda content: content[:-4]), "cannot be read"),
        (rewritten(VECTORS, lambda content: content + bytes(16)), VECTORS),
        (rewritten(DIGESTS, lambda content: content + bytes(16)), DIGESTS),
        (rewritten(ROWS, lambda content: content + bytes(16)), ROWS),
        (rewritten(META, lambda _: b"[]"), "cannot be read"),
        (rewritten(META, lambda _: b"7"), "cannot be read"),
        (rewritten(META, lambda _: b"[" * 100_000), "cannot be read"),
        (described(n="5"), "cannot be read"),
        (described(n=4), "cannot be read"),
        (described(n=-5), "cannot be read"),
        (described(dim=2.0), "cannot be read"),
        (described(dtype=["float32"]), "cannot be read"),
        (described(dtype=4), "cannot be read"),
        (described(encoder=None), "cannot be read"),
    ],
)
def test_a_store_that_is_damaged_or_another_is_refused(change: Change, message: str, tmp_path: Path) -> None:
    write(tmp_path, WORDS)
    change(tmp_path)
    with pytest.raises(DataError, match=message):
        EmbeddingStore.open(tmp_path, "abc")
