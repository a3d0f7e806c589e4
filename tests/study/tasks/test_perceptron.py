"""The perceptron of EMS: known answers, and each run as if it were alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from orthoglot.study.tasks import perceptron
from orthoglot.study.tasks.perceptron import fit


def separable(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Points around three directions."""
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % 3
    points = np.eye(6)[codes] + 0.1 * rng.normal(size=(n, 6))
    return points, np.array(["a", "b", "c"])[codes]


def test_separable_labels_are_learnt_and_shuffled_ones_give_chance() -> None:
    x, y = separable(240, 1)
    shown, wanted = separable(120, 2)
    tested, answers = separable(600, 3)
    learnt = fit((x, y), (shown, wanted), runs=3, epochs=25, seed=1)
    assert (learnt.predict(tested) == answers).mean() > 0.98
    rng = np.random.default_rng(4)
    shuffled = fit((x, rng.permutation(y)), (shown, rng.permutation(wanted)), runs=3, epochs=25, seed=1)
    right = (shuffled.predict(tested) == rng.permutation(answers)).mean(1)
    assert np.abs(right - 1 / 3).max() < 0.08  # 4 standard deviations of 600 texts


def test_runs_differ_and_a_seed_repeats_them() -> None:
    train, valid = separable(60, 1), separable(30, 2)
    one, again, other = (fit(train, valid, runs=2, epochs=3, seed=seed) for seed in (1, 1, 2))
    assert not torch.equal(one.weights[0][0], one.weights[0][1])
    assert all(torch.equal(a, b) for a, b in zip(one.weights, again.weights, strict=True))
    assert not torch.equal(one.weights[0], other.weights[0])


def test_golden_a_step_is_that_of_a_network_of_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    """One batch, no dropout: each run steps as a network of its own."""
    monkeypatch.setattr(perceptron, "DROPOUT", 0.0)
    (x, y), valid = separable(12, 1), separable(9, 2)
    start = []
    uniform = perceptron._uniform

    def seen(*args: object) -> torch.Tensor:
        start.append(uniform(*args))  # type: ignore[arg-type]
        return start[-1].detach().clone().requires_grad_()

    monkeypatch.setattr(perceptron, "_uniform", seen)
    found = fit((x, y), valid, runs=2, epochs=1, seed=3)
    for run in range(2):
        layers = [torch.nn.Linear(one.shape[1], one.shape[2]) for one in start[::2]]
        network = torch.nn.Sequential(layers[0], torch.nn.Tanh(), layers[1], torch.nn.Tanh(), layers[2])
        with torch.no_grad():
            for layer, weight, bias in zip(layers, start[::2], start[1::2], strict=True):
                layer.weight.copy_(weight[run].T)
                layer.bias.copy_(bias[run, 0])
        optimiser = torch.optim.Adam(network.parameters(), lr=1e-3)
        codes = torch.tensor(["abc".index(label) for label in y])
        torch.nn.functional.cross_entropy(network(torch.tensor(x, dtype=torch.float32)), codes).backward()
        optimiser.step()
        for layer, weight in zip(layers, found.weights, strict=True):
            torch.testing.assert_close(layer.weight.T, weight[run])


def test_the_best_epoch_is_kept_and_the_later_of_equal_ones() -> None:
    train, valid = separable(120, 1), separable(60, 2)
    later = fit(train, valid, runs=2, epochs=40, seed=1)
    assert (later.predict(valid[0]) == valid[1]).all()
    assert later.epochs.tolist() == [40, 40]
    # Labels of which validation text has the opposite: the first epochs are the best.
    turned = np.array(["b", "c", "a"])[["abc".index(label) for label in valid[1]]]
    early = fit(train, (valid[0], turned), runs=2, epochs=40, seed=1)
    run = int(early.epochs.argmin())
    best = int(early.epochs[run])
    assert best < 40
    stopped = fit(train, (valid[0], turned), runs=2, epochs=best, seed=1)
    assert torch.equal(stopped.weights[0][run], early.weights[0][run])
