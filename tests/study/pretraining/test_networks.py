"""Trainable encoders: a new network, and a transformers encoder whose training goes on, read and written alike."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from checkpoints import bert, xlmr
from cut_text import tokens_of
from safetensors.torch import load_file
from toy_training import SETTINGS, history_of, write_folder

from orthoglot.encoders.folder import load_encoder, save_card
from orthoglot.errors import ConfigError
from orthoglot.study.pretraining.collate import EmsCollator, collate, encode_batch
from orthoglot.study.pretraining.inputs import Inputs, RunOptions
from orthoglot.study.pretraining.kinds.ems import EmsSettings
from orthoglot.study.pretraining.networks import TrainableEncoder
from orthoglot.study.pretraining.settings import TokensSettings
from orthoglot.study.pretraining.trainings.ems import pretrain_ems
from orthoglot.text.bitext import SentencePair

TEXT = ["the cat sat on a mat", "cat", "a query on the mat"]


def encoder_folder(place: Path, checkpoint: Path, pooling: Any, dim: int = 8) -> Path:
    place.mkdir(parents=True)
    card = {
        "kind": "pretrained",
        "name": "small",
        "dim": dim,
        "languages": [],
        "revision": "local",
        "prefix": "",
        "checkpoint": str(checkpoint),
        "pooling": pooling,
        "max_tokens": 10,
    }
    save_card(place, card)
    return place


STARTED = TokensSettings(tokenizer=None, max_tokens=None, text="none")


@pytest.mark.parametrize("make", [xlmr, bert])
@pytest.mark.parametrize("pooling", ["mean", "cls", "pooler"])
def test_a_trainable_encoder_reads_as_the_encoder_it_starts_from(
    make: Any, pooling: str, tmp_path: Path
) -> None:
    folder = encoder_folder(tmp_path / "encoder", make(tmp_path / "checkpoint"), pooling)
    student = TrainableEncoder.load(folder)
    student.network.eval()
    ids = student.tokenizer.encode(TEXT, "en", 10)
    assert ids.lengths.tolist() == [6, 1, 5]  # <s> and </s> are read, and are no part of the bag
    with torch.no_grad():
        found = encode_batch(student.network, collate(student.tokenizer, ids, 12, torch.device("cpu")))
    expected = load_encoder(folder, "cpu").encode(TEXT, "en", 1000)
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-6)


def test_sentences_are_cut_so_that_their_ends_still_fit(tmp_path: Path) -> None:
    folder = encoder_folder(tmp_path / "encoder", xlmr(tmp_path / "checkpoint"), "mean")
    student = TrainableEncoder.load(folder)
    tokenizer = student.tokenizer
    assert tokenizer.encode(["the " * 30], "en", 10).lengths.tolist() == [8]
    assert (tokenizer.before, tokenizer.after) == ((0,), (2,))


def test_hiding_needs_a_mask_token(tmp_path: Path) -> None:
    folder = encoder_folder(tmp_path / "encoder", xlmr(tmp_path / "checkpoint"), "mean")
    student = TrainableEncoder.load(folder)
    settings: Any = SimpleNamespace(target="ugt", release_mask=False)
    with pytest.raises(ConfigError, match="no mask token"):
        EmsCollator(settings, student, torch.device("cpu"))


ON_TOP: dict[str, Any] = {
    **{"network": {"start": "encoder", "encoder": "small"}, "language_width": 4, "projection_width": 8},
    **{"batch_size": 16, "learning_rate": 1e-2, "warmup_steps": 5, "steps": 60},
}


@pytest.mark.parametrize("tied", [False, True])
def test_ems_on_top_of_a_transformers_encoder(tied: bool, tmp_path: Path) -> None:
    """Pairs of the same words in another order: the start finds few of them, the trained encoder most."""
    folder = encoder_folder(tmp_path / "encoder", xlmr(tmp_path / "checkpoint"), "mean")
    draw = np.random.default_rng(0)
    words = ["the", "cat", "sat", "on", "a", "mat", "query"]

    def pairs(count: int) -> list[SentencePair]:
        rows = [list(draw.choice(words, 4)) for _ in range(count)]
        return [SentencePair(" ".join(row), " ".join(draw.permutation(row))) for row in rows]

    splits = {"train": pairs(300), "valid": pairs(40)}
    bitext = write_folder(tmp_path / "en-de", splits)
    output = tmp_path / "output"
    output.mkdir()
    settings = EmsSettings.model_validate(SETTINGS.model_dump() | ON_TOP | {"tied_output": tied})
    tokens = tokens_of(settings, [bitext], tmp_path, folder)
    inputs = Inputs([bitext], tokens=tokens, encoders={"start": folder})
    pretrain_ems(settings, "more", inputs, RunOptions("cpu", tmp_path / "state"), output)
    history = history_of(output)
    encoder = load_encoder(output, "cpu")
    assert (encoder.name, encoder.dim, encoder.languages) == ("more", 8, ("de", "en"))
    assert json.loads((output / "encoder.json").read_text())["training"]["text"]["en-de"]["pairs"] == 300

    def found(one: Any) -> float:
        sides = [one.encode([pair[n] for pair in splits["valid"]], "en", 1000) for n in (0, 1)]
        a, b = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in sides)
        return float(((a @ b.T).argmax(1) == np.arange(40)).mean())

    assert history[-1]["valid.total"] < history[0]["valid.total"]
    assert found(encoder) > found(load_encoder(folder, "cpu")) + 0.2
    assert not any(key.startswith("pooler") for key in load_file(output / "model.safetensors"))
    again = load_encoder(output, "cpu").tokenizer.encode(TEXT, "en", 10)
    before = load_encoder(folder, "cpu").tokenizer.encode(TEXT, "en", 10)
    assert again.ids.tolist() == before.ids.tolist()
