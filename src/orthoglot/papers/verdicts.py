"""Whether a measured quantity lies where a claim puts it: one test of a claim, its interval, seeds and verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from orthoglot.statistics.lookup import Number, paired

HOLDS = "holds"
FAILS = "does not hold"
UNDECIDED = "undecided"
UNTESTABLE = "not testable here"


class Case(NamedTuple):
    """One test of a claim.

    Attributes:
        encoder: here.
        data: task and data set here.
        quantity: what was computed, in words.
        value: of the quantity, None where it could not be computed.
        low: lower end of its interval.
        high: upper end.
        seeds: the quantity of each seed.
        verdict: of this case.
        how: how it was decided, or why it could not be.
    """

    encoder: str
    data: str
    quantity: str
    value: float | None
    low: float | None
    high: float | None
    seeds: tuple[float, ...]
    verdict: str
    how: str


class Region(NamedTuple):
    """Where a quantity must lie for its claim to hold."""

    least: float = -math.inf
    most: float = math.inf

    def verdict(self, low: float | None, high: float | None, seeds: Sequence[float]) -> str:
        """Of an interval and of the values by seed; an end on the region's edge is outside."""
        if low is None or high is None:
            return UNDECIDED
        if all(map(self._has, (low, high, *seeds))):
            return HOLDS
        beside = high <= self.least or low >= self.most
        return FAILS if beside and not any(map(self._has, seeds)) else UNDECIDED

    def _has(self, value: float) -> bool:
        return self.least < value and (value < self.most or self.most == math.inf)


POSITIVE = Region(least=0.0)
NEGATIVE = Region(most=0.0)
PAIRED = "paired difference over the same sentences"
APART = "ends of two separate intervals, wider than a paired one"


def paired_case(found: Number, encoder: str, data: str, quantity: str, region: Region) -> Case:
    """The case of a paired difference."""
    seeds = tuple(found.by_seed.values())
    verdict = region.verdict(found.low, found.high, seeds)
    return Case(encoder, data, quantity, found.value, found.low, found.high, seeds, verdict, PAIRED)


def apart_case(mine: Number, other: Number, encoder: str, data: str, quantity: str, region: Region) -> Case:
    """The case of a difference of two numbers that were not paired."""
    low = high = None
    if mine.low is not None and other.high is not None:
        low = mine.low - other.high
    if mine.high is not None and other.low is not None:
        high = mine.high - other.low
    seeds = tuple(one - two for one, two in paired(mine, other).values())
    how = f"{mine.value:.2f} and {other.value:.2f}; {APART}"
    verdict = region.verdict(low, high, seeds)
    return Case(encoder, data, quantity, mine.value - other.value, low, high, seeds, verdict, how)
