"""Notes of the report: trainings that ended too early, and held-out pairs that chose the undivided vector."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from orthoglot.errors import DataError
from orthoglot.report.plots import History
from orthoglot.training.endings import Ending, warnings
from orthoglot.training.progress import best_epoch

# Settings at which a discriminant is the undivided vector; `centre` may subtract a mean all the same.
UNDIVIDED = {"shrinkage": 1.0, "power": 0.0}
SUBTRACTED = {
    "none": "the undivided vector",
    "overall": "the undivided vector less the mean of all languages",
}


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


def choice_notes(decomposers: Iterable[Path]) -> list[str]:
    """A sentence for each decomposer whose meaning part is the undivided vector, but for a mean.

    Args:
        decomposers: folders with a decomposer.json.
    Raises:
        DataError: not a decomposer.
    """
    notes = []
    for folder in decomposers:
        file = folder / "decomposer.json"
        try:
            stated = json.loads(file.read_text(encoding="utf-8"))
            encoder, method, details = stated["encoder"], stated["method"], stated["details"]
        except (OSError, json.JSONDecodeError, KeyError) as error:
            raise DataError(f"{file}: not a decomposer ({error})") from error
        if "power" in details and "validation" in details and _is_undivided(details):
            settings = ", ".join(f"{name} {details[name]:g}" for name in UNDIVIDED if name in details)
            notes.append(
                f"{method} on {encoder}: its meaning part is {SUBTRACTED[details['centre']]}, as held-out pairs "
                f"showed no gain by dividing it ({settings})."
            )
    return list(dict.fromkeys(notes))


def _is_undivided(details: Mapping[str, Any]) -> bool:
    return all(details[name] == value for name, value in UNDIVIDED.items() if name in details)
