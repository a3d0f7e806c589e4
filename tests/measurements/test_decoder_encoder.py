"""A decoder in Qwen3-Embedding's form and its control are trained, saved and opened; what is measured of them."""

from __future__ import annotations

import json
from pathlib import Path

import decoder_encoder
import numpy as np
import pytest
import small_encoders
import torch
from sentence_transformers import SentenceTransformer

from orthoglot.apply.encoder_copy import Checkpoint, link_folder
from orthoglot.encoders.folder import load_encoder

FOLDER = Path(decoder_encoder.__file__).parent
WORDS = ["sun", "moon", "rain", "wind", "snow", "sea", "tree", "bird", "fish", "stone"]


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def pairs() -> dict[str, list[tuple[str, str]]]:
    """Invented translations: words backwards, or in upper case."""
    draw = np.random.default_rng(1)
    texts = [" ".join(draw.choice(WORDS, 5)) for _ in range(400)]
    return {
        "qaa": [(text, " ".join(word[::-1] for word in text.split())) for text in texts[:300]],
        "qab": [(text, text.upper()) for text in texts[300:]],
    }


@pytest.fixture(scope="module", params=["decoder", "control"])
def trained(
    request: pytest.FixtureRequest,
    pairs: dict[str, list[tuple[str, str]]],
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[str, Path, list[float]]:
    place = tmp_path_factory.mktemp("trained") / request.param
    texts = [text for drawn in pairs.values() for pair in drawn for text in pair]
    tokenizer = small_encoders.byte_pairs(texts, 350)
    losses = small_encoders.train(
        request.param, pairs, tokenizer, place, width=64, layers=1, steps=60, batch=16, longest=24
    )
    return request.param, place, losses


def test_the_loss_falls(trained: tuple[str, Path, list[float]]) -> None:
    losses = trained[2]
    assert np.mean(losses[:5]) > np.log(16) - 0.5
    assert np.mean(losses[-5:]) < 0.6 * np.mean(losses[:5])


def test_the_folder_opens_with_its_instruction_and_gives_the_librarys_vectors(
    trained: tuple[str, Path, list[float]], tmp_path: Path
) -> None:
    kind, place, _ = trained
    steps = [step["type"].rpartition(".")[2] for step in json.loads((place / "modules.json").read_text())]
    assert steps == ["Transformer", "Pooling", "Normalize"]
    link_folder(Checkpoint(str(place), prefix=small_encoders.INSTRUCTION), tmp_path)
    texts = ["sun", "moon rain wind", "bird fish stone sea tree sun moon", "snow sea"]
    vectors = load_encoder(tmp_path, "cpu").encode(texts, "", 64)
    library = SentenceTransformer(str(place), device="cpu")
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    for side in ("left", "right"):  # the last token is the same
        library.tokenizer.padding_side = side
        np.testing.assert_allclose(unit, library.encode(texts, prompt_name="query"), atol=1e-5)
    assert np.abs(unit - library.encode(texts)).max() > 1e-3  # without the instruction
    states = library.encode(["sun moon", "sun rain"], output_value="token_embeddings")
    before = len(library.tokenizer.tokenize("sun"))
    apart = np.abs(states[0].numpy() - states[1].numpy())[:before].max()
    assert apart < 1e-5 if kind == "decoder" else apart > 1e-3  # whether a token sees what follows


def test_training_in_bfloat16_gives_nearly_the_vectors_of_the_folder(
    trained: tuple[str, Path, list[float]],
) -> None:
    kind, place, _ = trained
    library = SentenceTransformer(str(place), device="cpu")
    texts = ["sun", "moon rain wind", "bird fish stone sea tree"]
    asked = [small_encoders.INSTRUCTION + text for text in texts]
    assert all(row[-1] == library.tokenizer.eos_token_id for row in library.tokenizer(asked)["input_ids"])
    with torch.no_grad():
        vectors = small_encoders.pooled(library[0].model, library.tokenizer, kind, asked, 64)
    assert (vectors.numpy() * library.encode(texts, prompt_name="query")).sum(axis=1).min() > 0.995


def test_batches_are_of_like_length_and_languages_of_the_root_of_their_pairs() -> None:
    pairs = {
        "qaa": [("a" * (n % 7), str(n)) for n in range(100, 200)],
        "qab": [("b", str(n)) for n in range(4)],
    }
    drawn = list(small_encoders.batches(pairs, 8, 40))
    assert [len(batch) for batch in drawn] == [8] * 40
    assert max(len(batch[-1][0]) - len(batch[0][0]) for batch in drawn) <= 2
    turns = [pair[1] for batch in drawn for pair in batch if pair[0] != "b"]
    assert len(turns) / 320 == pytest.approx(5 / 6, abs=0.06)  # the root of 100 : 4 is 5 : 1
    assert {turns.count(turn) for turn in set(turns)} <= {2, 3}  # each pair once in a turn


def test_uniformity_and_alignment_of_known_vectors() -> None:
    """Sentences at right angles have |x - y|^2 = 2; equal ones 0, the most uneven."""
    eye = np.stack([np.eye(40)] * 2)
    assert decoder_encoder.uniformity(decoder_encoder.kernel(eye))[0] == pytest.approx(-4)
    same = np.ones((2, 40, 1))
    assert decoder_encoder.uniformity(decoder_encoder.kernel(same))[0] == pytest.approx(0)


def test_hits_count_both_directions() -> None:
    x, y = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[1.0, 0.2], [1.0, 0.4]])
    np.testing.assert_array_equal(decoder_encoder.hits(x, y), [1.0, 0.5])
