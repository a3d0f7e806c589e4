"""Frozen transformers checkpoints: tiny random ones, so that nothing is downloaded."""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from checkpoints import bert, pretrained, xlmr
from damaged_checkpoints import Damage, pickled, said, weights, without_a_weight

from orthoglot.encoders import pretrained as encoders
from orthoglot.encoders.folder import identity, load_encoder, locate
from orthoglot.encoders.frozen_folder import link
from orthoglot.encoders.kinds.pretrained import PretrainedSettings
from orthoglot.encoders.pretrained import open_checkpoint, save_checkpoint
from orthoglot.encoders.sentence_transformer import save_with_layers
from orthoglot.encoders.settings import Pooling
from orthoglot.errors import ConfigError, DataError, OfflineError

SENTENCES = ["the cat sat", "a mat", "on the mat the cat sat on a mat", "cat"]
MAX_TOKENS = 8
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return xlmr(tmp_path_factory.mktemp("hub") / "with-pooler")


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return xlmr(tmp_path_factory.mktemp("hub") / "bare", pooler=False)


def _link(folder: Path, settings: PretrainedSettings) -> Path:
    folder.mkdir()
    link(settings, "tiny", folder)
    return folder


def _library(checkpoint: Path, sentence: str) -> Any:
    tokenizer = transformers.AutoTokenizer.from_pretrained(checkpoint)
    model = transformers.AutoModel.from_pretrained(checkpoint).eval()
    with torch.no_grad():
        return model(**tokenizer(sentence, truncation=True, max_length=MAX_TOKENS, return_tensors="pt"))


@pytest.mark.parametrize("architecture", [xlmr, bert])
@pytest.mark.parametrize("pooling", ["cls", "pooler", "mean"])
@pytest.mark.parametrize("packed", [False, True], ids=["padded", "packed"])
def test_vectors_are_the_librarys_own(
    architecture: Callable[[Path], Path],
    tmp_path: Path,
    pooling: Pooling,
    packed: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Packed as on a GPU, too."""
    monkeypatch.setattr(encoders.PretrainedEncoder, "_reads_packed", packed)
    if packed:
        monkeypatch.setattr(encoders.PretrainedEncoder, "_states", None)
    place = architecture(tmp_path / "checkpoint")
    encoder = load_encoder(_link(tmp_path / "e", pretrained(place, pooling=pooling)), "cpu")
    pooler = transformers.AutoModel.from_pretrained(place).pooler.dense
    for budget in (3, 64):
        for vector, sentence in zip(encoder.encode(SENTENCES, "en", budget), SENTENCES, strict=True):
            output = _library(place, sentence)
            states = output.last_hidden_state[0]
            by_hand = torch.tanh(pooler.weight @ states[0] + pooler.bias).detach()
            torch.testing.assert_close(output.pooler_output[0], by_hand)
            expected = {"cls": states[0], "pooler": by_hand, "mean": states.sum(0) / len(states)}[pooling]
            np.testing.assert_allclose(vector, expected.numpy(), atol=1e-6)
    assert (encoder.name, encoder.dim, encoder.languages) == ("tiny", 8, ())


def test_texts_are_tokenised_once(checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = load_encoder(_link(tmp_path / "e", pretrained(checkpoint)), "cpu")
    kind = transformers.PreTrainedTokenizerFast
    seen: list[str] = []
    own = kind.__call__

    def counted(self: Any, texts: list[str], **options: Any) -> Any:
        seen.extend(texts)
        return own(self, texts, **options)

    monkeypatch.setattr(kind, "__call__", counted)
    encoder.encode(SENTENCES, "en", 64)
    assert seen == SENTENCES
    assert encoder.encode([], "en", 64).shape == (0, 8)


def test_prefix_goes_before_every_sentence(checkpoint: Path, tmp_path: Path) -> None:
    plain = load_encoder(_link(tmp_path / "a", pretrained(checkpoint)), "cpu")
    prefixed = load_encoder(_link(tmp_path / "b", pretrained(checkpoint, prefix="query ")), "cpu")
    np.testing.assert_array_equal(prefixed.encode(["cat"], "en", 1), plain.encode(["query cat"], "en", 1))


def test_pooler_is_refused_when_the_checkpoint_has_none(bare: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no pooler weights"):
        _link(tmp_path / "a", pretrained(bare, pooling="pooler"))
    assert not (tmp_path / "a" / "encoder.json").exists()
    _link(tmp_path / "b", pretrained(bare, pooling="cls"))


@pytest.mark.parametrize("revision", ["", "main", "v1.0", COMMIT[:-1], COMMIT.upper()])
def test_a_hub_id_needs_a_commit(revision: str) -> None:
    with pytest.raises(ConfigError, match="40 hex digits"):
        locate("somebody/some-model", revision)


def test_an_absent_folder_is_no_hub_id() -> None:
    with pytest.raises(ConfigError, match=r"no such folder; .*docs/encoders\.md"):
        link(pretrained("weights/absent", revision="local"), "x", Path())


def test_an_absent_checkpoint_names_the_command_that_fetches_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without_a_network: None
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(OfflineError, match=f"hf download somebody/some-model --revision {COMMIT}"):
        link(pretrained("somebody/some-model", revision=COMMIT), "x", tmp_path)


def test_a_hub_copy_is_found_at_its_commit(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    home = tmp_path / "models--somebody--some-model" / "snapshots" / COMMIT
    home.parent.mkdir(parents=True)
    os.symlink(checkpoint, home)
    place = locate("somebody/some-model", COMMIT)
    assert place.resolve() == checkpoint.resolve()
    assert locate(str(checkpoint), "") == checkpoint


@pytest.mark.parametrize("lost", ["config.json", "*.safetensors"])
def test_a_cut_download_names_the_file_and_the_command(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    home = tmp_path / "models--somebody--some-model" / "snapshots" / COMMIT
    shutil.copytree(checkpoint, home, ignore=shutil.ignore_patterns(lost))
    with pytest.raises(OfflineError) as refused:
        locate("somebody/some-model", COMMIT)
    assert f"{lost} is not on this machine" in str(refused.value)
    assert f"hf download somebody/some-model --revision {COMMIT}" in str(refused.value)


def test_more_tokens_than_positions_are_refused(checkpoint: Path, tmp_path: Path) -> None:
    _link(tmp_path / "a", pretrained(checkpoint, max_tokens=16))
    with pytest.raises(ConfigError, match=r"max_tokens is 17, but .* takes at most 16"):
        _link(tmp_path / "b", pretrained(checkpoint, max_tokens=17))


def test_cut_sentences_are_counted_and_empty_ones_refused(
    checkpoint: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    encoder = load_encoder(_link(tmp_path / "e", pretrained(checkpoint)), "cpu")
    with caplog.at_level(logging.INFO):
        encoder.encode(SENTENCES, "en", 64)
    assert "1 of 4 en sentences truncated at 8 tokens" in caplog.text
    with pytest.raises(DataError, match="sentence 1 has no token"):
        encoder.encode(["cat", "  "], "en", 2)


@pytest.mark.parametrize("pooling", ["cls", "pooler", "mean"])
def test_bfloat16_gives_nearly_the_same_vectors_and_float32_the_very_same(
    checkpoint: Path, tmp_path: Path, pooling: Pooling
) -> None:
    folder = _link(tmp_path / "e", pretrained(checkpoint, pooling=pooling))
    plain = load_encoder(folder, "cpu").encode(SENTENCES, "", 64)
    np.testing.assert_array_equal(load_encoder(folder, "cpu", "float32").encode(SENTENCES, "", 64), plain)
    rounded = load_encoder(folder, "cpu", "bfloat16")
    assert {weight.dtype for weight in rounded.model.encoder.parameters()} == {torch.bfloat16}
    found = rounded.encode(SENTENCES, "", 64)
    assert found.dtype == np.float32
    cosines = (found * plain).sum(1) / np.linalg.norm(found, axis=1) / np.linalg.norm(plain, axis=1)
    assert 0.999 < cosines.min() <= cosines.max() < 1 - 1e-8
    # Pooled in float32: a mean of bfloat16 states is hardly ever a bfloat16 number.
    if pooling == "mean":
        again = torch.from_numpy(found).bfloat16().float().numpy()
        assert (again != found).mean() > 0.5


def test_stated_languages_are_kept_to(checkpoint: Path, tmp_path: Path) -> None:
    encoder = load_encoder(_link(tmp_path / "e", pretrained(checkpoint, languages=["en"])), "cpu")
    with pytest.raises(ConfigError, match="does not cover language 'gn'"):
        encoder.encode(["cat"], "gn", 1)
    assert encoder.encode(["cat"], "", 1).shape == (1, 8)


def test_identity_follows_settings_and_weights(checkpoint: Path, tmp_path: Path) -> None:
    folder = _link(tmp_path / "a", pretrained(checkpoint))
    assert identity(folder) == identity(_link(tmp_path / "b", pretrained(checkpoint)))
    assert identity(folder) != identity(_link(tmp_path / "c", pretrained(checkpoint, pooling="cls")))
    moving = xlmr(tmp_path / "moving", seed=0)
    linked = _link(tmp_path / "d", pretrained(moving))
    before = identity(linked)
    xlmr(moving, seed=1)
    assert identity(linked) != before


@pytest.mark.parametrize(
    "changes",
    [
        {"pooling": "x"},
        {"pooling": None},
        {"max_tokens": -1},
        {"max_tokens": 0},
        {"max_tokens": "8"},
        {"max_tokens": True},
        {"kind": 7},
        {"kind": ["pretrained"]},
        {"checkpoint": 7},
        {"revision": None},
        {"prefix": 7},
        {"languages": "en"},
        {"languages": [1]},
        {"name": {}},
    ],
)
def test_a_card_that_states_another_type_or_an_unknown_pooling_is_refused(
    changes: dict[str, Any], checkpoint: Path, tmp_path: Path
) -> None:
    folder = _link(tmp_path / "e", pretrained(checkpoint))
    described = json.loads((folder / "encoder.json").read_text())
    (folder / "encoder.json").write_text(json.dumps(described | changes))
    with pytest.raises(DataError, match=rf"encoder\.json: {next(iter(changes))}"):
        load_encoder(folder, "cpu")
    with pytest.raises(DataError, match=rf"encoder\.json: {next(iter(changes))}"):
        identity(folder)


def test_weights_that_are_not_finite_are_not_saved(checkpoint: Path, tmp_path: Path) -> None:
    model, tokenizer = open_checkpoint(checkpoint, "tiny", "mean")
    about = {"kind": "mlm", "name": "tiny", "dim": 8, "languages": [], "pooling": "mean", "max_tokens": 8}
    save_checkpoint(model, tokenizer, tmp_path, **about)
    with torch.no_grad():
        model.encoder.layer[0].output.dense.weight[0, 0] = torch.nan
    (tmp_path / "other").mkdir()
    for save in (
        lambda output: save_checkpoint(model, tokenizer, output, **about),
        lambda output: save_with_layers(model, tokenizer, [], output, **about),
    ):
        with pytest.raises(
            DataError, match=r"its weight encoder\.layer\.0\.output\.dense\.weight is not finite"
        ):
            save(tmp_path / "other")
    assert not any((tmp_path / "other").iterdir())


def test_a_vector_that_is_not_finite_is_refused(checkpoint: Path, tmp_path: Path) -> None:
    encoder: Any = load_encoder(_link(tmp_path / "e", pretrained(checkpoint)), "cpu")
    with torch.no_grad():
        encoder.model.embeddings.word_embeddings.weight[:] = torch.nan
    with pytest.raises(DataError, match=r"the vector of sentence 0 \(from 0\) is not finite"):
        encoder.encode(SENTENCES, "", 8)


def _own_code(folder: Path) -> None:
    names = {"AutoConfig": "own.Config", "AutoModel": "own.Model"}
    said("config.json", lambda content: content.update(model_type="own-kind", auto_map=names))(folder)
    (folder / "own.py").write_text(f"import os\nos.mkdir({str(folder / 'broken-into')!r})\n")


def _cut_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes()[:-20])


def _with(name: str, value: float) -> Damage:
    return weights("", lambda tensors: tensors[name].view(-1)[5].fill_(value))


WEIGHT = "encoder.layer.1.output.dense.weight"
DAMAGE: dict[str, tuple[Damage, type[Exception], str]] = {
    "pickled": (pickled(""), DataError, r"no \.safetensors weights"),
    "own code": (_own_code, ConfigError, "without its own code"),
    "a weight less": (weights("", without_a_weight), DataError, "lacks 1 weights, first e"),
    "NaN": (_with(WEIGHT, np.nan), DataError, f"its weight {WEIGHT} is not finite"),
    "infinite": (_with(WEIGHT, np.inf), DataError, f"its weight {WEIGHT} is not finite"),
    "cut tokenizer": (_cut_tokenizer, DataError, "damaged cannot be read"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_checkpoint_is_refused_and_its_code_never_run(
    damage: str, checkpoint: Path, tmp_path: Path
) -> None:
    change, error, message = DAMAGE[damage]
    damaged = shutil.copytree(checkpoint, tmp_path / "damaged")
    change(damaged)
    with pytest.raises(error, match=message):
        _link(tmp_path / "e", pretrained(damaged))
    assert not (damaged / "broken-into").exists()


def test_large_weights_whose_sum_is_infinite_are_finite(checkpoint: Path, tmp_path: Path) -> None:
    large = shutil.copytree(checkpoint, tmp_path / "large")
    for name in ("word", "position"):
        _with(f"embeddings.{name}_embeddings.weight", 3e38)(large)
    assert load_encoder(_link(tmp_path / "e", pretrained(large)), "cpu").dim
