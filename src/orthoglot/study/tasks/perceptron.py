"""A small perceptron on frozen vectors, trained several times at once: the classifier of EMS, in LASER's setting."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from orthoglot.random_streams import stream

HIDDEN = (10, 8)
DROPOUT = 0.2
LEARNING_RATE = 1e-3
BATCH = 12


class Perceptrons(NamedTuple):
    """R networks of the same form."""

    weights: list[Tensor]  # of each layer, (R, inputs, outputs)
    biases: list[Tensor]  # of each layer, (R, 1, outputs)
    labels: np.ndarray  # (C,) that the outputs stand for
    epochs: np.ndarray  # (R,) the best epoch of each, from 1

    def predict(self, vectors: np.ndarray) -> np.ndarray:
        """(N, D) -> (R, N) labels."""
        x = torch.from_numpy(np.asarray(vectors, dtype=np.float32)).expand(len(self.epochs), -1, -1)
        with torch.inference_mode():
            return self.labels[_scores(x, self.weights, self.biases).argmax(-1).numpy()]


def fit(
    train: tuple[np.ndarray, np.ndarray],
    valid: tuple[np.ndarray, np.ndarray],
    *,
    runs: int,
    epochs: int,
    seed: int,
) -> Perceptrons:
    """Train `runs` networks, which differ in their first weights, order of texts and dropout.

    D -> 10 -> 8 -> C with tanh, dropout 0.2 on each layer's input, cross-entropy, Adam with 1e-3, batches of 12. Each
    keeps the weights of the epoch with the best accuracy on the validation part; the later of equal ones.

    Args:
        train, valid: Vectors (N, D) and their labels (N,).
        runs: R.
    Source: docs/papers.md#protocol-classification.
    """
    labels, codes = np.unique(train[1], return_inverse=True)
    x, y = torch.from_numpy(np.asarray(train[0], dtype=np.float32)), torch.from_numpy(codes)
    shown = torch.from_numpy(np.asarray(valid[0], dtype=np.float32)).expand(runs, -1, -1)
    wanted = torch.from_numpy(np.searchsorted(labels, valid[1]))
    draws = stream(seed, "perceptron")
    sizes = [x.shape[1], *HIDDEN, len(labels)]
    weights, biases = [], []
    for inputs, outputs in pairwise(sizes):
        bound = inputs**-0.5
        weights.append(_uniform((runs, inputs, outputs), bound, draws))
        biases.append(_uniform((runs, 1, outputs), bound, draws))
    optimiser = torch.optim.Adam([*weights, *biases], lr=LEARNING_RATE, fused=True)
    best = torch.full((runs,), -1.0)
    when = torch.zeros(runs, dtype=torch.int64)
    at_best = [parameter.detach().clone() for parameter in (*weights, *biases)]
    for epoch in range(1, epochs + 1):
        orders = torch.stack([torch.randperm(len(x), generator=draws) for _ in range(runs)])
        for rows in orders.split(BATCH, dim=1):
            scores = _scores(x[rows], weights, biases, draws)
            # The sum over networks gives each the gradient of its own mean.
            loss = functional.cross_entropy(scores.flatten(0, 1), y[rows].flatten()) * runs
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        with torch.inference_mode():
            accuracy = (_scores(shown, weights, biases).argmax(-1) == wanted).float().mean(1)
        better = accuracy >= best
        best = torch.where(better, accuracy, best)
        when[better] = epoch
        for keep, parameter in zip(at_best, (*weights, *biases), strict=True):
            keep[better] = parameter.detach()[better]
    return Perceptrons(at_best[: len(weights)], at_best[len(weights) :], labels, when.numpy())


def _scores(
    x: Tensor, weights: list[Tensor], biases: list[Tensor], draws: torch.Generator | None = None
) -> Tensor:
    """(R, N, D) -> (R, N, C); with `draws`, under dropout."""
    for number, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        if number:
            x = x.tanh()
        if draws is not None:
            x = x * (torch.rand(x.shape, generator=draws) >= DROPOUT) / (1 - DROPOUT)
        x = torch.baddbmm(bias, x, weight)
    return x


def _uniform(shape: tuple[int, ...], bound: float, draws: torch.Generator) -> Tensor:
    return ((2 * torch.rand(shape, generator=draws) - 1) * bound).requires_grad_()
