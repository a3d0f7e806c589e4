"""How the trainings of a method ended, over its seeds: one line, and warnings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orthoglot.training.training_state import History, best_epoch, out_of_patience

# A best epoch before this one, from 0, leaves nearly the initial weights.
EARLY = 2
Ending = Mapping[str, Any]  # what `ending` states, and maybe more


def ending(history: History, patience: int) -> dict[str, int | str]:
    """How a training ended, for the record: `epochs`, `best_epoch` (from 0), and `stopped`.

    That is "patience", or "cap" if more epochs might have helped.
    """
    stopped = "patience" if out_of_patience(history, patience) else "cap"
    return {"epochs": len(history), "best_epoch": best_epoch(history), "stopped": stopped}


def summary(endings: Sequence[Ending], max_epochs: int, criterion: str) -> str:
    """One line for the log: best and last epoch of each seed, by the validation value that decided."""
    epochs = ", ".join(f"{seed['best_epoch'] + 1} of {seed['epochs']}" for seed in endings)
    return f"best epoch by {criterion}: {epochs} (at most {max_epochs})"


def warnings(endings: Sequence[Ending]) -> list[str]:
    """What makes the result doubtful, one sentence for each reason, with the number of seeds that it holds for.

    A best epoch among the first two, unless training had no more than two; and reaching the cap with patience left.
    """
    early = [seed["epochs"] for seed in endings if seed["best_epoch"] < EARLY < seed["epochs"]]
    capped = [seed["epochs"] for seed in endings if seed["stopped"] == "cap"]
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
