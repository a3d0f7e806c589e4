"""Notes of the report about methods whose held-out pairs chose the undivided vector."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from orthoglot.errors import DataError

# Settings at which a discriminant is the undivided vector; `centre` may subtract a mean all the same.
UNDIVIDED = {"shrinkage": 1.0, "power": 0.0, "turn": 0.0}
SUBTRACTED = {
    "none": "the undivided vector",
    "overall": "the undivided vector less the mean of all languages",
    "language": "the undivided vector less the mean of its language",
}


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
