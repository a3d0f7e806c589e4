"""Warnings of the report about trainings that ended too early."""

from __future__ import annotations

from collections.abc import Sequence

from orthoglot.report.plots import History
from orthoglot.training.endings import Ending, warnings
from orthoglot.training.progress import best_epoch


def training_notes(trainings: Sequence[History]) -> list[str]:
    """A sentence for each encoder, method and reason; none for trainings of encoders, which have a fixed length.

    Args:
        trainings: a method's history for each seed.
    """
    endings: dict[tuple[str, str], list[Ending]] = {}
    for one in trainings:
        if one.seed is not None and one.rows:
            ending = Ending(len(one.rows), best_epoch(one.rows), one.capped)
            endings.setdefault((one.method, one.encoder), []).append(ending)
    return [
        f"{method} on {encoder}: {warning}"
        for (method, encoder), found in endings.items()
        for warning in warnings(found)
    ]
