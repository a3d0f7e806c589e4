"""LASER2: against an LSTM written out cell by cell, from a checkpoint in the official form."""

from __future__ import annotations

import io
import json
import logging
import os
import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
import torch
from laser_files import linked, write_weights

from orthoglot.encoders.folder import identity, load_encoder
from orthoglot.encoders.laser import LaserEncoder, LaserSizes
from orthoglot.encoders.laser_release import convert
from orthoglot.encoders.laser_tokenizers import Laser2Tokenizer
from orthoglot.errors import ConfigError, DataError, OfflineError

SENTENCES = ["the cat sat on the mat", "a cat", "mat", "the mat sat on a cat and the cat sat on a mat"]
SIZES = LaserSizes(vocabulary=60, width=6, hidden=5, layers=3)
REAL = Path(__file__).resolve().parents[2] / "weights" / "laser2"


def _pieces() -> bytes:
    model = io.BytesIO()
    text = [*SENTENCES, 'one "two", three', "1.000 and 1,000"] * 20
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(text), model_writer=model, vocab_size=40, hard_vocab_limit=False, minloglevel=2
    )
    return model.getvalue()


def _official(folder: Path) -> tuple[Path, list[Path]]:
    """laser2.pt and laser2.spm as the authors publish them, small and random."""
    folder.mkdir()
    pieces = _pieces()
    (folder / "laser2.spm").write_bytes(pieces)
    processor = sentencepiece.SentencePieceProcessor(model_proto=pieces)
    known = [processor.id_to_piece(number) for number in range(3, processor.get_piece_size())]
    # Its own order, not SentencePiece's.
    ids = {piece: 4 + number for number, piece in enumerate(reversed(known))}
    write_weights(folder / "laser2.pt", SIZES, ids, 1, archive=True)
    return folder / "laser2.pt", [folder / "laser2.spm"]


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("laser")
    convert(*_official(folder / "official"), folder / "laser2")
    return folder / "laser2"


@pytest.fixture(scope="module")
def encoder(converted: Path, tmp_path_factory: pytest.TempPathFactory) -> LaserEncoder:
    return load_encoder(linked(tmp_path_factory.mktemp("laser") / "e", converted, "laser2"), "cpu")


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _lstm(inputs: list[np.ndarray], weights: dict[str, np.ndarray], suffix: str) -> list[np.ndarray]:
    """One layer in one direction, one token after the other; gates in the order input, forget, cell, output."""
    hidden = cell = np.zeros(SIZES.hidden)
    states = []
    for x in inputs:
        gates = weights[f"lstm.weight_ih_{suffix}"] @ x + weights[f"lstm.bias_ih_{suffix}"]
        gates = gates + weights[f"lstm.weight_hh_{suffix}"] @ hidden + weights[f"lstm.bias_hh_{suffix}"]
        write, forget, new, show = np.split(gates, 4)
        cell = _sigmoid(forget) * cell + _sigmoid(write) * np.tanh(new)
        hidden = _sigmoid(show) * np.tanh(cell)
        states.append(hidden)
    return states


def _slow(ids: list[int], weights: dict[str, np.ndarray]) -> np.ndarray:
    """One sentence without padding, in float64."""
    states = [weights["embed_tokens.weight"][number] for number in ids]
    for layer in range(SIZES.layers):
        forward = _lstm(states, weights, f"l{layer}")
        backward = _lstm(states[::-1], weights, f"l{layer}_reverse")[::-1]
        states = [np.concatenate(both) for both in zip(forward, backward, strict=True)]
    return np.max(states, axis=0)


def _weights(encoder: LaserEncoder) -> dict[str, np.ndarray]:
    return {name: tensor.double().numpy() for name, tensor in encoder.model.state_dict().items()}


def test_vectors_are_those_of_an_lstm_cell_by_cell(encoder: LaserEncoder) -> None:
    tokens = encoder.tokenizer.encode(SENTENCES, "en", 100)
    rows = [[*map(int, row), 2] for row in np.split(tokens.ids, tokens.offsets[1:-1])]
    expected = np.stack([_slow(row, _weights(encoder)) for row in rows])
    assert len(set(map(len, rows))) > 2, "the batch must hold padding"
    assert (expected < 0).any(), "padding states of 0 must be able to show"
    for batch_size in (1, 2, 4):
        np.testing.assert_allclose(encoder.encode(SENTENCES, "en", batch_size), expected, atol=1e-6)
    assert (encoder.dim, encoder.name, encoder.languages) == (10, "laser2", ())


def test_bfloat16_gives_nearly_the_same_vectors(converted: Path, tmp_path: Path) -> None:
    folder = linked(tmp_path / "e", converted)
    plain, rounded = (
        load_encoder(folder, "cpu", precision).encode(SENTENCES, "en", 64)
        for precision in ("float32", "bfloat16")
    )
    cosines = (plain * rounded).sum(1) / np.linalg.norm(plain, axis=1) / np.linalg.norm(rounded, axis=1)
    assert 0.999 < cosines.min() <= cosines.max() < 1 - 1e-8


def test_ids_come_from_lasers_dictionary_and_text_is_lower_cased(converted: Path) -> None:
    tokenizer = Laser2Tokenizer(converted, "tiny")
    vocabulary = json.loads((converted / "vocab.json").read_text(encoding="utf-8"))
    processor = sentencepiece.SentencePieceProcessor(model_file=str(converted / "sentencepiece.model"))
    pieces = processor.encode("the cat", out_type=str)
    expected = [vocabulary[piece] for piece in pieces]
    assert expected != processor.encode("the cat")
    for text in ("the cat", "THE Cat"):
        assert tokenizer.encode([text], "en", 100).ids.tolist() == expected
    assert 3 in tokenizer.encode(["the 猫"], "en", 100).ids


@pytest.mark.parametrize("text", ["1\u00a0000", 'the "cat", a mat'])
def test_the_language_of_each_side_reaches_the_text(encoder: LaserEncoder, text: str) -> None:
    english, german = (encoder.encode([text], language, 1) for language in ("en", "de"))
    assert np.abs(english - german).max() > 1e-4
    np.testing.assert_array_equal(encoder.encode([text], "", 1), english)


def test_the_end_token_stays_when_a_sentence_is_cut(
    converted: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    encoder = load_encoder(linked(tmp_path / "e", converted, max_tokens=6), "cpu")
    with caplog.at_level(logging.INFO):
        vectors = encoder.encode(SENTENCES[:1], "en", 1)
    ids = encoder.tokenizer.encode(SENTENCES[:1], "en", 100).ids
    assert len(ids) >= 6
    np.testing.assert_allclose(vectors[0], _slow([*map(int, ids[:5]), 2], _weights(encoder)), atol=1e-6)
    assert "1 of 1 en sentences truncated at 6 tokens" in caplog.text


def test_what_has_no_token_or_no_covered_language_is_refused(converted: Path, tmp_path: Path) -> None:
    encoder = load_encoder(linked(tmp_path / "e", converted, languages=["en"]), "cpu")
    with pytest.raises(DataError, match="sentence 1 has no token"):
        encoder.encode(["cat", " "], "en", 1)
    with pytest.raises(ConfigError, match="does not cover language 'gn'"):
        encoder.encode(["cat"], "gn", 1)


def test_identity_follows_weights_and_dictionary(converted: Path, tmp_path: Path) -> None:
    moving = tmp_path / "moving"
    moving.mkdir()
    for path in converted.iterdir():
        (moving / path.name).write_bytes(path.read_bytes())
    folder = linked(tmp_path / "e", moving)
    seen = {identity(folder)}
    for name in ("vocab.json", "sentencepiece.model", "model.safetensors", "config.json"):
        with (moving / name).open("ab") as file:
            file.write(b" ")
        seen.add(identity(folder))
    assert len(seen) == 5


def test_converting_leaves_no_pickle_and_notes_its_sources(converted: Path) -> None:
    names = {"config.json", "model.safetensors", "vocab.json", "sentencepiece.model"}
    assert {path.name for path in converted.iterdir()} == names
    described = json.loads((converted / "config.json").read_text(encoding="utf-8"))
    assert described["sizes"] == {"vocabulary": 60, "width": 6, "hidden": 5, "layers": 3}
    assert set(described["sha256"]) == {"laser2.pt", "laser2.spm"}


def test_pickled_code_is_never_run(tmp_path: Path) -> None:
    weights, pieces = _official(tmp_path / "official")

    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return (os.mkdir, (str(tmp_path / "broken-into"),))

    weights.write_bytes(pickle.dumps({"params": Evil()}))
    with pytest.raises(DataError, match="not the weights of LASER2"):
        convert(weights, pieces, tmp_path / "out")
    assert not (tmp_path / "broken-into").exists()
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"params": {}}, "not the weights of LASER2"),
        ({"dictionary": {"cat": 60}}, "ids beyond its 60 embeddings"),
        ({"model": OrderedDict()}, "Missing key"),
    ],
)
def test_other_weights_are_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    weights, pieces = _official(tmp_path / "official")
    torch.save(torch.load(weights, weights_only=True) | change, weights)
    with pytest.raises(DataError, match=message):
        convert(weights, pieces, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_existing_folder_is_not_replaced(tmp_path: Path) -> None:
    weights, pieces = _official(tmp_path / "official")
    with pytest.raises(ConfigError, match="is there already"):
        convert(weights, pieces, tmp_path)
    assert weights.exists()


def test_absent_files_name_the_command_that_fetches_them(tmp_path: Path) -> None:
    with pytest.raises(
        OfflineError, match=r"laser2\.pt is not on this machine; .*curl .*laser2\.spm && orthoglot"
    ):
        convert(tmp_path / "laser2.pt", [tmp_path / "laser2.spm"], tmp_path / "out")
    with pytest.raises(OfflineError, match=r"config\.json is not on this machine; .*orthoglot get laser2"):
        linked(tmp_path / "e", tmp_path / "nowhere")


def test_a_damaged_checkpoint_is_refused(converted: Path, tmp_path: Path) -> None:
    for path in converted.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "config.json").write_text(
        '{"sizes": {"vocabulary": 60, "width": 7, "hidden": 5, "layers": 3}}'
    )
    with pytest.raises(DataError, match="cannot be read"):
        linked(tmp_path / "e", tmp_path)


@pytest.mark.skipif(not REAL.is_dir(), reason="the converted official LASER2 is not under weights/laser2")
def test_official_weights_give_the_official_vector(tmp_path: Path) -> None:
    encoder = load_encoder(linked(tmp_path / "e", REAL, max_tokens=12000), "cpu")
    vector = encoder.encode(["This is a test sentence."], "en", 1)[0]
    # First components that LASER's own tests expect of laser2.pt.
    expected = [1.0424625e-02, 6.3254288e-03, -3.0326222e-05, 9.0334769e-03, 2.9379339e-04]
    np.testing.assert_allclose(vector[:5], expected, rtol=1e-4, atol=1e-6)


def test_a_flipped_bit_of_the_weights_is_refused(tmp_path: Path) -> None:
    weights, pieces = _official(tmp_path / "official")
    content = bytearray(weights.read_bytes())
    with torch.no_grad():
        table = torch.load(weights, weights_only=True)["model"]["embed_tokens.weight"].numpy().tobytes()
    content[content.index(table) + len(table) // 2] ^= 1
    weights.write_bytes(content)
    with pytest.raises(DataError, match="a checksum in it does not fit"):
        convert(weights, pieces, tmp_path / "out")
    assert not (tmp_path / "out").exists()
