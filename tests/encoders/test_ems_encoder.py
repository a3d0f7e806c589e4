"""The EMS network and its encoder folder."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from orthoglot.encoders import ems
from orthoglot.encoders.folder import identity
from orthoglot.encoders.load import load_encoder
from orthoglot.encoders.settings import TokenizerSettings
from orthoglot.encoders.tokenization import train_tokenizer
from orthoglot.errors import ConfigError, DataError

SIZES = ems.Sizes(
    vocabulary=60,
    layers=2,
    width=16,
    heads=4,
    feed_forward=32,
    max_tokens=8,
    dropout=0.1,
    attention_dropout=0.1,
)
SENTENCES = [f"the cat {n} sat on {'a ' * (n % 5)}mat" for n in range(20)]


def _model(seed: int = 0) -> ems.EmsModel:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return ems.EmsModel(SIZES).eval()


def _write(folder: Path, model: ems.EmsModel) -> Path:
    folder.mkdir()
    settings = TokenizerSettings(
        words="unicode", vocabulary=60, sentences=100, character_coverage=1.0, threads=1, seed=1
    )
    text = {"en": [f"The cat number {n} sat on the mat, quick brown fox" for n in range(50)]}
    train_tokenizer(settings, text, folder / "tokenizer.model")
    ems.save(model, SIZES, "tiny", ["en"], folder, words="unicode", training={})
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _write(tmp_path_factory.mktemp("ems") / "encoder", _model())


def test_network_equals_a_plain_transcription() -> None:
    model = _model().double()
    ids = torch.tensor([[5, 9, 7]])
    weights = model.state_dict()

    def norm(x: torch.Tensor, name: str) -> torch.Tensor:
        x = (x - x.mean(-1, keepdim=True)) / (x.var(-1, unbiased=False, keepdim=True) + 1e-12).sqrt()
        return x * weights[name + ".weight"] + weights[name + ".bias"]

    def linear(x: torch.Tensor, name: str) -> torch.Tensor:
        return x @ weights[name + ".weight"].T + weights[name + ".bias"]

    x = norm(weights["tokens.weight"][ids[0]] + weights["positions.weight"][1:4], "norm")
    for layer in ("layers.0.", "layers.1."):
        q, k, v = linear(x, layer + "qkv").split(16, dim=1)
        heads = []
        for h in range(4):
            part = slice(4 * h, 4 * h + 4)
            heads.append((q[:, part] @ k[:, part].T / 2).softmax(1) @ v[:, part])
        x = norm(x + linear(torch.cat(heads, dim=1), layer + "mix"), layer + "attention_norm")
        up = linear(x, layer + "up")
        x = norm(x + linear(up * torch.sigmoid(up), layer + "down"), layer + "norm")
    torch.testing.assert_close(model(ids)[0], x.mean(0), atol=1e-9, rtol=0)


def test_e7_padding_does_not_change_the_vector() -> None:
    model = _model()
    short = model(torch.tensor([[5, 9, 7]]))
    padded = model(torch.tensor([[5, 9, 7, 0, 0], [3, 4, 5, 6, 7]]))
    torch.testing.assert_close(padded[:1], short, atol=1e-6, rtol=0)


def test_position_matters_and_padding_rows_are_zero() -> None:
    model = _model()
    assert not torch.allclose(model(torch.tensor([[5, 9]])), model(torch.tensor([[9, 5]])), atol=1e-3)
    assert not model.tokens.weight[0].any()
    assert not model.positions.weight[0].any()


def test_vectors_do_not_depend_on_batch_mates_and_keep_their_order(folder: Path) -> None:
    encoder = load_encoder(folder, "cpu")
    together = encoder.encode(SENTENCES, "en", 1000)
    alone = np.concatenate([encoder.encode([sentence], "en", 1) for sentence in SENTENCES])
    np.testing.assert_allclose(together, alone, atol=1e-6)
    assert together.shape == (20, 16)
    assert together.dtype == np.float32
    assert len({row.tobytes() for row in together}) > 10  # the rows are really different sentences


def test_loading_gives_the_same_vectors(folder: Path) -> None:
    encoder = ems.EmsEncoder.load(folder)
    assert (encoder.name, encoder.dim, encoder.languages) == ("tiny", 16, ("en",))
    ids = torch.from_numpy(encoder.tokenizer.encode(SENTENCES[:1], "en", 8).padded(np.array([0])))
    expected = _model()(ids).detach().numpy()
    np.testing.assert_allclose(encoder.encode(SENTENCES[:1], "en", 4), expected, atol=1e-6)


def test_bad_input_is_refused(folder: Path, tmp_path: Path) -> None:
    encoder = load_encoder(folder, "cpu")
    with pytest.raises(ConfigError, match="does not cover language 'de'"):
        encoder.encode(["x"], "de", 4)
    with pytest.raises(DataError, match="sentence 1 has no token"):
        encoder.encode(["a cat", " \t"], "en", 4)
    broken = _write(tmp_path / "broken", _model())
    content = (broken / "model.safetensors").read_bytes()
    (broken / "model.safetensors").write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match="broken"):
        load_encoder(broken, "cpu")
    with pytest.raises(DataError, match=r"encoder\.json"):
        load_encoder(tmp_path, "cpu")


def test_unknown_kind_names_the_known_ones(tmp_path: Path) -> None:
    (tmp_path / "encoder.json").write_text('{"kind": "emss"}')
    with pytest.raises(ConfigError, match="unknown kind 'emss'; known are ems"):
        load_encoder(tmp_path, "cpu")


def test_identity_follows_the_weights_and_nothing_else(folder: Path, tmp_path: Path) -> None:
    same = _write(tmp_path / "same", _model())
    (same / "receipt.json").write_text("{}")
    assert identity(same) == identity(folder)
    assert identity(_write(tmp_path / "other", _model(seed=1))) != identity(folder)


def test_no_pickle_in_the_folder(folder: Path) -> None:
    names = {path.name for path in folder.iterdir()}
    assert names == {"encoder.json", "model.safetensors", "tokenizer.model"}


@pytest.mark.parametrize("spread", [1.0, 0.02])
def test_embeddings_start_with_the_spread_that_is_asked_for(spread: float) -> None:
    torch.manual_seed(0)
    model = ems.EmsModel(dataclasses.replace(SIZES, vocabulary=500), spread)
    assert model.tokens.weight[1:].std().item() == pytest.approx(spread, rel=0.05)
    assert model.positions.weight[1:].std().item() == pytest.approx(spread, rel=0.2)
