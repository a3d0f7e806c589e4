"""Translation memories in XML, read as a stream; no entity of a file is expanded, and no other file is opened."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ParseError, XMLPullParser
from xml.parsers import expat

from orthoglot.errors import DataError
from orthoglot.text.bitext import BLANK, LONGEST, unpacked
from orthoglot.text.program_messages import BLOCKS, has_tag, placeholder, separates

# Elements whose content is text, of TMX and XLIFF; the content of the others is a program's code.
XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
SPANS = {"g", "hi", "mrk", "pc"}
# Attributes in which XLIFF keeps the code that an empty element stands for.
CODES = ("equiv-text", "disp", "equiv")
DELETED = "x-sdl-deleted"  # what Trados has for text that a tracked change removes
# Attributes that say what a code is, and their values for breaks of lines and pages, of TMX and both versions of XLIFF.
KINDS = ("ctype", "type", "subType")
BREAKS = {"lb", "pb", "x-lb", "x-pb", "x-br", "br", "linebreak"}

PART_BYTES = 1 << 16
# Bytes of a text between two tags: an XLIFF file may hold its whole document in one.
LONGEST_TEXT = 1 << 25
MAX_DEPTH = 200
# What the parsers raise; the last two for an encoding that they lack.
FAULTS = (ParseError, expat.ExpatError, ValueError, LookupError)


def elements(path: Path, root: str, wanted: Collection[str]) -> Iterator[tuple[Element, list[Element]]]:
    """Stream the elements with the wanted names, each with those around it, outermost first; then it is emptied.

    Memory holds 64 KiB of the file, one such element, and the attributes of those around it. Names are without their
    namespace; a wanted element does not hold another one.

    Raises:
        DataError: the file is missing, not well-formed or of another root; or see `parts`.
    """
    parser: Any = XMLPullParser(["start", "end"])
    around: list[Element] = []
    inside = 0
    try:
        for part in parts(path):
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
    return next((inner for inner in element if local(inner) == name), None)


def text(element: Element | None, *, codes: bool = False) -> str:
    """The text of a segment on one line, with the placeholders that codes of a program hold.

    Line breaks, and blanks beside them, are those of the file's layout: they become one space, and so do codes that
    stand for a break.

    Args:
        element: a <seg>, <source> or <target>; None is no text.
        codes: whether other codes are in the text, each as a tag of its element's name (<bpt/>), so that
            `orthoglot.text.program_messages.plain` can compare the codes of two sides.
    """
    whole = "" if element is None else _text(element, codes)
    if "\n" not in whole:
        return whole
    return " ".join(line for part in whole.split("\n") if (line := part.strip(" \t")))


def _text(element: Element, codes: bool) -> str:
    parts = [element.text or ""]
    for inner in element:
        name = local(inner)
        if name and inner.get("mtype") != DELETED:
            parts.append(_inner(inner, name, codes))
        parts.append(inner.tail or "")
    return "".join(parts)


def _inner(element: Element, name: str, codes: bool) -> str:
    """What an element within a segment stands for."""
    if name in SPANS:
        return _text(element, codes)
    if name == "cp":
        return " " if _control(element) in BLANK else ""
    if _is_break(element):
        return "\n"
    return _placeholder(element) or (f"<{name}/>" if codes else "")


def _control(element: Element) -> int:
    """The number of the control character that a <cp> stands for; -1 of another element."""
    try:
        return int(element.get("hex", ""), 16)
    except ValueError:
        return -1


def _is_break(element: Element) -> bool:
    """Whether a code stands for a line break or a tag that separates words, by what it holds or says that it is."""
    kinds = {element.get(key, "").rpartition(":")[2].lower() for key in KINDS}
    code = _code(element)
    return local(element) in BLOCKS or not BREAKS.isdisjoint(kinds) or "\n" in code or separates(code)


def _code(element: Element) -> str:
    """What a program has in place of an element."""
    stated = next((element.get(key) for key in CODES if element.get(key)), "")
    return "".join(element.itertext()) or stated or ""


def _placeholder(element: Element) -> str:
    """The placeholder that a code of a program is; "" of a tag and other codes."""
    code = _code(element)
    return "" if has_tag(code) else placeholder(code)


def parts(path: Path | str, chunks: Iterable[bytes] | None = None) -> Iterator[bytes]:
    """The file's bytes in parts small enough for a parser to make a tree of each.

    A parser reads a tag or comment anew with each part of it, so a part is as long as what is not complete yet: the
    time is linear in the length.

    Args:
        path: The file, or the name of a text whose bytes are given.
        chunks: These bytes.
    Raises:
        DataError: the file is missing or not well-formed; its document type has declarations of its own, which could
            name entities and other files; a tag or comment has more than 16 MiB, or a text more than 32.
    """

    def refuse_declarations(name: str, system: str | None, public: str | None, internal: bool) -> None:
        if internal:
            raise DataError(
                f"{path}: has a document type with declarations of its own (<!DOCTYPE {name} [...]>), which could name "
                "entities and other files; remove them from the file"
            )

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse_declarations
    part = bytearray()
    parsed = open_bytes = text_bytes = 0
    for piece in chain(_pieces(unpacked(Path(path)) if chunks is None else chunks), [b""]):
        part += piece
        last = piece.rfind(b"<")
        text_bytes = len(piece) - last if last >= 0 else text_bytes + len(piece)
        if text_bytes > LONGEST_TEXT:
            raise DataError(f"{path}: a text is longer than {LONGEST_TEXT >> 20} MiB: no translation memory")
        if not part or (piece and len(part) < open_bytes):
            continue
        try:
            parser.Parse(bytes(part))
        except DataError:
            raise
        except FAULTS as error:
            raise DataError(f"{path}: not well-formed XML: {error}") from error
        parsed += len(part)
        open_bytes = parsed - parser.CurrentByteIndex
        if open_bytes > LONGEST:
            raise DataError(
                f"{path}: a tag or comment is longer than {LONGEST >> 20} MiB: no translation memory"
            )
        yield bytes(part)
        part.clear()


def _pieces(chunks: Iterable[bytes]) -> Iterator[bytes]:
    for chunk in chunks:
        for start in range(0, len(chunk), PART_BYTES):
            yield chunk[start : start + PART_BYTES]
