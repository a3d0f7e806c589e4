"""Trainings of a stack against the same trainings alone: numbers, endings, and nothing that passes between them."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from kills import kill_at_saves
from synthetic_world import World
from test_decompose import CPU, METHODS
from toy_store import folders

from orthoglot.decomposers.base import load_decomposer
from orthoglot.decomposers.modules import Maps
from orthoglot.errors import DataError
from orthoglot.random_streams import stream
from orthoglot.study.jobs import decompose as jobs
from orthoglot.training import loop
from orthoglot.training import stack as stacks
from orthoglot.training.decompose import fit_decomposer, train
from orthoglot.training.settings import DecompositionSettings
from orthoglot.training.stack import Entry, fit_stack, train_stack
from orthoglot.training.step import Update, take
from orthoglot.training.training_state import History

Trained = tuple[dict[str, np.ndarray], History]


def entry(name: str, seed: int, epochs: int = 3, patience: int = 10, **own: Any) -> Entry:
    """A training; its rate is part of its name, as a comparison of rates would have it."""
    recipe = DecompositionSettings(learning_rate=1e-2, batch_size=256, max_epochs=epochs, patience=patience)
    label = name + "".join(f", {key} {value}" for key, value in own.items())
    return Entry(METHODS[name].model_copy(update=own), recipe, label, seed)


def stacked(entries: list[Entry], world: World, checkpoint: Path | None = None) -> list[Trained]:
    return train_stack(entries, world.data, device=CPU, checkpoint=checkpoint)


def alone(one: Entry, world: World) -> Trained:
    return train(one.method, one.recipe, one.name, world.data, seed=one.seed, device=CPU, checkpoint=None)


def same(one: Trained, other: Trained) -> None:
    assert one[1] == other[1]
    for name, weight in one[0].items():
        np.testing.assert_array_equal(weight, other[0][name])


def compare(entries: list[Entry], world: World) -> None:
    """Every training of a stack equals its twin alone, but for rounding.

    Sums in another order change a gradient by about 1e-7 of its size. Adam's steps have the size of the rate whatever
    the gradient, so where one is nearly 0 a weight may go the other way: weights are compared by the whole way that
    they moved, of which a thousandth may differ.
    """
    for one, (weights, history) in zip(entries, stacked(entries, world), strict=True):
        expected, rows = alone(one, world)
        start = Maps(one.method.architecture, 32, stream(one.seed, "maps")).state_dict()
        moved = sum(np.square(expected[name] - start[name].numpy()).sum() for name in start)
        apart = sum(np.square(expected[name] - weights[name]).sum() for name in start)
        assert moved > 0
        assert apart < (1e-3) ** 2 * moved
        assert len(history) == len(rows)
        for row, other in zip(rows, history, strict=True):
            assert other == pytest.approx(row, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize(
    "name", ["dream+oracle", "dream+oracle-released", "meat+oracle", "meat+abs", "seed+lancer", "oracle"]
)
def test_seeds_of_a_method_equal_their_trainings_alone(name: str, world: World) -> None:
    compare([entry(name, seed) for seed in (1, 2, 3)], world)


def test_methods_and_rates_of_one_stack_equal_their_trainings_alone(world: World) -> None:
    """They have other terms, partners, heads, discriminators and criteria."""
    entries = [
        entry("oracle", 1, stopping="retrieval"),
        *(entry("meat+oracle", 1, learning_rate=rate) for rate in (1e-2, 3e-3)),
        entry("meat", 2, stopping="without-opponents"),
        entry("dream", 2),
        entry("dream-released", 1),
    ]
    compare(entries, world)
    for one, (_, history) in zip(entries, stacked(entries, world), strict=True):
        assert history[0].keys() == alone(one, world)[1][0].keys()


def test_a_step_follows_the_gradient_of_every_total() -> None:
    """Adam hides a factor, so plain descent: two trainings whose totals are w^2 and 3 w."""
    weight = torch.nn.Parameter(torch.tensor([1.0, 1.0]))
    update = Update(
        "all",
        lambda _: {"total": torch.stack([weight[0].square(), 3 * weight[1]])},
        torch.optim.SGD([weight], lr=0.25),
    )
    list(take([update], None))
    assert weight.tolist() == [0.5, 0.25]


def test_a_stack_of_one_equals_the_training(world: World) -> None:
    compare([entry("meat+oracle", 1)], world)


def patient() -> list[Entry]:
    """Trainings whose patience ends at three epochs; none of their choices is closer than 1e-3 of a value."""
    return [entry("seed", seed, epochs=30, patience=2, learning_rate=6e-2) for seed in (1, 2, 3)]


def capped() -> list[Entry]:
    """Trainings of MEAT of which the first is ended by its patience, the others by their caps."""
    return [
        entry("meat", 1, epochs=7, patience=2, learning_rate=3e-2),
        entry("meat", 2, epochs=7, patience=2),
        entry("meat", 3, epochs=5, patience=2),
    ]


@pytest.mark.parametrize("entries", [patient, capped])
def test_trainings_end_each_at_their_own_epoch(entries: Callable[[], list[Entry]], world: World) -> None:
    compare(entries(), world)
    histories = [history for _, history in stacked(entries(), world)]
    assert len({len(history) for history in histories}) == 3


def test_a_training_that_has_ended_no_longer_moves(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[torch.Tensor]] = []
    validate = stacks._Joint.validate

    def watched(self: Any) -> None:
        seen.append([m.training.maps["meaning"].weight.detach().clone() for m in self.stack.members])
        validate(self)

    monkeypatch.setattr(stacks._Joint, "validate", watched)
    ends = [len(history) for _, history in stacked(capped(), world)]
    assert len(seen) == max(ends)
    for number, end in enumerate(ends):
        moved = [not torch.equal(a[number], b[number]) for a, b in pairwise(seen)]
        assert moved == [epoch + 1 < end for epoch in range(len(moved))]


def test_the_same_stack_gives_the_same_bits(world: World) -> None:
    for one, other in zip(stacked(capped(), world), stacked(capped(), world), strict=True):
        same(one, other)


def test_a_killed_stack_resumes_to_the_same_end(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At any step, also after a training has ended."""
    expected = stacked(capped(), world)
    first_end = 5 * min(len(history) for _, history in expected)
    kill_at_saves(monkeypatch, 3, 9, first_end + 9)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            stacked(capped(), world, tmp_path)
    for one, other in zip(stacked(capped(), world, tmp_path), expected, strict=True):
        same(one, other)


def test_a_checkpoint_of_another_stack_is_refused(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill_at_saves(monkeypatch, 1)
    with pytest.raises(KeyboardInterrupt):
        stacked([entry("meat", seed) for seed in (1, 2)], world, tmp_path)
    with pytest.raises(DataError, match=r"meat, seeds 1, 2 .* not meat, seeds 1, 3"):
        stacked([entry("meat", seed) for seed in (1, 3)], world, tmp_path)


def test_a_training_that_is_not_finite_is_named(world: World) -> None:
    entries = [entry("meat", 1), entry("meat", 2, learning_rate=1e38), entry("meat", 3)]
    with pytest.raises(
        DataError, match=r"^meat, learning_rate 1e\+38, seed 2: epoch 0, step 0, maps: .*=nan"
    ):
        stacked(entries, world)


def test_what_is_not_finite_stays_in_its_training(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (loop, stacks):
        monkeypatch.setattr(module, "refuse_infinite", lambda where, values: None)
    results = []
    for rate in (1e38, 1e-2):
        entries = [entry("meat", 1), entry("meat", 2, learning_rate=rate), entry("meat", 3)]
        results.append(stacked(entries, world))
    wild, tame = results
    assert np.isnan(wild[1][1][-1]["train.total"])
    for number in (0, 2):
        same(wild[number], tame[number])


def test_fitted_decomposers_state_what_those_of_single_trainings_do(world: World) -> None:
    entries = [entry("seed-centred", seed) for seed in (1, 2)]
    for one, (fitted, history) in zip(
        entries, fit_stack(entries, world.data, device=CPU, checkpoint=None), strict=True
    ):
        expected, rows = fit_decomposer(
            one.method, one.recipe, one.name, world.data, seed=one.seed, device=CPU, checkpoint=None
        )
        assert len(history) == len(rows)
        assert fitted.details == expected.details
        assert fitted.weights.keys() == expected.weights.keys()
        np.testing.assert_array_equal(fitted.weights["centre"], expected.weights["centre"])


def written(root: Path) -> dict[str, Any]:
    """The files of a job with two seeds, by path; of weights and numbers that are rounded only the names."""
    pair, encoder, store = folders(root)
    places = {"encoder": encoder, "embeddings": store}
    recipe = DecompositionSettings(batch_size=16, max_epochs=2, patience=2)
    settings = {
        "name": "meat",
        "method": METHODS["meat"].model_dump(),
        "decomposition": recipe.model_dump(),
        "seeds": [1, 2],
        "train_pairs": 60,
    }
    job = SimpleNamespace(settings=settings, device="cpu", checkpoint=root / "checkpoint", code=lambda: "c")
    job.folder, job.folders = places.__getitem__, lambda role: [pair] if role == "bitext" else []
    job.file_digests = lambda role: {}
    job.run = lambda work: work(root / "output")
    (root / "output").mkdir()
    jobs.run(job)  # type: ignore[arg-type]
    found: dict[str, Any] = {}
    for path in sorted((root / "output").glob("*/*")):
        name = str(path.relative_to(root / "output"))
        if path.name == "decomposer.json":
            found[name] = {**json.loads(path.read_text()), "sha256": ""}
        elif path.name == "history.jsonl":
            found[name] = [sorted(json.loads(line)) for line in path.read_text().splitlines()]
        else:
            found[name] = sorted(load_decomposer(path.parent).weights)
    return found


def test_a_job_writes_the_same_files_with_a_stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    single = written(tmp_path / "single")
    called = []
    fit = stacks.fit_stack
    monkeypatch.setattr(stacks, "pays", lambda method, device, trainings: trainings > 1)
    monkeypatch.setattr(
        stacks, "fit_stack", lambda entries, *a, **k: called.append(entries) or fit(entries, *a, **k)
    )
    assert written(tmp_path / "stack") == single
    assert [[entry.seed for entry in entries] for entries in called] == [[1, 2]]
    assert len(single) == 6


@pytest.mark.parametrize(
    ("method", "device", "trainings", "expected"),
    [
        ("dream", "cuda", 2, True),
        ("dream", "cuda", 1, False),
        ("dream", "cpu", 5, False),
        ("langsae", "cuda", 5, False),
        ("plda", "cuda", 5, False),
    ],
)
def test_several_trainings_of_square_maps_are_stacked_on_a_gpu(
    method: str, device: str, trainings: int, expected: bool
) -> None:
    assert stacks.pays(METHODS[method], torch.device(device), trainings) is expected
