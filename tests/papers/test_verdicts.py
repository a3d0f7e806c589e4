from __future__ import annotations

import math

import pytest

from orthoglot.papers.verdicts import FAILS, HOLDS, UNDECIDED, Region


@pytest.mark.parametrize(
    ("low", "high", "seeds", "verdict"),
    [
        (2.1, 3.0, [2.5, 2.6], HOLDS),
        (2.1, math.inf, [2.5, math.inf], HOLDS),
        (2.1, 3.0, [2.5, 1.9], UNDECIDED),  # a seed disagrees
        (1.9, 3.0, [2.5, 2.6], UNDECIDED),  # the interval spans the edge
        (1.0, 1.9, [1.5, 1.6], FAILS),
        (1.0, 1.9, [1.5, 2.6], UNDECIDED),
        (None, 3.0, [2.5], UNDECIDED),
    ],
)
def test_a_case_is_decided_by_its_whole_interval_and_every_seed(
    low: float | None, high: float, seeds: list[float], verdict: str
) -> None:
    assert Region(least=2.0).verdict(low, high, seeds) == verdict


def test_a_two_sided_region_and_an_effect_of_exactly_nothing() -> None:
    assert Region(-1.3, 1.3).verdict(-0.5, 1.0, [0.1]) == HOLDS
    assert Region(-1.3, 1.3).verdict(1.4, 2.0, [1.7]) == FAILS
    assert Region(-1.3, 1.3).verdict(1.0, 2.0, [1.7]) == UNDECIDED
    assert Region(least=0.0).verdict(0.0, 0.0, [0.0]) == FAILS
