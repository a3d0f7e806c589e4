"""Message catalogues out: some messages are left out, notes are added, and the rest keeps its bytes.

A note is a comment of the translator, which gettext's own programs keep: "# orthoglot score: 0.812345". A plural's note
names the form: "# orthoglot score of msgstr[1]: 0.812345".
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from orthoglot.formats.cells import Cell, cells_of, notes_of
from orthoglot.formats.kinds.po import opened

START = b"# orthoglot "


class Message(NamedTuple):
    """A message of a catalogue."""

    first: int  # number of the first of its texts among those of the file, from 0
    places: list[str]  # of its texts: [""], or of a plural ["msgstr[0]", "msgstr[1]"]
    lines: list[bytes]  # of the file, its comments and the blank lines after it among them


def units_kept(
    path: Path, kept: Mapping[int, Mapping[str, Cell]], needed: Collection[int] = ()
) -> Iterator[bytes]:
    """The bytes of a .po file without some of its messages; the rest is not touched.

    A message cannot lose one form of its plural: all of it stays or goes.

    Args:
        path: A file that `orthoglot.formats.kinds.po` reads.
        kept: The number of each text that stays, from 0, and what is noted about it, in place of notes of the same
            name.
        needed: The numbers of texts without which their message does not stay.
    Raises:
        DataError: the file is missing or broken.
    """
    header, messages, encoding = _messages(path)
    wanted = {*needed}
    yield b"".join(header)
    for message in messages:
        numbers = range(message.first, message.first + len(message.places))
        missing = wanted.intersection(numbers) - kept.keys()
        if not missing and any(number in kept for number in numbers):
            cells = {
                place: kept[number]
                for number, place in zip(numbers, message.places, strict=True)
                if kept.get(number)
            }
            yield b"".join(_noted(message.lines, cells, encoding))


def stored(path: Path) -> dict[int, dict[str, str]]:
    """{number of a text: {name: value}} of the notes in a .po file."""
    notes = {}
    _, messages, encoding = _messages(path)
    for message in messages:
        cells = cells_of(_note(line, encoding) for line in message.lines if line.startswith(START))
        for number, place in enumerate(message.places, message.first):
            # A note by hand need not say which form is meant.
            if about := cells.get("", {}) | cells.get(place, {}):
                notes[number] = about
    return notes


def _messages(path: Path) -> tuple[list[bytes], list[Message], str]:
    """The lines before the first message, all messages, obsolete ones among them, and the encoding."""
    catalogue = opened(path)
    lines = path.read_bytes().splitlines(keepends=True)
    starts = [entry.linenum - 1 for entry in catalogue]
    messages, number = [], 0
    for entry, start, end in zip(catalogue, starts, [*starts[1:], len(lines)], strict=True):
        places = _places(entry)
        messages.append(Message(number, places, lines[start:end]))
        number += len(places)
    return lines[: starts[0] if starts else len(lines)], messages, catalogue.encoding


def _places(entry: Any) -> list[str]:
    """The texts of an entry, as `po.entries` numbers them."""
    if not entry.msgid_plural or not entry.msgstr_plural:
        return [""]
    return [f"msgstr[{form}]" for form in sorted(entry.msgstr_plural)]


def _noted(lines: list[bytes], cells: Mapping[str, Mapping[str, Cell]], encoding: str) -> list[bytes]:
    """The lines of a message with further notes, after other comments; what the encoding lacks is escaped."""
    if not cells:
        return lines
    replaced = {(place, name) for place, named in cells.items() for name in named}

    def stays(line: bytes) -> bool:
        if not line.startswith(START):
            return True
        about = cells_of([_note(line, encoding)])
        return not {(place, name) for place, named in about.items() for name in named} & replaced

    rest = [line for line in lines if stays(line)]
    end = b"\r\n" if lines[0].endswith(b"\r\n") else b"\n"
    notes = [note for place, named in cells.items() for note in notes_of(named, place)]
    at = next((n for n, line in enumerate(rest) if line.strip() != b"#" and not line.startswith(b"# ")), 0)
    return [
        *rest[:at],
        *(START + note.encode(encoding, "backslashreplace") + end for note in notes),
        *rest[at:],
    ]


def _note(line: bytes, encoding: str) -> str:
    return line.removeprefix(START).decode(encoding, "replace")
