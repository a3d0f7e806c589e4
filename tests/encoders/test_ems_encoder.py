"""The EMS network and its encoder folder."""

from __future__ import annotations

from pathlib import Path

import ems_encoders
import numpy as np
import pytest
import torch
from transformers import AutoTokenizer, BertModel

from orthoglot.encoders.folder import identity, load_encoder
from orthoglot.encoders.pretrained import PretrainedEncoder
from orthoglot.errors import ConfigError, DataError
from orthoglot.study.pretraining.networks import SentenceNetwork

NETWORK = ems_encoders.network(max_tokens=8, dropout=0.1, attention_dropout=0.1)
TEXT = {"en": [f"The cat number {n} sat on the mat, quick brown fox" for n in range(50)]}
SENTENCES = [f"the cat {n} sat on {'a ' * (n % 5)}mat" for n in range(20)]


def _network(**changed: float) -> SentenceNetwork:
    return ems_encoders.made(NETWORK.model_copy(update=changed), TEXT).network


def _write(folder: Path, seed: int = 0) -> Path:
    ems_encoders.write(folder, TEXT, NETWORK, seed=seed)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _write(tmp_path_factory.mktemp("ems") / "encoder")


def test_network_equals_a_plain_transcription() -> None:
    model = _network().double()
    ids = torch.tensor([[5, 9, 7]])
    weights = model.model.state_dict()

    def norm(x: torch.Tensor, name: str) -> torch.Tensor:
        x = (x - x.mean(-1, keepdim=True)) / (x.var(-1, unbiased=False, keepdim=True) + 1e-12).sqrt()
        return x * weights[name + ".weight"] + weights[name + ".bias"]

    def linear(x: torch.Tensor, name: str) -> torch.Tensor:
        return x @ weights[name + ".weight"].T + weights[name + ".bias"]

    embeddings = (weights[f"embeddings.{one}_embeddings.weight"] for one in ("word", "position"))
    token, position = embeddings
    x = norm(token[ids[0]] + position[:3], "embeddings.LayerNorm")
    for layer in ("encoder.layer.0.", "encoder.layer.1."):
        q, k, v = (linear(x, f"{layer}attention.self.{one}") for one in ("query", "key", "value"))
        heads = []
        for h in range(4):
            part = slice(4 * h, 4 * h + 4)
            heads.append((q[:, part] @ k[:, part].T / 2).softmax(1) @ v[:, part])
        x = norm(
            x + linear(torch.cat(heads, dim=1), layer + "attention.output.dense"),
            layer + "attention.output.LayerNorm",
        )
        up = linear(x, layer + "intermediate.dense")
        x = norm(x + linear(up * torch.sigmoid(up), layer + "output.dense"), layer + "output.LayerNorm")
    torch.testing.assert_close(model(ids)[0], x.mean(0), atol=1e-9, rtol=0)


def test_position_matters_and_reserved_rows_are_zero() -> None:
    model = _network()
    assert not torch.allclose(model(torch.tensor([[5, 9]])), model(torch.tensor([[9, 5]])), atol=1e-3)
    embeddings = model.model.embeddings
    assert not embeddings.word_embeddings.weight[0].any()
    assert not embeddings.token_type_embeddings.weight.any()


def test_neither_padding_nor_the_token_type_is_trained() -> None:
    model = _network().train()
    model(torch.tensor([[5, 9, 7, 0, 0], [3, 4, 5, 6, 7]])).square().sum().backward()
    embeddings = model.model.embeddings
    assert not embeddings.token_type_embeddings.weight.grad.any()
    assert not embeddings.word_embeddings.weight.grad[0].any()
    assert embeddings.word_embeddings.weight.grad[5].any()


def test_vectors_do_not_depend_on_batch_mates_and_keep_their_order(folder: Path) -> None:
    encoder = load_encoder(folder, "cpu")
    together = encoder.encode(SENTENCES, "en", 1000)
    alone = np.concatenate([encoder.encode([sentence], "en", 1) for sentence in SENTENCES])
    np.testing.assert_allclose(together, alone, atol=1e-6)
    assert together.shape == (20, 16)
    assert together.dtype == np.float32
    assert len({row.tobytes() for row in together}) > 10  # the rows are really different sentences


def test_loading_gives_the_same_vectors(folder: Path) -> None:
    encoder = load_encoder(folder, "cpu")
    assert isinstance(encoder, PretrainedEncoder)
    assert (encoder.name, encoder.dim, encoder.languages) == ("tiny", 16, ("en",))
    ids = torch.from_numpy(encoder.tokenizer.encode(SENTENCES[:1], "en", 8).padded(np.array([0]), 0))
    expected = _network()(ids).detach().numpy()
    np.testing.assert_allclose(encoder.encode(SENTENCES[:1], "en", 4), expected, atol=1e-6)


def test_bad_input_is_refused(folder: Path, tmp_path: Path) -> None:
    encoder = load_encoder(folder, "cpu")
    with pytest.raises(ConfigError, match="does not cover language 'de'"):
        encoder.encode(["x"], "de", 4)
    with pytest.raises(DataError, match="sentence 1 has no token"):
        encoder.encode(["a cat", " \t"], "en", 4)
    broken = _write(tmp_path / "broken")
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
    same = _write(tmp_path / "same")
    (same / "receipt.json").write_text("{}")
    assert identity(same) == identity(folder)
    assert identity(_write(tmp_path / "other", seed=1)) != identity(folder)


def test_no_pickle_in_the_folder(folder: Path) -> None:
    names = {path.name for path in folder.iterdir()}
    stock = {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    assert names == {"encoder.json", *stock}


def test_transformers_alone_opens_the_folder_and_gives_our_vectors(folder: Path) -> None:
    model = BertModel.from_pretrained(folder, local_files_only=True, add_pooling_layer=False).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    read = tokenizer(SENTENCES, padding=True, truncation=True, return_tensors="pt")
    with torch.no_grad():
        states = model(**read).last_hidden_state
    keep = read["attention_mask"][..., None]
    expected = (states * keep).sum(1) / keep.sum(1)
    found = load_encoder(folder, "cpu").encode(SENTENCES, "en", 1000)
    np.testing.assert_allclose(found, expected.numpy(), atol=1e-6)


@pytest.mark.parametrize("spread", [1.0, 0.02])
def test_embeddings_start_with_the_spread_that_is_asked_for(spread: float) -> None:
    embeddings = _network(embedding_spread=spread).model.embeddings
    for one in (embeddings.word_embeddings.weight[1:], embeddings.position_embeddings.weight):
        assert one.std().item() == pytest.approx(spread, rel=0.2)
