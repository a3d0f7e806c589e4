"""The contrastive term: known values, and against a plain loop."""

from __future__ import annotations

import math

import pytest
import torch
from cases import Case, Side, case_of
from torch import Tensor

from orthoglot.decomposers.base import Decomposition
from orthoglot.objectives.contrastive import TEMPERATURE, translations
from orthoglot.streams import stream


def batch(source: Tensor, target: Tensor) -> Case:
    nobody = torch.full((len(source),), -1)
    sides = [Side(Decomposition(rows, rows, rows), nobody * 0, nobody, nobody) for rows in (source, target)]
    return case_of(*sides, torch.ones(len(source), dtype=torch.bool), 2)


def test_it_is_the_cross_entropy_of_the_own_translation_both_ways() -> None:
    generator = stream(2, "contrastive")
    source, target = (torch.randn(7, 4, generator=generator, dtype=torch.float64) for _ in range(2))
    expected = 0.0
    for queries, others in ((source, target), (target, source)):
        for i, query in enumerate(queries):
            cosines = [float(query @ one / query.norm() / one.norm()) for one in others]
            weights = [math.exp(cosine / TEMPERATURE) for cosine in cosines]
            expected -= math.log(weights[i] / sum(weights)) / 7
    assert float(translations(batch(source, target))) == pytest.approx(expected)
    assert float(translations(batch(3 * source, 0.1 * target))) == pytest.approx(expected)


def test_equal_vectors_cost_two_logs_of_the_batch_and_right_angles_nearly_nothing() -> None:
    same = torch.ones(8, 3, dtype=torch.float64)
    assert float(translations(batch(same, same))) == pytest.approx(2 * math.log(8))
    apart = torch.eye(8, dtype=torch.float64)
    assert float(translations(batch(apart, apart))) == pytest.approx(0, abs=1e-7)
