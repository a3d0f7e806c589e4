"""The state of a training: its history, its best epoch, and whether it diverges."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from orthoglot.errors import DataError

# A training has diverged if a window's mean total exceeds the first step's by more than half of it and one nat (a
# good start's loss is near 0, and noise is not divergence), or has lost nine tenths of a gain of more than one nat.
WORSE, MARGIN, LOST = 1.5, 1.0, 0.9
History = list[dict[str, float]]


class Criterion(NamedTuple):
    """The validation value that decides which epoch is best."""

    name: str  # a key of what `validate` of `orthoglot.training.loop.fit` returns
    highest: bool = False  # whether the highest value is best, not the lowest

    def improves(self, valid: Mapping[str, float], history: History) -> bool:
        """Whether the values of an epoch, `valid.<name>`, are better than those of every epoch before it."""
        key, sign = f"valid.{self.name}", -1 if self.highest else 1
        return sign * valid[key] < min((sign * row[key] for row in history), default=math.inf)


LOWEST_TOTAL = Criterion("total")


@dataclass
class Progress:
    """All that continuing a training needs beside the weights and the optimisers."""

    history: History = field(default_factory=list)  # finished epochs
    first: float | None = None  # total of the first step
    lowest: float | None = None  # lowest mean total of a window
    done: int = 0  # steps in all
    step: int = 0  # steps of the current epoch
    sums: dict[str, float] = field(default_factory=dict)  # of each term over these steps
    # sums of each term over the steps since the last point of the curve
    window: dict[str, float] = field(default_factory=dict)
    # points so far: steps done and means of the terms
    curve: list[dict[str, float]] = field(default_factory=list)
    timed: int = 0  # steps that `seconds` are of; see `orthoglot.training.speed`
    seconds: float = 0.0  # that they took
    hardware: str = ""  # on which

    def add(self, values: Mapping[str, float]) -> None:
        """Add terms of one step to the sums."""
        for sums in (self.sums, self.window):
            for name, value in values.items():
                sums[name] = sums.get(name, 0.0) + value
        if self.first is None and "total" in values:
            self.first = values["total"]

    def end_epoch(self, valid: Mapping[str, float], best: bool) -> None:
        """Add the epoch to the history, with the means of the terms over its steps, and begin the next one."""
        means = {f"train.{name}": value / self.step for name, value in self.sums.items()}
        self.history.append({"epoch": float(len(self.history)), **means, **valid, "best": float(best)})
        self.step, self.sums = 0, {}


def refuse_divergence(where: str, means: Mapping[str, float], window: int, progress: Progress) -> None:
    """Compare the mean terms of a window of steps with the first step and the best window; keep the lower total.

    A DataError that lists every term of the window if the training has diverged.
    """
    total, first = means["total"], progress.first
    assert first is not None
    lowest = min(first, total, math.inf if progress.lowest is None else progress.lowest)
    collapsed = first - lowest > MARGIN and total > lowest + LOST * (first - lowest)
    if collapsed or total > first + MARGIN + (WORSE - 1) * abs(first):
        raise DataError(
            f"{where}: diverged: {listed(means)}; the first step's total was {first:g}, the lowest of {window} "
            f"steps {lowest:g}; try a lower learning rate or a longer warm-up"
        )
    progress.lowest = lowest


def refuse_infinite(where: str, values: Mapping[str, float]) -> None:
    """Raise a DataError that lists every term if one is not finite."""
    if not all(math.isfinite(value) for value in values.values()):
        raise DataError(f"{where}: a value is not finite ({listed(values)}); try a lower learning rate")


def listed(values: Mapping[str, float]) -> str:
    """Terms as "name=value, ..."."""
    return ", ".join(f"{name}={value:g}" for name, value in values.items())


def best_epoch(history: History) -> int:
    """The best epoch, from 0; -1 before the first."""
    return int(max((row["epoch"] for row in history if row["best"]), default=-1))


def out_of_patience(history: History, patience: int | None) -> bool:
    """Whether none of the last `patience` epochs was better than all before it; never if patience is None."""
    return patience is not None and len(history) - 1 - best_epoch(history) >= patience


def write_history(history: History, output: Path) -> None:
    """Write history.jsonl into a folder: one line of JSON for each epoch."""
    lines = [json.dumps(row, sort_keys=True) + "\n" for row in history]
    (output / "history.jsonl").write_text("".join(lines), encoding="utf-8")
