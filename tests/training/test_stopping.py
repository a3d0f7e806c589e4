"""What decides the best epoch: each criterion against its definition, resumed trainings, refusals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from synthetic_world import World

from orthoglot import catalogue
from orthoglot.decomposers.base import Decomposer, load_decomposer
from orthoglot.decomposers.modules import Maps
from orthoglot.errors import ConfigError
from orthoglot.objectives import ADVERSARIAL, TERMS
from orthoglot.objectives.base import Adversary, resolve
from orthoglot.random_streams import stream
from orthoglot.study import config
from orthoglot.training.batching import PairRows
from orthoglot.training.decompose import fit_decomposer
from orthoglot.training.settings import DecompositionSettings, MethodSettings, Stopping
from orthoglot.training.stopping import (
    CANDIDATES,
    CRITERIA,
    QUERIES,
    Retrieval,
    both_directions,
    check_stopping,
    without_opponents,
)
from orthoglot.training.training_state import Criterion, History, best_epoch

CPU = torch.device("cpu")
METHODS = config.load(catalogue.shipped()).methods
RECIPE = DecompositionSettings(learning_rate=1e-2, batch_size=256, max_epochs=4, patience=2)


def fitted(world: World, method: str, own: Stopping | None, **recipe: Any) -> tuple[Decomposer, History]:
    chosen = METHODS[method].model_copy(update={"stopping": own})
    settings = RECIPE.model_copy(update=recipe)
    return fit_decomposer(chosen, settings, method, world.data, seed=1, device=CPU, checkpoint=None)


def found_by_hand(decomposer: Decomposer, world: World) -> float:
    """P@1 in percent, sentence by sentence: validation pairs query, training pairs fill up the candidates."""
    shares = []
    for k in (1, 2):
        valid, train_ = (
            pairs.take(pairs.target_language == k) for pairs in (world.data.valid, world.data.train)
        )
        sides = []
        for side in ("source", "target"):
            rows = torch.cat([getattr(valid, side), getattr(train_, side)])[:1000]
            names = "qaa" if side == "source" else world.data.languages[k]
            part = decomposer.transform(world.data.vectors[rows].numpy(), names).meaning
            sides.append(part / np.linalg.norm(part, axis=1, keepdims=True))
        n = min(300, len(valid))
        hits = [
            max(range(len(others)), key=lambda j: float(query @ others[j])) == i
            for queries, others in (sides, sides[::-1])
            for i, query in enumerate(queries[:n])
        ]
        shares.append(np.mean(hits))
    return 100 * float(np.mean(shares))


def test_retrieval_is_the_p_at_1_of_the_meaning_part_on_validation_pairs(world: World) -> None:
    found, history = fitted(world, "seed", "retrieval", learning_rate=1e-4)
    kept = history[best_epoch(history)]
    assert kept["valid.retrieval"] == pytest.approx(found_by_hand(found, world), abs=1e-9)
    values = [row["valid.retrieval"] for row in history]
    assert best_epoch(history) == values.index(max(values))
    assert found.details["stopping"] == "retrieval"
    assert found.details["max_epochs"] == 4
    assert len(set(values)) > 1


def test_a_meaning_that_is_the_language_finds_nothing(world: World) -> None:
    maps = Maps("two_head", 32, stream(1))
    score = Retrieval(world.data.valid, world.data.train).score
    with torch.no_grad():
        maps["meaning"].weight.copy_(torch.eye(32))
        maps["meaning"].bias.zero_()
    whole = score(maps, world.data.vectors)
    labelled = world.data.vectors.clone()
    for pairs in (world.data.train, world.data.valid):
        labelled[pairs.source] = torch.eye(32)[0]
        labelled[pairs.target] = torch.eye(32)[pairs.target_language]
    # All cosines are equal, so that the first candidate wins: one query of 150 is right.
    assert score(maps, labelled) == pytest.approx(100 / 150)
    assert whole > 60


def test_batches_change_nothing_about_retrieval(world: World) -> None:
    _, small = fitted(world, "seed", "retrieval", learning_rate=1e-30, batch_size=64, max_epochs=1)
    _, large = fitted(world, "seed", "retrieval", learning_rate=1e-30, batch_size=1024, max_epochs=1)
    assert small[0]["valid.retrieval"] == large[0]["valid.retrieval"]


def test_each_pair_of_languages_has_at_most_300_queries_and_1000_candidates() -> None:
    def rows(start: int, n: int, language: int) -> PairRows:
        places = torch.arange(start, start + n)
        return PairRows(places, places, torch.zeros_like(places), torch.full_like(places, language))

    def joined(*parts: PairRows) -> PairRows:
        names = ("source", "target", "source_language", "target_language")
        return PairRows(*(torch.cat([getattr(part, name) for part in parts]) for name in names))

    valid = joined(rows(0, 400, 1), rows(400, 20, 2), rows(420, 5, 3))
    train_ = joined(rows(500, 2000, 1), rows(3000, 30, 2))
    found = Retrieval(valid, train_)
    assert [queries for _, _, queries in found.pools] == [QUERIES, 20, 5]
    assert [len(source) for source, _, _ in found.pools] == [CANDIDATES, 50, 5]
    assert found.pools[0][0].tolist() == [*range(300), *range(500, 1200)]
    assert found.pools[1][1].tolist() == [*range(400, 420), *range(3000, 3030)]


def test_hits_count_both_directions_by_cosine() -> None:
    source = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    target = np.array([[5.0, 0.1], [0.1, 1.0], [3.0, 0.0]])
    # The third source is nearest to the second target; the third target to the first source, which prefers it.
    np.testing.assert_array_equal(both_directions(source, target, 3), [0.5, 1.0, 0.0])
    np.testing.assert_array_equal(both_directions(9 * source, target, 3), [0.5, 1.0, 0.0])


def test_pairs_that_do_not_query_are_candidates_all_the_same() -> None:
    source, target = np.eye(3), np.array([[1.0, 0, 0], [0, 1, 0], [0, 0.5, 1]])
    target[2], target[1] = source[1], source[1] + [0, 0, 0.1]
    np.testing.assert_array_equal(both_directions(source, target, 2), [1.0, 0.5])
    np.testing.assert_array_equal(both_directions(source[:2], target[:2], 2), [1.0, 1.0])


@pytest.mark.parametrize("method", ["meat", "meat+oracle", "seed"])
def test_without_opponents_is_the_sum_of_the_other_terms(method: str, world: World) -> None:
    found, history = fitted(world, method, "without-opponents")
    for row in history:
        others = [row[f"valid.{term}"] for term in METHODS[method].terms if term != "meat.adversarial"]
        assert row["valid.without_opponents"] == pytest.approx(sum(others), rel=1e-6)
        opponent = row.get("valid.meat.adversarial", 0.0)
        assert row["valid.total"] == pytest.approx(row["valid.without_opponents"] + opponent, rel=1e-5)
    values = [row["valid.without_opponents"] for row in history]
    assert best_epoch(history) == values.index(min(values))
    assert found.details["stopping"] == "without-opponents"


def test_weights_count_in_the_sum_without_opponents() -> None:
    weights = {"meat.reconstruction": 2.0, "meat.adversarial": 3.0, "oracle.intra_class": 0.5}
    values = {"meat.reconstruction": 1.0, "meat.adversarial": 100.0, "oracle.intra_class": 4.0}
    assert without_opponents(values, weights) == 4.0


def test_the_opponents_are_the_terms_with_a_part_that_is_trained_against_the_maps() -> None:
    classes = {name for name in TERMS if isinstance(resolve(name), type)}
    assert {name for name in classes if issubclass(resolve(name), Adversary)} == ADVERSARIAL


def test_the_total_decides_if_nothing_is_said_and_a_method_comes_before_the_recipe(world: World) -> None:
    plain, history = fitted(world, "meat", None)
    same, again = fitted(world, "meat", "total", stopping="retrieval")
    assert history == again
    for name, weight in plain.weights.items():
        np.testing.assert_array_equal(weight, same.weights[name])
    assert plain.details == same.details
    assert set(history[0]) == {
        "epoch",
        "best",
        *(f"{split}.{term}" for split in ("train", "valid") for term in [*METHODS["meat"].terms, "total"]),
        "train.discriminator",
    }
    assert "valid.retrieval" in fitted(world, "meat", None, stopping="retrieval")[1][0]


def test_training_itself_is_the_same_whatever_decides(world: World) -> None:
    """Validation draws from its own stream: as long as training goes on, every criterion sees the same epochs."""
    histories = [fitted(world, "dream", stopping, patience=9)[1] for stopping in CRITERIA]
    for row in zip(*histories, strict=True):
        for name in ("train.total", "valid.total"):
            assert len({epoch[name] for epoch in row}) == 1


def test_the_first_of_equal_epochs_is_best_in_both_directions() -> None:
    for criterion, values in ((Criterion("x"), [2.0, 1.0, 1.0]), (Criterion("x", highest=True), [1, 2, 2])):
        rows = [{"valid.x": float(value), "valid.total": 0.0} for value in values]
        assert [criterion.improves(row, rows[:i]) for i, row in enumerate(rows)] == [True, True, False]


def test_the_criterion_does_something_or_is_refused() -> None:
    with pytest.raises(ValidationError, match="'total', 'retrieval' or 'without-opponents'"):
        DecompositionSettings.model_validate({"stopping": "loss"})
    for terms in ({"meat.adversarial": 1.0}, {"meat.adversarial": 1.0, "meat.language": 0.0}):
        alone = MethodSettings.model_validate({"architecture": "two_head", "terms": terms})
        with pytest.raises(ConfigError, match=r"leaves none of the terms meat\.adversarial"):
            check_stopping(alone, "without-opponents")
    assert set(CRITERIA) == {"total", "retrieval", "without-opponents"}


def test_vectors_less_a_mean_are_what_retrieval_is_measured_on(world: World, tmp_path: Path) -> None:
    far = replace(world.data, vectors=world.data.vectors + 50.0)
    shifted = replace(world, data=far)
    chosen = METHODS["seed-centred"].model_copy(update={"stopping": "retrieval"})
    found, history = fit_decomposer(chosen, RECIPE, "seed-centred", far, seed=1, device=CPU, checkpoint=None)
    found.save(tmp_path)
    kept = history[best_epoch(history)]["valid.retrieval"]
    assert kept == pytest.approx(found_by_hand(load_decomposer(tmp_path), shifted), abs=0.5)
