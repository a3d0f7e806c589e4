"""Warnings of the report about trainings that ended too early."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orthoglot.report.plots import History
from orthoglot.training.endings import Ending, warnings
from orthoglot.training.progress import best_epoch


def training_notes(trainings: Sequence[History]) -> Mapping[tuple[str, str], list[str]]:
    """{(encoder, method): why its training may have ended too early}, in sentences; only of those with a reason.

    None is of the training of an encoder, which has a fixed length.

    Args:
        trainings: a method's history for each seed.
    """
    endings: dict[tuple[str, str], list[Ending]] = {}
    for one in trainings:
        if one.seed is not None and one.rows:
            ending = Ending(len(one.rows), best_epoch(one.rows), one.capped)
            endings.setdefault((one.encoder, one.method), []).append(ending)
    found = {name: warnings(some) for name, some in endings.items()}
    return {name: reasons for name, reasons in found.items() if reasons}
