"""Models as their users open them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from small_checkpoint import DIM, make_pairs, write_checkpoint

import orthoglot
from orthoglot.apply.export import export
from orthoglot.errors import ConfigError, DataError

SENTENCES = [a for a, _ in make_pairs(6)]


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_a_folder_of_sentence_transformers_gives_the_librarys_vectors_with_its_default_prompt(
    tmp_path: Path,
) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer

    checkpoint = write_checkpoint(tmp_path / "tiny")
    modules = [Transformer(str(checkpoint), max_seq_length=12), Pooling(DIM, "mean")]
    for prompts in ({}, {"prompts": {"a": "b00 ", "b": "a07 "}, "default_prompt_name": "b"}):
        model = SentenceTransformer(modules=modules, device="cpu", **prompts)
        folder = tmp_path / f"st{len(prompts)}"
        model.save(str(folder), create_model_card=False)
        found = orthoglot.load(folder, device="cpu")
        assert found.decomposer is None
        assert found.usual_part == "sentence"
        np.testing.assert_allclose(
            unit(found.encode(SENTENCES, part="sentence")), unit(model.encode(SENTENCES)), atol=1e-6
        )
    plain, prompted = (orthoglot.load(tmp_path / f"st{n}", device="cpu") for n in (0, 2))
    assert plain.identity != prompted.identity
    assert plain.identity == orthoglot.load(tmp_path / "st0").identity
    (folder / "config_sentence_transformers.json").write_text('{"prompts": 3, "default_prompt_name": "b"}')
    with pytest.raises(DataError, match=r"config_sentence_transformers\.json: cannot be read"):
        orthoglot.load(folder)


def test_an_exported_model_opens_again_with_the_same_meaning(models: dict[str, Path], tmp_path: Path) -> None:
    export(models["plda"], tmp_path / "out")
    meaning = orthoglot.load(models["plda"], device="cpu").encode(SENTENCES)
    again = orthoglot.load(tmp_path / "out", device="cpu").encode(SENTENCES, part="sentence")
    np.testing.assert_allclose(unit(again), unit(meaning), atol=1e-5)


def test_other_folders_are_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such folder; a model is a folder that orthoglot fit"):
        orthoglot.load(tmp_path / "absent")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    with pytest.raises(ConfigError, match="a checkpoint of transformers: give it to orthoglot fit --encoder"):
        orthoglot.load(tmp_path)
