"""What users do with the result: load a folder, encode sentences."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from real_run import RealRun

import orthoglot
from orthoglot.errors import ConfigError, DataError

SENTENCES = ["la bola", "su manfersa veka", "la bola"]


@pytest.fixture
def decomposer(real: RealRun) -> Path:
    return real.workspace.folder / "models/mini/decomposers/ems-mini/dream+oracle/seed1"


def test_loaded_decomposer_gives_both_parts_of_every_sentence_in_order(decomposer: Path) -> None:
    model = orthoglot.load(decomposer)
    parts = {part: model.encode(SENTENCES, part=part) for part in ("sentence", "meaning", "language")}
    assert all(vectors.shape == (3, 32) and vectors.dtype == np.float32 for vectors in parts.values())
    assert not np.allclose(parts["meaning"], parts["language"])
    np.testing.assert_allclose(parts["meaning"][0], parts["meaning"][2], atol=1e-6)
    assert not np.allclose(parts["meaning"][0], parts["meaning"][1])
    np.testing.assert_allclose(model.encode(SENTENCES[1]), parts["meaning"][1], atol=1e-6)


def test_default_part_is_meaning_and_an_encoder_alone_has_none(decomposer: Path, real: RealRun) -> None:
    model = orthoglot.load(decomposer)
    np.testing.assert_array_equal(model.encode(SENTENCES), model.encode(SENTENCES, part="meaning"))
    encoder = orthoglot.load(real.workspace.folder / "models/mini/encoders/ems-mini")
    np.testing.assert_allclose(
        encoder.encode(SENTENCES, part="sentence"), model.encode(SENTENCES, part="sentence")
    )
    with pytest.raises(ConfigError, match="has no decomposer"):
        encoder.encode(SENTENCES)
    with pytest.raises(ConfigError, match="unknown part 'meening'; known: sentence, meaning, language"):
        model.encode(SENTENCES, part="meening")


def test_centering_asks_for_the_language(real: RealRun) -> None:
    model = orthoglot.load(real.workspace.folder / "models/mini/decomposers/ems-mini/centering/seed1")
    assert model.encode(SENTENCES, language="qaa").shape == (3, 32)
    with pytest.raises((ConfigError, DataError), match="language"):
        model.encode(SENTENCES)


def test_decomposer_beside_another_encoder_is_refused(
    decomposer: Path, real: RealRun, tmp_path: Path
) -> None:
    shutil.copytree(real.workspace.folder / "models", tmp_path / "models")
    weights = tmp_path / "models/mini/encoders/ems-mini/model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    with pytest.raises(DataError, match="trained on encoder"):
        orthoglot.load(tmp_path / decomposer.relative_to(real.workspace.folder))


def test_decomposer_without_its_encoder_is_refused_wherever_it_lies(decomposer: Path) -> None:
    with TemporaryDirectory() as shallow:
        copied = shutil.copytree(decomposer, Path(shallow) / "copied")
        with pytest.raises(DataError, match=r"its encoder is not at .*; copy the whole folder models/PRESET"):
            orthoglot.load(copied)


def test_folder_that_holds_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="holds neither"):
        orthoglot.load(tmp_path)


def test_encode_verb_writes_the_same_vectors(decomposer: Path, real: RealRun, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n".join(SENTENCES) + "\n")
    real.workspace.run(
        "orthoglot", "encode", str(decomposer), str(tmp_path / "a.txt"), str(tmp_path / "a.npy")
    )
    np.testing.assert_allclose(
        np.load(tmp_path / "a.npy"), orthoglot.load(decomposer).encode(SENTENCES), atol=1e-6
    )
