"""A compiled objective: the eager training within rounding, the same bits again, and only where it pays."""

from __future__ import annotations

import logging
import os
import shutil
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from kills import kill_at_saves
from synthetic_world import World, make_world
from test_decompose import CPU, METHODS
from torch import Tensor
from torch._inductor import config as inductor

from orthoglot.objectives.base import Objective, Pairs
from orthoglot.training import decompose as training
from orthoglot.training.decompose import train
from orthoglot.training.settings import DecompositionSettings
from orthoglot.training.training_state import History

COMPILED = "the objective is compiled"
RECIPE = DecompositionSettings(learning_rate=1e-3, batch_size=256, max_epochs=9, patience=3)


def trained(name: str, world: World, checkpoint: Path | None = None) -> tuple[dict[str, np.ndarray], History]:
    return train(METHODS[name], RECIPE, name, world.data, seed=1, device=CPU, checkpoint=checkpoint)


@pytest.mark.skipif(shutil.which(os.environ.get("CXX", "g++")) is None, reason="needs a C++ compiler")
@pytest.mark.parametrize("name", ["seed", "meat+oracle"])
def test_it_equals_the_eager_training_and_resumes_to_the_same_bits(name: str, tmp_path: Path) -> None:
    # A job trains in a process of its own; what other tests have imported and changed is not in it.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        process.submit(compare, name, tmp_path).result()


def compare(name: str, checkpoint: Path) -> None:
    torch.set_num_threads(1)
    world, messages = make_world(), list[str]()
    handler = logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("orthoglot").addHandler(handler)
    logging.getLogger("orthoglot").setLevel("INFO")
    eager, history = trained(name, world)
    assert not any(COMPILED in message for message in messages)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "PAYS_FROM", 0)
        weights, compiled = trained(name, world)
        assert sum(COMPILED in message for message in messages) == 1, messages
        for row, other in zip(history, compiled, strict=True):
            assert other == pytest.approx(row, rel=1e-5, abs=1e-6)
        for key, weight in eager.items():
            np.testing.assert_allclose(weights[key], weight, rtol=0, atol=1e-5)
        kill_at_saves(patch, 5)
        with pytest.raises(KeyboardInterrupt):
            trained(name, world, checkpoint)
        torch.compiler.reset()  # as in a new process
        resumed, again = trained(name, world, checkpoint)
    assert again == compiled
    for key, weight in weights.items():
        np.testing.assert_array_equal(resumed[key], weight)


@pytest.mark.parametrize("cause", ["No working C++ compiler", "Data-dependent"])
def test_what_cannot_be_compiled_is_trained_as_ever(
    cause: str,
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    eager, history = trained("seed", world)
    monkeypatch.setattr(training, "PAYS_FROM", 0)
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    torch.compiler.reset()
    if cause == "Data-dependent":
        forward = Objective.forward

        def untraceable(self: Objective, pairs: Pairs) -> dict[str, Tensor]:
            assert pairs.active.any()
            return forward(self, pairs)

        monkeypatch.setattr(Objective, "forward", untraceable)
    with inductor.patch({"cpp.cxx": (None, str(tmp_path / "g++"))}):
        weights, same = trained("seed", world)
    (line,) = (record.getMessage() for record in caplog.records if "not compiled" in record.getMessage())
    assert cause in line
    assert same == history
    for key, weight in eager.items():
        np.testing.assert_array_equal(weights[key], weight)


@pytest.mark.parametrize(("spare", "expected"), [(0, 1), (1, 0)])
def test_only_a_training_that_is_long_even_if_it_stops_early_is_compiled(
    spare: int, expected: int, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def compiled(objective: Objective, batch: Pairs, label: str) -> Any:
        calls.append(len(batch.active))
        return objective

    least = (RECIPE.patience + 1) * 2 * len(world.data.train) * world.data.vectors.shape[1]
    monkeypatch.setattr(training, "PAYS_FROM", least + spare)
    monkeypatch.setattr(training, "compiled", compiled)
    trained("seed", world)
    assert calls == [256] * expected
