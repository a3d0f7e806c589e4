"""Units of a translation memory in XML, and the bytes of their elements: some change or go, all others stay."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import Any
from xml.parsers import expat

from orthoglot.errors import DataError
from orthoglot.text.xml_memory import FAULTS, parts

# How a file begins whose characters are of two bytes.
WIDE = {
    b"\xff\xfe": "utf-16-le",
    b"<\x00": "utf-16-le",
    b"\xfe\xff": "utf-16-be",
    b"\x00<": "utf-16-be",
}
Edit = tuple[int, int, str]  # first and last byte, exclusive, and what stands there instead


@dataclass
class Node:
    """A unit, or an element within one. Places are bytes of the file, from 0."""

    prefix: str  # of its name, with the colon
    name: str
    attributes: dict[str, str]
    before: int  # where the white space before it begins
    start: int
    inner: int = -1  # where its start tag ends
    close: int = -1  # where its end tag begins; `end` if it has none
    end: int = -1
    children: list[Node] = field(default_factory=list)
    _texts: StringIO = field(default_factory=StringIO)  # the parser gives each line alone

    @property
    def text(self) -> str:
        """All text within it."""
        return self._texts.getvalue()

    def add(self, text: str) -> None:
        """Add text that the parser gives, often a part of a line."""
        self._texts.write(text)

    def named(self, *names: str) -> Iterator[Node]:
        """The elements with these names, in their order, this one among them."""
        if self.name in names:
            yield self
        for child in self.children:
            yield from child.named(*names)


class _Reader:
    """Divides a file into its units and what is between them."""

    def __init__(self, path: Path, names: Collection[str]) -> None:
        self._path, self._names = path, names
        self._units: list[Node] = []  # those that have begun
        self._open: list[Node] = []  # a unit, and the elements around the place, innermost last
        self._tag: Node | None = None  # the element whose tag was the last thing
        self._blank = -1  # where white space begins that nothing has followed yet
        self._parser: Any = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.DefaultHandler = self._other

    def __iter__(self) -> Iterator[tuple[bytes, Node | None]]:
        """The bytes of the file in their order: a unit with the white space before it, and what is between units."""
        rest, begin = bytearray(), 0
        for part in chain(parts(self._path), [b""]):
            rest += part
            try:
                self._parser.Parse(part, not part)
            except FAULTS as error:
                raise DataError(f"{self._path}: not well-formed XML: {error}") from error
            place = self._next() if not part else self._parser.CurrentByteIndex
            decided = place if self._blank < 0 else self._blank
            cuts: list[tuple[int, Node | None]] = []
            for unit in self._units:
                cuts += [(unit.before, None), (unit.end, unit)] if unit.end >= 0 else [(unit.before, None)]
            self._units = [unit for unit in self._units if unit.end < 0]
            for end, done in cuts if self._units else [*cuts, (decided, None)]:
                yield bytes(rest[: end - begin]), done
                del rest[: end - begin]
                begin = end
        yield bytes(rest), None

    def _next(self) -> int:
        """The byte where a thing begins, and with which the tag before it ends."""
        place: int = self._parser.CurrentByteIndex
        if self._tag and self._tag.close < 0:
            self._tag.inner = place
        elif self._tag:
            self._tag.end = place
        self._tag = None
        return place

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        place = self._next()
        prefix, colon, name = tag.rpartition(":")
        if self._open or name in self._names:
            before = place if self._blank < 0 else self._blank
            self._tag = Node(prefix + colon, name, attributes, before, place)
            if self._open and name == self._open[0].name:
                raise DataError(f"{self._path}: a <{name}> within a <{name}>")
            (self._open[-1].children if self._open else self._units).append(self._tag)
            self._open.append(self._tag)
        self._blank = -1

    def _end(self, _: str) -> None:
        place = self._next()
        if self._open:
            self._tag = self._open.pop()
            self._tag.close = place
        self._blank = -1

    def _text(self, text: str) -> None:
        place = self._next()
        if not text.isspace():
            self._blank = -1
        elif self._blank < 0:
            self._blank = place
        for node in self._open:
            node.add(text)

    def _other(self, _: str) -> None:
        self._next()
        self._blank = -1


def units(path: Path, names: Collection[str]) -> Iterator[Node]:
    """The outermost elements with these names.

    Raises:
        DataError: the file is missing or not well-formed, or a unit is within another one of its name.
    """
    return (unit for _, unit in _Reader(path, names) if unit)


def rewritten(path: Path, names: Collection[str], edits: Callable[[Node], Iterable[Edit]]) -> Iterator[bytes]:
    """The bytes of a file with edits of its units; memory holds one of these.

    Args:
        path: The file.
        names: The names of its units, without prefixes.
        edits: Says what changes within a unit, or the white space before it.
    Raises:
        DataError: see `units`.
    """
    encoding = ""
    for content, unit in _Reader(path, names):
        encoding = encoding or WIDE.get(content[:2], "ascii" if content else "")
        begin = place = unit.before if unit else 0
        for start, end, text in sorted(edits(unit)) if unit else ():
            yield content[place - begin : start - begin]
            yield text.encode(encoding, "xmlcharrefreplace")
            place = max(place, end)  # a note may stand where a segment begins that goes
        yield content[place - begin :]
