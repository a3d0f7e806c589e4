"""LangSAE Editing: the split, which latents are left out, training, and files."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch
from synthetic_world import World, make_world

from orthoglot import catalogue
from orthoglot.decomposers.architectures import sparse_autoencoder
from orthoglot.decomposers.architectures.sparse_autoencoder import split, suppress
from orthoglot.decomposers.base import load_decomposer
from orthoglot.decomposers.modules import Maps
from orthoglot.random_streams import stream
from orthoglot.study import config
from orthoglot.training.decompose import fit_decomposer
from orthoglot.training.settings import DecompositionSettings

LANGSAE = config.load(catalogue.shipped()).methods["langsae"]
SETTINGS = {"expansion": 2, "active": 2, "firing": 0.9}
# Latents: x, y, -x, -y.
CROSS = np.array([[1, 0], [0, 1], [-1, 0], [0, -1]], dtype=np.float32)
WEIGHTS = {"encoder.weight": CROSS, "decoder.weight": CROSS.T.copy()}


def test_the_largest_latents_are_decoded_and_the_language_is_the_rest() -> None:
    e = np.array([[3, 2], [-1, 4]], dtype=np.float32)
    for active, expected in ((1, [[3, 0], [0, 4]]), (2, e), (99, e)):
        meaning, language = split({**WEIGHTS, "active": np.array([active])}, e)
        np.testing.assert_array_equal(meaning, expected)
        np.testing.assert_array_equal(meaning + language, e)
    kept = np.array([0, 1, 1, 1], dtype=np.float32)
    meaning, _ = split({**WEIGHTS, "active": np.array([2]), "kept": kept}, e)
    np.testing.assert_array_equal(meaning, [[0, 2], [-1, 4]])


def test_a_latent_is_chosen_before_it_is_left_out() -> None:
    kept = np.array([0, 1, 1, 1], dtype=np.float32)
    meaning, _ = split(
        {**WEIGHTS, "active": np.array([1]), "kept": kept}, np.array([[3, 2]], dtype=np.float32)
    )
    np.testing.assert_array_equal(meaning, [[0, 0]])


def test_numpy_and_torch_agree_and_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    maps = Maps("sparse_autoencoder", 6, stream(0), expansion=4, active=5, firing=0.9)
    x = torch.randn(50, 6, generator=stream(1))
    with torch.no_grad():
        parts = maps(x)
    weights = {name: tensor.numpy() for name, tensor in maps.state_dict().items()}
    assert {name: array.shape for name, array in weights.items()} == {
        "encoder.weight": (24, 6),
        "decoder.weight": (6, 24),
    }
    np.testing.assert_array_equal(weights["decoder.weight"], weights["encoder.weight"].T)
    for entries in (2**24, 7 * 24, 5):  # the last is less than one sentence has
        monkeypatch.setattr(sparse_autoencoder, "ENTRIES", entries)
        meaning, language = split({**weights, "active": np.array([5])}, x.numpy())
        np.testing.assert_allclose(meaning, parts.meaning, atol=1e-5)
        np.testing.assert_allclose(language, parts.language, atol=1e-5)


def test_memory_does_not_grow_with_the_latents_of_all_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    """The authors have 262,144 latents: those of 4,096 sentences alone would be 4 GB."""
    monkeypatch.setattr(sparse_autoencoder, "ENTRIES", 2**16)
    wide = np.random.default_rng(0).normal(size=(2**12, 2)).astype(np.float32)
    weights = {"encoder.weight": wide, "decoder.weight": wide.T, "active": np.array([8])}
    e = np.ones((2000, 2), dtype=np.float32)
    tracemalloc.start()
    split(weights, e)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.1 * len(e) * len(wide) * 4


def test_latents_that_fire_for_nearly_all_sentences_of_one_language_are_left_out() -> None:
    n = 20
    wave = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    always = np.ones(n)
    english = np.stack([wave, wave], axis=1).astype(np.float32)
    german = np.stack([wave, always], axis=1).astype(np.float32)
    blocks = [(english, german, ("en", "de"))]
    found = suppress(WEIGHTS, blocks, ["de", "en"], **SETTINGS)
    np.testing.assert_array_equal(found["kept"], [1, 0, 1, 1])
    assert found["active"].tolist() == [2]
    # 18 of 20 are enough at 0.9, 17 are not; two blocks count as one.
    for misses, expected in ((2, 0), (3, 1)):
        german[:, 1] = np.where(np.arange(n) < misses, -1, 1)
        halves = [(english[part], german[part], ("en", "de")) for part in (slice(0, 10), slice(10, n))]
        assert suppress(WEIGHTS, halves, ["de", "en"], **SETTINGS)["kept"][1] == expected


def test_a_direction_of_one_language_is_taken_away_and_the_rest_stays() -> None:
    generator = np.random.default_rng(0)
    axes = np.linalg.qr(generator.normal(size=(4, 4)))[0]
    weights = {
        "encoder.weight": np.concatenate([axes, -axes]),
        "decoder.weight": np.concatenate([axes, -axes]).T,
    }
    content = generator.normal(size=(400, 3))
    offset = np.repeat([[0.0, 3.0]], 200, axis=0).T.reshape(-1, 1)
    vectors = np.concatenate([content, offset], axis=1) @ axes
    english, german = vectors[:200], vectors[200:]
    settings = {"expansion": 2, "active": 4, "firing": 0.95}
    found = suppress(weights, [(english, german, ("en", "de"))], ["de", "en"], **settings)
    assert np.flatnonzero(found["kept"] == 0).tolist() == [3]
    meaning, language = split({**weights, **found}, vectors)
    np.testing.assert_allclose(meaning, content @ axes[:3], atol=1e-6)
    np.testing.assert_allclose(language, offset @ axes[3:], atol=1e-6)
    # With nothing to leave out the editing is the autoencoder, here the identity.
    found = suppress(weights, [(english, english[::-1], ("en", "de"))], ["de", "en"], **settings)
    assert found["kept"].all()
    np.testing.assert_allclose(split({**weights, **found}, vectors)[0], vectors, atol=1e-6)


@pytest.fixture(scope="module")
def world() -> World:
    return make_world()


def test_training_reconstructs_and_editing_brings_the_languages_nearer(world: World, tmp_path: Path) -> None:
    method = LANGSAE.model_copy(update={"expansion": 8, "active": 24})
    recipe = DecompositionSettings(learning_rate=3e-3, batch_size=256, max_epochs=25)
    found, history = fit_decomposer(
        method, recipe, "langsae", world.data, seed=1, device=torch.device("cpu"), checkpoint=None
    )
    error = [row["valid.langsae.reconstruction"] for row in history]
    variance = float(world.data.vectors.square().mean())
    assert min(error) < 0.15 * variance
    assert 0 < found.weights["kept"].sum() < 8 * 32
    assert {name: found.details[name] for name in method.own_settings} == method.own_settings
    found.save(tmp_path)
    loaded = load_decomposer(tmp_path)
    for before, after in zip(
        found.transform(world.source.numpy(), "qaa"),
        loaded.transform(world.source.numpy(), "qaa"),
        strict=True,
    ):
        np.testing.assert_array_equal(before, after)
    means = {}
    for part in ("sentence", "meaning"):
        sides = [
            getattr(loaded.transform(world.source.numpy(), "qaa"), part),
            getattr(loaded.transform(world.target[world.target_language == 1].numpy(), "qab"), part),
        ]
        rows = np.concatenate(sides)
        distance = np.linalg.norm(sides[0].mean(axis=0) - sides[1].mean(axis=0))
        means[part] = distance / np.sqrt(rows.var(axis=0).sum())
    assert means["meaning"] < 0.95 * means["sentence"]


def test_a_seed_gives_the_same_autoencoder_again(world: World) -> None:
    recipe = DecompositionSettings(batch_size=256, max_epochs=2)
    first, again, other = (
        fit_decomposer(
            LANGSAE, recipe, "langsae", world.data, seed=seed, device=torch.device("cpu"), checkpoint=None
        )[0]
        for seed in (1, 1, 2)
    )
    assert set(first.weights) == {"encoder.weight", "decoder.weight", "kept", "active"}
    for name, array in first.weights.items():
        np.testing.assert_array_equal(array, again.weights[name])
    assert not np.array_equal(first.weights["encoder.weight"], other.weights["encoder.weight"])
