"""XLIFF out: some units are left out, notes are added, and the rest keeps its bytes.

A note says `score: 0.812345`. Version 1.2 has it in the unit, <note from="orthoglot">; version 2 has it among the notes
of the <unit>, <note category="orthoglot">, where it names the segment if there are several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import escape

from orthoglot.errors import DataError
from orthoglot.formats.cells import Cell, cells_of, notes_of
from orthoglot.formats.tmx_output import FORBIDDEN, WIDE
from orthoglot.text.xml_memory import FAULTS, parts

# Elements with a pair; those after which a note of version 1.2 may follow; those before which notes of version 2 stand.
PAIRED = ("trans-unit", "segment")
SIDES = ("source", "seg-source", "target")
CONTENT = ("originalData", "segment", "ignorable")
AUTHOR = "orthoglot"
Edit = tuple[int, int, str]  # first and last byte, exclusive, and what stands there instead


@dataclass
class Note:
    """A note of ours: the bytes where it begins and ends, and its text."""

    start: int
    end: int = -1
    text: str = ""


@dataclass
class Holder:
    """An element that has notes: a <trans-unit>, or a <unit> of version 2."""

    start: int  # byte where it begins, the white space before it among it
    prefix: str  # of its name, with the colon
    end: int = -1  # byte where it ends
    numbers: list[int] = field(default_factory=list)  # of the pairs in it
    # the bytes where each of its segments begins, likewise, and ends; none of version 1.2
    segments: list[list[int]] = field(default_factory=list)
    # bytes that make way for a note, usually none; empty if there is nowhere to put one
    place: list[int] = field(default_factory=list)
    bare: bool = True  # whether that place is outside of <notes>, in version 2
    notes: list[Note] = field(default_factory=list)  # ours

    def cells(self) -> dict[int, dict[str, str]]:
        """{number of a pair: {name: value}} of the notes."""
        known = cells_of(note.text for note in self.notes)
        return {
            number: known.get("", {}) | known.get(f"segment {place}", {})
            for place, number in enumerate(self.numbers, 1)
        }


def units_kept(path: Path, kept: Mapping[int, Mapping[str, Cell]]) -> Iterator[bytes]:
    """The bytes of an XLIFF file without some of its units and the white space before them; the rest is not touched.

    A <unit> of version 2 goes with the last of its segments.

    Args:
        path: of a file that `orthoglot.formats.kinds.xliff` reads.
        kept: number of each pair that stays, from 0, and what is noted about it, in place of notes of the same name.
    Raises:
        DataError: the file is missing or not well-formed.
    """
    layout = _Layout(path)
    edits = sorted(chain.from_iterable(_edits(holder, kept) for holder in layout.holders))
    place = 0
    rest: Iterator[bytes] = parts(path)
    held = b""
    for start, end, text in edits:
        while place + len(held) < start:
            yield held
            place, held = place + len(held), next(rest)
        yield held[: start - place]
        held, place = held[start - place :], start
        yield text.encode(layout.encoding, "xmlcharrefreplace")
        while place + len(held) < end:
            place, held = place + len(held), next(rest)
        held, place = held[end - place :], end
    yield held
    yield from rest


def stored(path: Path) -> dict[int, dict[str, str]]:
    """{number of a pair: {name: value}} of our notes in a file."""
    notes: dict[int, dict[str, str]] = {}
    for holder in _Layout(path).holders:
        notes |= {number: cells for number, cells in holder.cells().items() if cells}
    return notes


def _edits(holder: Holder, kept: Mapping[int, Mapping[str, Cell]]) -> list[Edit]:
    """What changes of an element with notes."""
    stays = [number for number in holder.numbers if number in kept]
    if not stays:
        return [(holder.start, holder.end, "")] if holder.numbers else []
    edits: list[Edit] = []
    for number, (start, end) in zip(holder.numbers, holder.segments, strict=bool(holder.segments)):
        if number not in kept:
            edits.append((start, end, ""))
    if not holder.place or (not edits and not any(kept[number] for number in stays)):
        return edits
    known = holder.cells()
    cells: list[dict[str, Cell]] = [{**known[number], **kept[number]} for number in stays]
    several = len(stays) > 1
    notes = [
        note
        for place, named in enumerate(cells, 1)
        for note in notes_of(named, f"segment {place}" if several else "")
    ]
    edits += [(note.start, note.end, "") for note in holder.notes]
    if notes:
        start, end = holder.place
        edits.append((start, end, _xml(notes, holder)))
    return edits


def _xml(notes: Sequence[str], holder: Holder) -> str:
    """Notes in XML, within <notes> if there is none in version 2."""
    prefix = holder.prefix
    author = "category" if holder.segments else "from"
    text = "".join(
        f'<{prefix}note {author}="{AUTHOR}">{escape(FORBIDDEN.sub(" ", note))}</{prefix}note>'
        for note in notes
    )
    return f"<{prefix}notes>{text}</{prefix}notes>" if holder.segments and holder.bare else text


def _place_in_notes(holder: Holder, place: int, end: int) -> None:
    """Let notes stand before the end tag of <notes>, which is at `place`, or in place of <notes/>, which has none."""
    if end > place:
        holder.place, holder.bare = [place, place], False
    else:
        holder.place.append(end)


class _Layout:
    """Where the units and notes of a file are.

    Attributes:
        holders: the elements with notes, in their order.
        encoding: for text that is put between.
    """

    def __init__(self, path: Path) -> None:
        self.holders: list[Holder] = []
        self.encoding = ""
        self._around: list[str] = []  # names of the elements around, without their prefix
        self._holder: Holder | None = None
        self._depth = 0  # of the holder
        self._note: Note | None = None
        self._number = 0
        self._blank = -1  # where white space begins that nothing has followed yet
        self._ends: list[Callable[[int], None]] = []  # what waits for the byte where an element ends
        self._parser: Any = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.DefaultHandler = self._other
        size = 0
        try:
            for part in parts(path):
                self.encoding = self.encoding or WIDE.get(part[:2], "ascii")
                size += len(part)
                self._parser.Parse(part)
            self._parser.Parse(b"", True)
        except FAULTS as error:
            raise DataError(f"{path}: not well-formed XML: {error}") from error
        self._settle(size)

    def _settle(self, place: int) -> None:
        for end in self._ends:
            end(place)
        self._ends.clear()

    def _event(self) -> int:
        place: int = self._parser.CurrentByteIndex
        self._settle(place)
        return place

    def _before(self, place: int) -> int:
        """Where an element begins, the white space before it among it."""
        return self._blank if self._blank >= 0 else place

    def _start(self, tag: str, values: dict[str, str]) -> None:
        place = self._event()
        prefix, colon, name = tag.rpartition(":")
        holder = self._holder
        if holder is None and name in ("unit", *PAIRED):
            holder = self._holder = Holder(self._before(place), prefix + colon)
            self._depth = len(self._around)
            self.holders.append(holder)
        if holder is not None and name in PAIRED:
            holder.numbers.append(self._number)
            self._number += 1
            if name == "segment":
                holder.segments.append([self._before(place), -1])
        if holder is not None and self._around[self._depth :] == ["unit"]:
            if name == "notes":
                holder.place = [place]
            elif name in CONTENT and not holder.place:
                holder.place = [place, place]
        if name == "note" and self._of_ours(values):
            self._note = Note(place)
        self._around.append(name)
        self._blank = -1

    def _of_ours(self, values: dict[str, str]) -> bool:
        inside = self._around[self._depth :] if self._holder else []
        return (inside == ["trans-unit"] and values.get("from") == AUTHOR) or (
            inside == ["unit", "notes"] and values.get("category") == AUTHOR
        )

    def _end(self, tag: str) -> None:
        place = self._event()
        name = self._around.pop()
        holder, inside = self._holder, len(self._around) - self._depth
        if holder is not None:
            if name == "segment" and holder.segments:
                self._ends.append(partial(holder.segments[-1].__setitem__, 1))
            if inside == 1 and self._around[-1] == "trans-unit" and name in SIDES:
                self._ends.append(lambda end: setattr(holder, "place", [end, end]))
            if inside == 1 and self._around[-1] == "unit" and name == "notes":
                self._ends.append(lambda end: _place_in_notes(holder, place, end))
            if inside == 0:
                self._ends.append(lambda end: setattr(holder, "end", end))
                self._holder = None
            if self._note is not None and name == "note":
                note = self._note
                holder.notes.append(note)
                self._ends.append(lambda end: setattr(note, "end", end))
                self._note = None
        self._blank = -1

    def _text(self, text: str) -> None:
        place = self._event()
        if self._note is not None:
            self._note.text += text
        if not text.isspace():
            self._blank = -1
        elif self._blank < 0:
            self._blank = place

    def _other(self, _: str) -> None:
        self._event()
        self._blank = -1
