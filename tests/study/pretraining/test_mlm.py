"""Masked language modelling from scratch on a toy corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from torch import Tensor
from toy_training import history_of, write_folder

from orthoglot.encoders.folder import load_encoder
from orthoglot.study.pretraining.collate import hidden_of
from orthoglot.study.pretraining.inputs import Inputs, RunOptions
from orthoglot.study.pretraining.kinds.mlm import MlmSettings
from orthoglot.study.pretraining.masking import IGNORED, hidden_tokens
from orthoglot.study.pretraining.trainings import mlm
from orthoglot.text.bitext import SentencePair
from orthoglot.training import loop

SETTINGS = MlmSettings(
    kind="mlm",
    vocabulary=80,
    layers=1,
    width=32,
    heads=2,
    feed_forward=64,
    max_tokens=16,
    learning_rate=5e-3,
    warmup_steps=10,
    batch_size=32,
    steps=60,
    validate_every=20,
    pooling="mean",
    threads=1,
    seed=1,
)


def _pairs(first: int, last: int) -> list[SentencePair]:
    return [
        SentencePair(f"the cat has {n} red hats", f"die katze hat {n} rote hüte") for n in range(first, last)
    ]


@pytest.fixture(scope="module")
def bitext(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("bitext") / "en-de"
    return [write_folder(folder, {"train": _pairs(0, 200), "valid": _pairs(200, 240)})]


def _train(bitext: list[Path], place: Path) -> Path:
    output = place / "encoder"
    output.mkdir(parents=True)
    mlm.pretrain_mlm(SETTINGS, "toy", Inputs(bitext), RunOptions("cpu", place / "state"), output)
    return output


@pytest.fixture(scope="module")
def trained(bitext: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _train(bitext, tmp_path_factory.mktemp("trained"))


def test_it_learns_to_fill_gaps(trained: Path) -> None:
    history = history_of(trained)
    assert len(history) == 3
    assert history[0]["train.mlm"] < np.log(80) * 1.2  # starts near the uniform guess
    assert history[-1]["valid.mlm"] < 0.8 * history[0]["train.mlm"]


def test_the_folder_is_a_transformers_checkpoint(trained: Path) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(trained)
    model, report = transformers.AutoModelForMaskedLM.from_pretrained(trained, output_loading_info=True)
    assert not report["missing_keys"]
    assert isinstance(model, transformers.XLMRobertaForMaskedLM)
    assert tokenizer.convert_ids_to_tokens(range(5)) == ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    assert (tokenizer.pad_token_id, tokenizer.mask_token_id, tokenizer.model_max_length) == (1, 4, 16)
    ids = tokenizer("the cat")["input_ids"]
    assert (ids[0], ids[-1]) == (0, 2)
    assert tokenizer.decode(ids, skip_special_tokens=True) == "the cat"


def test_it_loads_as_any_encoder(trained: Path) -> None:
    encoder = load_encoder(trained, "cpu")
    assert (encoder.name, encoder.dim, encoder.languages) == ("toy", 32, ("de", "en"))
    tokenizer = transformers.AutoTokenizer.from_pretrained(trained)
    model = transformers.AutoModel.from_pretrained(trained, add_pooling_layer=False).eval()
    with torch.no_grad():
        states = model(**tokenizer("the cat", return_tensors="pt")).last_hidden_state[0]
    vector = encoder.encode(["the cat", "die katze hat hüte"], "en", 2)[0]
    np.testing.assert_allclose(vector, states.mean(0).numpy(), atol=1e-6)


def test_the_same_settings_give_the_same_bytes(trained: Path, bitext: list[Path], tmp_path: Path) -> None:
    again = _train(bitext, tmp_path)
    assert {path.name for path in again.iterdir()} == {path.name for path in trained.iterdir()}
    names = sorted(path.name for path in trained.iterdir())
    assert [name for name in names if (again / name).read_bytes() != (trained / name).read_bytes()] == []


def test_interrupted_and_resumed_equals_uninterrupted(
    trained: Path, bitext: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_SAVES", 0.0)
    hide, calls = mlm.hidden_tokens, []

    def interrupted(*arguments: Any, **more: Any) -> Any:
        calls.append(1)
        if len(calls) == 45:
            raise KeyboardInterrupt
        return hide(*arguments, **more)

    monkeypatch.setattr(mlm, "hidden_tokens", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _train(bitext, tmp_path)
    (tmp_path / "encoder").rename(tmp_path / "half")
    resumed = _train(bitext, tmp_path)
    names = sorted(path.name for path in trained.iterdir())
    assert [name for name in names if (resumed / name).read_bytes() != (trained / name).read_bytes()] == []


def masked(ids: np.ndarray, share: float, vocabulary: int, seed: int) -> tuple[Tensor, Tensor]:
    """Ids as shown, and labels."""
    generator, special = np.random.default_rng(seed), len(mlm.SPECIAL)
    shown, labels = hidden_tokens(ids, share, mlm.MASK, vocabulary, generator, special=special)
    return torch.from_numpy(shown), torch.from_numpy(labels)


def test_masking_shares_and_what_is_never_masked() -> None:
    ids = np.full((200, 52), 7)
    ids[:, 0], ids[:, -1] = mlm.BOS, mlm.EOS
    ids[100:, 40:] = mlm.PAD
    shown, labels = masked(ids, 0.15, 1000, 0)
    drawn = labels != IGNORED
    words = torch.from_numpy(ids == 7)
    assert not drawn[~words].any()
    assert (shown[~drawn] == torch.from_numpy(ids)[~drawn]).all()
    assert (labels[drawn] == 7).all()
    assert drawn[words].double().mean().item() == pytest.approx(0.15, abs=0.02)
    hidden = shown[drawn]
    assert (hidden == mlm.MASK).double().mean().item() == pytest.approx(0.8, abs=0.05)
    assert (hidden == 7).double().mean().item() == pytest.approx(0.1, abs=0.04)
    assert hidden[(hidden != mlm.MASK)].min() >= len(mlm.SPECIAL)


def test_a_batch_always_has_something_to_predict() -> None:
    ids = np.array([[mlm.BOS, 9, mlm.EOS]])
    for seed in range(20):
        _, labels = masked(ids, 0.0, 20, seed)
        assert labels.tolist() == [[IGNORED, 9, IGNORED]]


def test_head_at_masked_places_equals_the_librarys_loss() -> None:
    model = mlm.build(SETTINGS, 40).eval()
    ids = np.array([[0, 9, 8, 7, 2], [0, 6, 2, 1, 1]])
    shown, labels = masked(ids, 0.5, 40, 0)
    expected = model(shown, attention_mask=shown != mlm.PAD, labels=labels).loss
    batch = mlm.Masked(shown, True, hidden_of(labels.numpy(), torch.device("cpu")))
    torch.testing.assert_close(mlm.masked_loss(model, batch)["mlm"], expected)


def test_vocabulary_splits_what_it_has_not_seen_and_respects_the_size() -> None:
    tokenizer = mlm.train_vocabulary([pair.source for pair in _pairs(0, 50)], 60, 16)
    assert len(tokenizer) <= 60
    assert mlm.UNKNOWN not in tokenizer("chat has rats")["input_ids"]
    assert mlm.UNKNOWN in tokenizer("Ж")["input_ids"]
