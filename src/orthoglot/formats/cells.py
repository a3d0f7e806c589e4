"""Cells beside a pair as text, and as notes of a file of messages: "score: 0.812345"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

Cell = str | int | float | None
# A note of orthoglot. A message of several texts, as of a plural, names the one that is meant.
NOTE = re.compile(r"(?P<name>\w+)(?: of (?P<place>[^:]+))?: ?(?P<value>.*)", re.DOTALL)


def text_of(value: Cell) -> str:
    """A cell in text: a number with six digits after the point, nothing of None."""
    return "" if value is None else f"{value:.6f}" if isinstance(value, float) else str(value)


def notes_of(cells: Mapping[str, Cell], place: str = "") -> list[str]:
    """A note for each cell that is not empty, of cells by name; a line break becomes a space.

    `place` says which text of the message is meant; it is "" if there is only one.
    """
    about = f" of {place}" if place else ""
    return [
        f"{name}{about}: {' '.join(text_of(value).splitlines())}"
        for name, value in cells.items()
        if value not in (None, "")
    ]


def cells_of(notes: Iterable[str]) -> dict[str, dict[str, str]]:
    """What `notes_of` made notes of: {place: {name: value}}; a note of another form is left out."""
    cells: dict[str, dict[str, str]] = {}
    for note in notes:
        if parts := NOTE.fullmatch(note.strip()):
            cells.setdefault(parts["place"] or "", {})[parts["name"]] = parts["value"].strip()
    return cells
