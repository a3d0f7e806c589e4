"""Translation memories in XML, read as a stream; a document type, and so every entity of its own, is refused."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ParseError, XMLPullParser
from xml.parsers import expat

from orthoglot.errors import DataError
from orthoglot.text.bitext import unpacked
from orthoglot.text.messages import TAG, placeholder

# Elements whose content is text, of TMX and XLIFF; the content of the others is a program's code.
XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
SPANS = {"g", "hi", "mrk", "pc"}
# Attributes in which XLIFF keeps the code that an empty element stands for.
CODES = ("equiv-text", "disp", "equiv")

PART_BYTES = 1 << 16
MAX_DEPTH = 200
# What the parsers raise; the last two for an encoding that they lack.
FAULTS = (ParseError, expat.ExpatError, ValueError, LookupError)


def elements(path: Path, root: str, wanted: Collection[str]) -> Iterator[tuple[Element, list[Element]]]:
    """Stream the elements with the wanted names, each with those around it, outermost first; then it is emptied.

    Memory holds 64 KiB of the file, one such element, and the attributes of those around it. Names are without their
    namespace; a wanted element does not hold another one.

    Raises:
        DataError: the file is missing, not well-formed, of another root, or has a document type.
    """
    parser: Any = XMLPullParser(["start", "end"])
    prolog = _Prolog(path)
    around: list[Element] = []
    inside = 0
    try:
        for part in parts(path):
            prolog.check(part)
            parser.feed(part)
            for event, element in parser.read_events():
                name = local(element)
                if event == "start":
                    if not around and name != root:
                        raise DataError(f"{path}: its root is <{name}>, not <{root}>")
                    around.append(element)
                    if len(around) > MAX_DEPTH:
                        raise DataError(f"{path}: <{name}> is nested more than {MAX_DEPTH} deep")
                    inside += name in wanted
                    continue
                around.pop()
                if name in wanted:
                    inside -= 1
                    yield element, around
                if not inside:
                    element.clear()
                    if around:
                        around[-1].remove(element)
        parser.close()
    except DataError:
        raise
    except FAULTS as error:
        raise DataError(f"{path}: not well-formed XML: {error}") from error


def local(element: Element) -> str:
    """An element's name without its namespace; "" of a comment."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def child(element: Element, name: str) -> Element | None:
    """The first child with a name."""
    return next((one for one in element if local(one) == name), None)


def text(element: Element | None) -> str:
    """The text of a segment: codes of a program as the placeholder that they hold, or else as a tag."""
    if element is None:
        return ""
    parts = [element.text or ""]
    for one in element:
        name = local(one)
        if name in SPANS:
            parts.append(text(one))
        elif name and name != "cp":  # <cp> stands for a control character
            parts.append(_code(name, one))
        parts.append(one.tail or "")
    return "".join(parts)


def _code(name: str, element: Element) -> str:
    stated = next((element.get(key) for key in CODES if element.get(key)), "")
    code = "".join(element.itertext()) or stated or ""
    return ("" if TAG.search(code) else placeholder(code)) or f"<{name}>"


def parts(path: Path) -> Iterator[bytes]:
    """The file's bytes in parts small enough for a parser to make a tree of each."""
    for chunk in unpacked(path):
        for start in range(0, len(chunk), PART_BYTES):
            yield chunk[start : start + PART_BYTES]


class _Prolog:
    """Refuses a document type; it can only come before the root element."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.over = False
        self.parser = expat.ParserCreate()
        self.parser.StartDoctypeDeclHandler = self._refuse
        self.parser.StartElementHandler = self._end

    def check(self, part: bytes) -> None:
        """Look at the next bytes of the file."""
        if not self.over:
            self.parser.Parse(part)

    def _end(self, *_: object) -> None:
        self.over = True

    def _refuse(self, *_: object) -> None:
        raise DataError(
            f"{self.path}: has a document type (<!DOCTYPE ...>), which could name entities and other files; "
            "remove it from the file"
        )
