"""Models as their users open them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from small_checkpoint import DIM, make_pairs, write_checkpoint

import orthoglot
from orthoglot.apply.calibrate import calibrate
from orthoglot.apply.evaluate import Benchmark, evaluate
from orthoglot.apply.export import export
from orthoglot.apply.model import Model
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


def test_an_encoder_and_a_split_of_its_vectors_make_a_model(models: dict[str, Path]) -> None:
    encoder = orthoglot.load(models["encoder"], device="cpu")
    a, b = (encoder.encode(side, part="sentence") for side in zip(*make_pairs(60), strict=True))
    split = orthoglot.Decomposer().fit(a, b, "en", "gn")
    model = orthoglot.Model(encoder.encoder, split.decomposer_)
    assert model.usual_part == "meaning"
    np.testing.assert_allclose(model.encode(SENTENCES), split.transform(a[: len(SENTENCES)]), atol=1e-5)


def test_other_folders_are_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such folder; a model is a folder that orthoglot fit"):
        orthoglot.load(tmp_path / "absent")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    with pytest.raises(ConfigError, match="a checkpoint of transformers: give it to orthoglot fit --encoder"):
        orthoglot.load(tmp_path)


WRONG: list[tuple[Any, str]] = [
    (["a", None], r"\[1\] is None; give strings"),
    (["a", float("nan")], r"\[1\] is nan"),
    ([b"a"], r"\[0\] is b'a'"),
    (b"a", "is b'a'"),
    ({"a": "b"}, "is {'a': 'b'}"),
    (7, "is 7"),
    (pd.DataFrame({"a": ["b"]}), "has 2 dimensions"),
]


@pytest.mark.parametrize(("given", "message"), WRONG)
def test_what_is_no_list_of_strings_is_a_type_error_everywhere(
    given: Any, message: str, models: dict[str, Path]
) -> None:
    model = orthoglot.load(models["plda"], device="cpu")
    good = ["a"]
    for call in (
        lambda: model.encode(given),
        lambda: model.parts(given),
        lambda: model.encoder.encode(given, "", 100),
        lambda: model.encoder.pieces(given, "", 100),  # type: ignore[attr-defined]
        lambda: evaluate(model, [Benchmark("b", good, given, None)]),
    ):
        with pytest.raises(TypeError, match=message):
            call()
    for name in ("source", "target"):
        sides = {"source": good, "target": good, name: given}
        for function in (orthoglot.mine, orthoglot.score):
            with pytest.raises(TypeError, match=f"^{name}.*{message}"):
                function(**sides, model=model)
    with pytest.raises(TypeError, match=r"^pairs"):
        calibrate(model, given, share=0.5)


def test_one_string_is_a_sentence_for_encode_and_refused_where_lists_are_compared(
    models: dict[str, Path],
) -> None:
    model = orthoglot.load(models["plda"], device="cpu")
    assert model.encode(SENTENCES[0]).shape == (DIM,)
    for function in (orthoglot.mine, orthoglot.score):
        with pytest.raises(TypeError, match=r"source is 'abc' \(str\)"):
            function("abc", ["abc"], model)
    with pytest.raises(DataError, match=r"sentences\[0\] has half a surrogate pair"):
        model.encode("a\ud800")


@pytest.mark.parametrize("given", [tuple, np.array, pd.Series, iter, lambda one: pd.Series(["x", *one])[1:]])
def test_every_sequence_of_strings_gives_the_vectors_of_the_list(given: Any, models: dict[str, Path]) -> None:
    model = orthoglot.load(models["plda"], device="cpu")
    np.testing.assert_array_equal(model.encode(given(SENTENCES)), model.encode(SENTENCES))
    mined = orthoglot.mine(given(SENTENCES), given(SENTENCES), model, neighborhood=2, device="cpu")
    assert sorted(mined.sources) == sorted(mined.targets) == list(range(6))
    assert orthoglot.score(given(SENTENCES), given(SENTENCES), model).flag.tolist() == ["copy"] * 6


def test_a_blank_sentence_keeps_its_row_which_is_nan(models: dict[str, Path]) -> None:
    model = orthoglot.load(models["plda"], device="cpu")
    texts = ["", SENTENCES[0], " \t", SENTENCES[1]]
    for part in ("sentence", "meaning", "language"):
        found = model.encode(texts, part=part)
        np.testing.assert_allclose(found[1::2], model.encode(SENTENCES[:2], part=part), atol=1e-5)
        assert np.isnan(found[::2]).all()
        np.testing.assert_array_equal(getattr(model.parts(texts), part), found)
    assert np.isnan(model.encode("")).all()
    assert model.encode("").shape == (DIM,)
    assert model.encode([""], dim=4).shape == (1, 4)
    for small in ({"dtype": "int8"}, {"binary": True}):
        found = model.encode(texts, **small)
        np.testing.assert_array_equal(found[1::2], model.encode(SENTENCES[:2], **small))
        assert not found[::2].any()
    # The parts of a vector that was stored for a blank line.
    parts = model.split(model.encode(texts, part="sentence"))
    np.testing.assert_allclose(parts.meaning, model.encode(texts), atol=1e-5)
    half = np.where(np.arange(DIM) == 3, np.nan, 1).astype(np.float32)[None]
    with pytest.raises(DataError, match=r"the parts of sentence 0 \(from 0\) are not finite"):
        model.split(half)


def test_a_method_with_weights_for_each_language_leaves_blank_rows_alone(models: dict[str, Path]) -> None:
    model = orthoglot.load(models["centering"], device="cpu")
    found = model.encode(["", SENTENCES[0]], language="en")
    assert np.isnan(found[0]).all()
    np.testing.assert_allclose(found[1], model.encode(SENTENCES[0], language="en"), atol=1e-5)


def test_a_blank_sentence_of_a_benchmark_is_refused(models: dict[str, Path]) -> None:
    model = orthoglot.load(models["plda"], device="cpu")
    with pytest.raises(DataError, match=r"target\[1\] is blank: leave out its pair"):
        evaluate(model, [Benchmark("b", SENTENCES[:2], [SENTENCES[0], " "], None)])


@pytest.mark.parametrize(("device", "tokens"), [("cpu", 2048), ("cuda", 16_384)])
def test_a_gpu_is_given_larger_batches(device: str, tokens: int) -> None:
    class Encoder:
        name, dim, languages = "e", DIM, ()

        def __init__(self) -> None:
            self.device = torch.device(device)
            self.sizes: list[int] = []

        def encode(self, sentences: list[str], language: str, batch_tokens: int, *_: Any) -> np.ndarray:
            self.sizes.append(batch_tokens)
            return np.ones((len(sentences), DIM), dtype=np.float32)

    encoder = Encoder()
    model = Model(encoder, None, "m")
    model.encode(SENTENCES, part="sentence")
    model.encode(SENTENCES, part="sentence", batch_tokens=7)
    assert encoder.sizes == [tokens, 7]
