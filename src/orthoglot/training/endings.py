"""How the trainings of a method ended, over its seeds: one line, and warnings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

# A best epoch before this one, from 0, leaves nearly the initial weights.
EARLY = 2


class Ending(NamedTuple):
    """How one training ended."""

    epochs: int  # how many were trained
    best: int  # the best of them, from 0
    capped: bool  # whether `max_epochs` ended it before its patience did


def summary(endings: Sequence[Ending], max_epochs: int, criterion: str) -> str:
    """One line for the log: best and last epoch of each seed, by the validation value that decided."""
    epochs = ", ".join(f"{ending.best + 1} of {ending.epochs}" for ending in endings)
    return f"best epoch by {criterion}: {epochs} (at most {max_epochs})"


def warnings(endings: Sequence[Ending]) -> list[str]:
    """What makes the result doubtful, one sentence for each reason, with the number of seeds that it holds for.

    A best epoch among the first two, unless training had no more than two; and reaching the cap with patience left.
    """
    early = [ending.epochs for ending in endings if ending.best < EARLY < ending.epochs]
    capped = [ending.epochs for ending in endings if ending.capped]
    seeds = f"{len(endings)} seed{'s' * (len(endings) > 1)}"
    doubts = []
    if early:
        doubts.append(f"best epoch among the first two of {_range(early)}: {len(early)} of {seeds}")
    if capped:
        doubts.append(f"stopped by max_epochs {_range(capped)} with patience left: {len(capped)} of {seeds}")
    return doubts


def _range(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"
