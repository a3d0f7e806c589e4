"""XLIFF out: some units are left out, notes are added, and the rest keeps its bytes.

A note says `score: 0.812345`. Version 1.2 has it in the unit, <note from="orthoglot">; version 2 has it among the notes
of the <unit>, <note category="orthoglot">, where it names the segment if there are several.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from xml.sax.saxutils import escape

from orthoglot.formats.cells import Cell, cells_of, notes_of
from orthoglot.formats.tmx_output import FORBIDDEN
from orthoglot.formats.xml_units import Edit, Node, rewritten, units

# Elements with a pair, and a unit of version 2, which holds some.
PAIRED = ("trans-unit", "segment")
UNITS = ("unit", *PAIRED)
# Elements after which a note of version 1.2 may follow; those before which notes of version 2 stand.
SIDES = ("source", "seg-source", "target")
CONTENT = ("originalData", "segment", "ignorable")
AUTHOR = "orthoglot"


def units_kept(path: Path, kept: Mapping[int, Mapping[str, Cell]]) -> Iterator[bytes]:
    """The bytes of an XLIFF file without some of its units and the white space before them; the rest is not touched.

    A <unit> of version 2 goes with the last of its segments.

    Args:
        path: A file that `orthoglot.formats.kinds.xliff` reads.
        kept: The number of each pair that stays, from 0, and what is noted about it, in place of notes of the same
            name.
    Raises:
        DataError: the file is missing or not well-formed.
    """
    numbers = count()

    def edits(unit: Node) -> list[Edit]:
        pairs = {next(numbers): pair for pair in unit.named(*PAIRED)}
        stays = [number for number in pairs if number in kept]
        if not stays:
            return [(unit.before, unit.end, "")] if pairs else []
        gone = [(pair.before, pair.end, "") for number, pair in pairs.items() if number not in kept]
        if not gone and not any(kept[number] for number in stays):
            return []
        known = dict(zip(pairs, _cells(unit, len(pairs)), strict=True))
        notes = []
        for segment, number in enumerate(stays, 1):
            about = f"segment {segment}" if len(stays) > 1 else ""
            notes += notes_of({**known[number], **kept[number]}, about)
        place = _place(unit, notes)
        if not place:
            return gone
        gone += [(note.start, note.end, "") for note in _notes(unit)]
        return [*gone, place] if notes else gone

    return rewritten(path, UNITS, edits)


def stored(path: Path) -> dict[int, dict[str, str]]:
    """{number of a pair: {name: value}} of our notes in a file."""
    all_cells = (cells for unit in units(path, UNITS) for cells in _cells(unit, len([*unit.named(*PAIRED)])))
    return {number: cells for number, cells in enumerate(all_cells) if cells}


def _notes(unit: Node) -> list[Node]:
    """Our notes of a unit."""
    if unit.name == "trans-unit":
        return [
            note for note in unit.children if note.name == "note" and note.attributes.get("from") == AUTHOR
        ]
    return [
        note
        for notes in unit.children
        if notes.name == "notes"
        for note in notes.children
        if note.name == "note" and note.attributes.get("category") == AUTHOR
    ]


def _cells(unit: Node, pairs: int) -> list[dict[str, str]]:
    """{name: value} of our notes about each pair of a unit."""
    known = cells_of(note.text for note in _notes(unit))
    return [known.get("", {}) | known.get(f"segment {place}", {}) for place in range(1, pairs + 1)]


def _place(unit: Node, notes: Sequence[str]) -> Edit | None:
    """Puts notes into a unit; None if there is nowhere to put one."""
    prefix = unit.prefix
    author = "from" if unit.name == "trans-unit" else "category"
    text = "".join(
        f'<{prefix}note {author}="{AUTHOR}">{escape(FORBIDDEN.sub(" ", note))}</{prefix}note>'
        for note in notes
    )
    if unit.name == "trans-unit":
        ends = [side.end for side in unit.children if side.name in SIDES]
        return (ends[-1], ends[-1], text) if ends else None
    if unit.name != "unit":
        return None
    old = next((inner for inner in unit.children if inner.name == "notes"), None)
    if old and old.close < old.end:
        return old.close, old.close, text
    text = f"<{prefix}notes>{text}</{prefix}notes>"
    if old:
        return old.start, old.end, text
    starts = [inner.start for inner in unit.children if inner.name in CONTENT]
    return (starts[0], starts[0], text) if starts else None
