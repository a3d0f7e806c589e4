"""LANCER's correlation: against NumPy's, known values, what leaves it as it is, and that descent lowers it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from cases import Case, Side, case_of
from torch import Tensor

from orthoglot.decomposers.base import Decomposition
from orthoglot.objectives.lancer import correlation
from orthoglot.random_streams import stream


def batch(source: Tensor, target: Tensor, source_ids: list[int], target_ids: list[int], k: int) -> Case:
    """Meaning vectors of both sides, and their languages."""
    sides = [
        Side(Decomposition(rows, rows, rows), torch.tensor(ids), *[torch.full((len(ids),), -1)] * 2)
        for rows, ids in ((source, source_ids), (target, target_ids))
    ]
    return case_of(*sides, torch.ones(len(source), dtype=torch.bool), k)


def random_batch(k: int = 3) -> tuple[Tensor, Tensor, list[int], list[int]]:
    generator = stream(7, "lancer")
    source, target = (torch.randn(20, 5, generator=generator, dtype=torch.float64) for _ in range(2))
    return source, target, [0] * 20, [1 + i % (k - 1) for i in range(20)]


def test_it_is_the_mean_absolute_correlation_of_numpy() -> None:
    source, target, first, second = random_batch()
    rows, ids = torch.cat([source, target]).numpy(), np.array(first + second)
    found = [abs(np.corrcoef(rows[:, d], ids == k)[0, 1]) for d in range(rows.shape[1]) for k in range(3)]
    assert float(correlation(batch(source, target, first, second, 3))) == pytest.approx(
        np.mean(found), rel=1e-3
    )


def test_known_values() -> None:
    one, two = torch.ones(4, 1, dtype=torch.float64), 2 * torch.ones(4, 1, dtype=torch.float64)
    # The dimension is the language: correlations of -1 and 1.
    assert float(correlation(batch(one, two, [0] * 4, [1] * 4, 2))) == pytest.approx(1, abs=1e-4)
    # A language that the batch lacks counts as 0; so does a dimension that does not vary.
    assert float(correlation(batch(one, two, [0] * 4, [1] * 4, 4))) == pytest.approx(0.5, abs=1e-4)
    assert float(correlation(batch(one, one, [0] * 4, [1] * 4, 2))) == 0
    # The same on both sides: translations that are equal say nothing about the language.
    wave = torch.tensor([[1.0], [-1.0], [2.0], [0.5]], dtype=torch.float64)
    assert float(correlation(batch(wave, wave, [0] * 4, [1] * 4, 2))) == pytest.approx(0, abs=1e-12)
