"""Training that starts from the discriminant's maps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from kills import kill_at_saves
from synthetic_world import World, make_world

from orthoglot import config
from orthoglot.decomposers.architectures.discriminant import ARCHITECTURE as DISCRIMINANT
from orthoglot.decomposers.base import Decomposer
from orthoglot.decomposers.moments import compute
from orthoglot.training.decompose import fit_decomposer, subtract, train, translations
from orthoglot.training.progress import History
from orthoglot.training.settings import DecompositionSettings
from orthoglot.training.start import discriminant_maps

CPU = torch.device("cpu")
REFINED = config.load(config.shipped()).methods["discriminant-refined"]
RECIPE = DecompositionSettings(learning_rate=1e-3, batch_size=256, max_epochs=4, patience=2)


@pytest.fixture(scope="module")
def world() -> World:
    """Few training pairs and more noise than usual, so that there is something left to gain."""
    world = make_world(train=400)
    noise = torch.randn(world.data.vectors.shape, generator=torch.Generator().manual_seed(3))
    return replace(world, data=replace(world.data, vectors=world.data.vectors + noise))


def fitted(world: World, rate: float, **settings: Any) -> tuple[Decomposer, History]:
    method, recipe = REFINED.model_copy(update=settings), RECIPE.model_copy(update={"learning_rate": rate})
    return fit_decomposer(method, recipe, "m", world.data, seed=1, device=CPU, checkpoint=None)


def cosines(rows: np.ndarray) -> np.ndarray:
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return rows @ rows.T


@pytest.mark.parametrize("centre", ["overall", "none"])
def test_before_training_both_parts_are_the_discriminants(centre: Any, world: World) -> None:
    data = subtract(world.data, centre)[1]
    form = replace(DISCRIMINANT, unit=False)
    given = {"centre": "overall"} if centre == "overall" else {}
    weights, settings = compute(form, translations(data, data.train), data.languages, 32, given)
    found, _ = fitted(world, 1e-30, centre=centre)
    assert found.details["start"] == settings
    x = world.data.vectors[world.data.valid.target].numpy()
    parts = found.transform(x, "qab")
    centred = data.vectors[data.valid.target].numpy()
    meaning = (centred - weights["centre"]) @ weights["meaning"]
    language = (centred - weights["mean"]) @ weights["language"]
    np.testing.assert_allclose(cosines(parts.meaning), cosines(meaning), atol=1e-4)
    np.testing.assert_allclose(cosines(parts.language), cosines(language), atol=1e-4)


def test_maps_have_the_spread_of_random_ones(world: World) -> None:
    blocks = translations(world.data, world.data.train)
    maps, _ = discriminant_maps(blocks, world.data.languages, 32, centred=False)
    for part in ("meaning", "language"):
        assert float(maps[f"{part}.weight"].square().mean().sqrt()) == pytest.approx(
            1 / np.sqrt(96), rel=1e-5
        )


def test_training_leaves_the_language_part_and_moves_the_meaning(world: World) -> None:
    start, _ = fitted(world, 1e-30)
    found, history = fitted(world, 1e-3)
    np.testing.assert_array_equal(found.weights["language.weight"], start.weights["language.weight"])
    assert not np.array_equal(found.weights["meaning.weight"], start.weights["meaning.weight"])
    assert history[-1]["train.contrastive.translations"] < history[0]["train.contrastive.translations"]


def test_the_start_stays_if_no_epoch_is_better(world: World, caplog: pytest.LogCaptureFixture) -> None:
    start, _ = fitted(world, 1e-30)
    with caplog.at_level("INFO"):
        found, history = fitted(world, 10.0)
    assert [row["best"] for row in history] == [0, 0]
    assert (found.details["best_epoch"], found.details["stopped"]) == (-1, "patience")
    for name, weight in start.weights.items():
        np.testing.assert_allclose(found.weights[name], weight, atol=1e-7)
    kept = next(r.message for r in caplog.records if "kept epoch" in r.message)
    assert kept.startswith("m, seed 1: kept epoch 0 of 2, validation retrieval ")
    assert float(kept.split()[-1]) > max(row["valid.retrieval"] for row in history)


def test_a_killed_refinement_resumes_to_the_same_end(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = subtract(world.data, "overall")[1]
    start, _ = discriminant_maps(translations(data, data.train), data.languages, 32, centred=True)
    for rate in (1e-3, 10.0):
        recipe = RECIPE.model_copy(update={"learning_rate": rate})
        settings: Any = {"seed": 1, "device": CPU, "start": start}
        weights, history = train(REFINED, recipe, "m", data, checkpoint=None, **settings)
        with monkeypatch.context() as patched:
            kill_at_saves(patched, 1, 2)
            for _ in range(2):
                with pytest.raises(KeyboardInterrupt):
                    train(REFINED, recipe, "m", data, checkpoint=tmp_path / str(rate), **settings)
        resumed, again = train(REFINED, recipe, "m", data, checkpoint=tmp_path / str(rate), **settings)
        assert again == history
        for key, weight in weights.items():
            np.testing.assert_array_equal(resumed[key], weight)
