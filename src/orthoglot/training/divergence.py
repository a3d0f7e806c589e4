"""How far a training is, and whether it goes anywhere."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from orthoglot.errors import DataError

# A training has diverged where a window's mean total is above the first step's by more than half and one nat (a
# good start's loss is near 0, and noise is not divergence), or has lost nine tenths of a gain of more than one nat.
WORSE, MARGIN, LOST = 1.5, 1.0, 0.9
History = list[dict[str, float]]


@dataclass
class Progress:
    """How far a training is; with the model and the optimisers, all that going on from here needs.

    Attributes:
        history: finished epochs.
        first: total of the first step.
        lowest: least mean total of a window.
        done: steps in all.
        step: of these, steps of the epoch under way.
        sums: of each term over these steps.
        window: of each term over the steps since the last point of the curve.
        curve: points so far: steps done and means of the terms.
    """

    history: History = field(default_factory=list)
    first: float | None = None
    lowest: float | None = None
    done: int = 0
    step: int = 0
    sums: dict[str, float] = field(default_factory=dict)
    window: dict[str, float] = field(default_factory=dict)
    curve: list[dict[str, float]] = field(default_factory=list)


def refuse_divergence(where: str, means: Mapping[str, float], window: int, progress: Progress) -> None:
    """Compare the mean terms of a window of steps with the first step and the best window, and remember the better.

    Raises:
        DataError: the training has diverged; with every term of the window.
    """
    total, first = means["total"], progress.first
    assert first is not None
    least = min(first, total, math.inf if progress.lowest is None else progress.lowest)
    collapsed = first - least > MARGIN and total > least + LOST * (first - least)
    if collapsed or total > first + MARGIN + (WORSE - 1) * abs(first):
        raise DataError(
            f"{where}: diverged: {told(means)}; the first step's total was {first:g}, the least of {window} steps "
            f"{least:g}; try a lower learning rate or a longer warm-up"
        )
    progress.lowest = least


def told(values: Mapping[str, float]) -> str:
    """Terms in words."""
    return ", ".join(f"{name}={value:g}" for name, value in values.items())
