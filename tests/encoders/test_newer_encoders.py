"""The encoders that people use now: small random checkpoints of their architectures, opened as their entries say."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from checkpoints import (
    embeddinggemma,
    granite,
    gte,
    jina,
    minilm,
    mmbert,
    pretrained,
    qwen3,
    sonar,
    xlmr,
)
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer
from torch import Tensor
from transformers.models.m2m_100.modeling_m2m_100 import M2M100Encoder

from orthoglot.encoders.checkpoint import from_folder
from orthoglot.encoders.folder import load_encoder
from orthoglot.encoders.frozen_folder import link
from orthoglot.encoders.kinds.refused import RefusedSettings
from orthoglot.encoders.sentence_transformer import link_sentence_transformers
from orthoglot.errors import ConfigError, DataError
from orthoglot.study import config
from orthoglot.study.pretraining.networks import TrainableEncoder

ROOT = Path(__file__).resolve().parents[2]
CATALOGUE = config.load(ROOT / "params.yaml").encoders
SENTENCES = ["the cat sat", "a mat", "on the mat the cat sat on a mat", "cat"]
REFUSED = [name for name, entry in CATALOGUE.items() if isinstance(entry, RefusedSettings)]


def _entry(name: str, place: Path, **changes: Any) -> Any:
    """The catalogue's entry for a small checkpoint."""
    return CATALOGUE[name].model_copy(update={"checkpoint": str(place), "max_tokens": 16, **changes})


def _states(place: Path, sentence: str) -> Tensor:
    tokens = transformers.AutoTokenizer.from_pretrained(place)(sentence, return_tensors="pt")
    with torch.no_grad():
        return transformers.AutoModel.from_pretrained(place).eval()(**tokens).last_hidden_state[0]


@pytest.mark.parametrize(
    ("architecture", "entry", "vector"),
    [
        (xlmr, "bge-m3", lambda states: states[0]),
        (gte, "", lambda states: states[0]),
        (jina, "", lambda states: states.mean(0)),
    ],
)
def test_vectors_of_a_transformers_checkpoint(
    architecture: Callable[[Path], Path], entry: str, vector: Callable[[Tensor], Tensor], tmp_path: Path
) -> None:
    place = architecture(tmp_path / "checkpoint")
    pooling = {gte: "cls", jina: "mean"}.get(architecture)
    settings = _entry(entry, place) if entry else pretrained(place, pooling=pooling, max_tokens=16)
    link(settings, "small", tmp_path)
    encoder = load_encoder(tmp_path, "cpu")
    expected = [vector(_states(place, one)).numpy() for one in SENTENCES]
    for budget in (3, 64):
        np.testing.assert_allclose(encoder.encode(SENTENCES, "en", budget), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("architecture", "entry"),
    [
        (embeddinggemma, "embeddinggemma"),
        (qwen3, "qwen3-embedding-0.6b"),
        (qwen3, "jina-v5-small"),
        (granite, "granite-97m"),
        (mmbert, "mmbert-embed"),
        (minilm, "paraphrase-minilm"),
    ],
)
def test_vectors_of_a_sentence_transformers_model(
    architecture: Callable[[Path], Path], entry: str, tmp_path: Path
) -> None:
    place = architecture(tmp_path / "checkpoint")
    settings = _entry(entry, place, prefix="query ")
    link_sentence_transformers(settings, "small", tmp_path)
    encoder = load_encoder(tmp_path, "cpu")
    expected = []
    for sentence in SENTENCES:
        states = _states(place, "query " + sentence)
        if architecture is not embeddinggemma:
            pooled = {qwen3: states[-1], granite: states[0]}.get(architecture, states.mean(0))
            expected.append(pooled.numpy())
        else:
            maps = [load_file(place / f"{n}_Dense/model.safetensors")["linear.weight"] for n in (2, 3)]
            expected.append((maps[1] @ (maps[0] @ states.mean(0))).numpy())
    for budget in (3, 64):
        np.testing.assert_allclose(encoder.encode(SENTENCES, "en", budget), expected, atol=1e-5)
    library = SentenceTransformer(str(place), device="cpu").encode(SENTENCES, prompt="query ")
    lengths = 1 if architecture is minilm else np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(np.array(expected) / lengths, library, atol=1e-5)


def test_sonar_reads_the_language_of_a_sentence(tmp_path: Path) -> None:
    place = sonar(tmp_path / "checkpoint")
    link(_entry("sonar", place, max_tokens=40), "small", tmp_path)
    encoder = load_encoder(tmp_path, "cpu")
    tokenizer = transformers.AutoTokenizer.from_pretrained(place)
    model = M2M100Encoder.from_pretrained(place).eval()
    found = {}
    for language, spelling in {
        "en": "eng_Latn",
        "zh": "zho_Hans",
        "ks": "kas_Arab",
        "gn": "grn_Latn",
    }.items():
        tokenizer.src_lang = spelling
        expected = []
        for sentence in SENTENCES:
            with torch.no_grad():
                expected.append(
                    model(**tokenizer(sentence, return_tensors="pt")).last_hidden_state[0].mean(0).numpy()
                )
        for budget in (40, 400):
            found[language] = encoder.encode(SENTENCES, language, budget)
            np.testing.assert_allclose(found[language], expected, atol=1e-5)
    assert np.abs(found["en"] - found["gn"]).max() > 1e-3
    with pytest.raises(ConfigError, match="no symbol of language ''"):
        encoder.encode(SENTENCES, "", 40)
    with pytest.raises(ConfigError, match="is not trained further"):
        TrainableEncoder.load(tmp_path)


def test_the_tokenizer_of_sonar_has_a_symbol_of_each_language_of_its_entry(tmp_path: Path) -> None:
    link(_entry("sonar", sonar(tmp_path / "checkpoint"), max_tokens=40), "small", tmp_path)
    encoder: Any = load_encoder(tmp_path, "cpu")
    assert set(CATALOGUE["sonar"].languages) == set(encoder.tokenizer.symbols)


def test_pickled_weights_become_safetensors_of_the_same_vectors(tmp_path: Path) -> None:
    place = xlmr(tmp_path / "source")
    link(pretrained(place), "small", tmp_path)
    before = load_encoder(tmp_path, "cpu").encode(SENTENCES, "en", 64)
    weights = load_file(place / "model.safetensors")
    (place / "model.safetensors").unlink()
    torch.save(
        weights | {"shared": weights["embeddings.word_embeddings.weight"]}, place / "pytorch_model.bin"
    )
    (place / "colbert_linear.pt").write_bytes(b"not read")
    from_folder(pretrained(place), "small", place, tmp_path / "out")
    assert not {"pytorch_model.bin", "colbert_linear.pt"} & {
        path.name for path in (tmp_path / "out").iterdir()
    }
    (tmp_path / "encoder.json").unlink()
    link(pretrained(tmp_path / "out"), "small", tmp_path)
    np.testing.assert_array_equal(load_encoder(tmp_path, "cpu").encode(SENTENCES, "en", 64), before)


@pytest.mark.parametrize("content", [{"weight": 1}, [torch.ones(1)], {"weight": Path("x")}])
def test_a_pickle_of_something_else_is_refused(content: Any, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    torch.save(content, tmp_path / "pytorch_model.bin")
    with pytest.raises(DataError, match="not weights"):
        from_folder(pretrained(tmp_path), "small", tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_needs_code_of_its_own_is_refused_before_any_job(tmp_path: Path) -> None:
    assert {"gte-multilingual-base", "jina-v3", "jina-v5", "laser3"} == set(REFUSED)
    for name in REFUSED:
        preset = {"presets": {"mini": {"encoders": [name], "parts": [], "ablations": []}}}
        with pytest.raises(ConfigError, match=f"encoder {name}: .* is refused: "):
            config.load(ROOT / "params.yaml", preset)


def test_a_checkpoint_of_its_own_code_is_refused_whatever_its_entry(tmp_path: Path) -> None:
    """As gte-multilingual-base on the hub: a model type that transformers does not have, and `auto_map`."""
    place = xlmr(tmp_path / "checkpoint")
    path = place / "config.json"
    own = {"model_type": "new", "auto_map": {"AutoModel": "own--modeling.NewModel"}}
    path.write_text(json.dumps(json.loads(path.read_text()) | own))
    with pytest.raises(ConfigError, match="cannot be opened without its own code"):
        link(pretrained(place), "small", tmp_path)
