"""A mean that is subtracted before a method is trained and applied."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from synthetic_world import World

from orthoglot import catalogue
from orthoglot.apply.export import affine
from orthoglot.decomposers.base import Decomposer, load_decomposer
from orthoglot.errors import ConfigError, DataError
from orthoglot.study import config
from orthoglot.training.decompose import Data, fit_decomposer, subtract, translations
from orthoglot.training.settings import DecompositionSettings

METHODS = config.load(catalogue.shipped()).methods
RECIPE = DecompositionSettings(learning_rate=1e-2, batch_size=256, max_epochs=3)


def fitted(world: World, data: Data, centre: str | None, method: str = "seed") -> Decomposer:
    settings = METHODS[method].model_copy(update={"centre": centre})
    found, _ = fit_decomposer(
        settings, RECIPE, method, data, seed=1, device=torch.device("cpu"), checkpoint=None
    )
    return found


def by_hand(world: World) -> tuple[np.ndarray, np.ndarray]:
    """Mean of all training sentences, and of each language."""
    sides: dict[str, list[np.ndarray]] = {code: [] for code in world.data.languages}
    for source, target, (first, second) in translations(world.data, world.data.train):
        sides[first].append(source)
        sides[second].append(target)
    rows = [np.concatenate(found).astype(np.float64) for found in sides.values()]
    return np.concatenate(rows).mean(axis=0), np.stack([found.mean(axis=0) for found in rows])


def test_means_are_those_of_the_training_sentences_and_validation_is_centred_too(world: World) -> None:
    overall, languages = by_hand(world)
    assert subtract(world.data, "none") == ({}, world.data)
    assert subtract(world.data, None) == ({}, world.data)
    weights, centred = subtract(world.data, "overall")
    np.testing.assert_allclose(weights["centre"], overall, atol=1e-5)
    np.testing.assert_allclose(centred.vectors, world.data.vectors - overall, atol=1e-5)
    weights, centred = subtract(world.data, "language")
    np.testing.assert_allclose(weights["centre"], languages, atol=1e-5)
    for pairs in (centred.train, centred.valid):
        expected = world.data.vectors[pairs.target].numpy() - languages[pairs.target_language]
        np.testing.assert_allclose(centred.vectors[pairs.target], expected, atol=1e-5)
        np.testing.assert_allclose(
            centred.vectors[pairs.source], world.data.vectors[pairs.source].numpy() - languages[0], atol=1e-5
        )


@pytest.mark.parametrize("centre", ["overall", "language"])
def test_it_equals_the_plain_method_on_centred_vectors(centre: Any, world: World, tmp_path: Path) -> None:
    weights, centred = subtract(world.data, centre)
    ours, plain = fitted(world, world.data, centre), fitted(world, centred, None)
    assert ours.details["centre"] == centre
    assert "centre" not in plain.details
    ours.save(tmp_path)
    ours = load_decomposer(tmp_path)
    names = [world.data.languages[k] for k in world.target_language.tolist()]
    mean = weights["centre"] if centre == "overall" else weights["centre"][world.target_language]
    target = world.target.numpy()
    found, expected = ours.transform(target, names), plain.transform(target - mean, names)
    np.testing.assert_allclose(found.meaning, expected.meaning, atol=1e-5)
    np.testing.assert_allclose(found.language, expected.language, atol=1e-5)
    np.testing.assert_array_equal(found.sentence, target)
    if centre == "language":
        with pytest.raises(DataError, match="no weights of language 'fr'"):
            ours.transform(target, "fr")
        with pytest.raises(ConfigError, match="maps each language its own way"):
            affine(ours, "meaning", None)
    weight, bias = affine(ours, "meaning", names[0] if centre == "language" else None)
    ours_too = ours.transform(target[:1], names[0]).meaning
    np.testing.assert_allclose(target[:1] @ weight.T + bias, ours_too, atol=1e-4)


def test_none_changes_nothing_and_a_shift_of_all_vectors_does_only_without_a_mean(world: World) -> None:
    default, none = fitted(world, world.data, None), fitted(world, world.data, "none")
    for name, array in default.weights.items():
        np.testing.assert_array_equal(array, none.weights[name])
    assert "centre" not in default.details
    moved = Data(world.data.vectors + 3.0, world.data.languages, world.data.train, world.data.valid)
    source = world.source.numpy()
    for centre, same in (("overall", True), ("language", True), (None, False)):
        plain = fitted(world, world.data, centre).transform(source, "qaa").meaning
        shifted = fitted(world, moved, centre).transform(source + 3.0, "qaa").meaning
        assert np.allclose(plain, shifted, atol=1e-3) == same
