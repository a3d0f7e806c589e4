"""Translation memories out: new ones, and those of which some units are left out and the rest keeps its bytes."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from orthoglot import __version__
from orthoglot.errors import DataError
from orthoglot.formats.cells import Cell, text_of
from orthoglot.text.xml_memory import FAULTS, elements, local, parts

START = """<?xml version="1.0" encoding="UTF-8"?>
<tmx version="1.4">
<header creationtool="orthoglot" creationtoolversion={version} segtype="sentence" o-tmf="orthoglot" adminlang="en" \
srclang={source} datatype="plaintext"/>
<body>"""
END = "</body>\n</tmx>"
logger = logging.getLogger(__name__)
# What XML 1.0 has no way to write; a space stands for it.
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# How a file begins whose characters are of two bytes.
WIDE = {
    b"\xff\xfe": "utf-16-le",
    b"<\x00": "utf-16-le",
    b"\xfe\xff": "utf-16-be",
    b"\x00<": "utf-16-be",
}


def tmx_lines(
    names: Sequence[str], rows: Iterable[Sequence[Cell]], languages: tuple[str, str], places: Sequence[int]
) -> Iterator[str]:
    """The lines of a new TMX 1.4 file: a unit for each row, with a <prop> for each column without sentences."""
    changed = 0
    yield START.format(version=quoteattr(__version__), source=quoteattr(languages[0]))
    for row in rows:
        props = {
            name: value
            for place, (name, value) in enumerate(zip(names, row, strict=True))
            if place not in places
        }
        changed += any(FORBIDDEN.search(text_of(value)) for value in row)
        variants = (
            f"<tuv xml:lang={quoteattr(language)}><seg>{_text(row[place])}</seg></tuv>"
            for language, place in zip(languages, places, strict=True)
        )
        yield f"<tu>{_props(props)}{''.join(variants)}</tu>"
    yield END
    if changed:
        logger.warning(
            "%d units have control characters, which XML cannot hold: a space is in their place", changed
        )


def _props(values: Mapping[str, Cell], prefix: str = "") -> str:
    return "".join(
        f"<{prefix}prop type={quoteattr(FORBIDDEN.sub(' ', name))}>{_text(value)}</{prefix}prop>"
        for name, value in values.items()
        if value not in (None, "")
    )


def _text(value: Cell) -> str:
    return escape(FORBIDDEN.sub(" ", text_of(value)), {"\r": "&#13;"})


def stored(path: Path) -> dict[int, dict[str, str]]:
    """{number of a unit: {type: text}} of the <prop> of units; those of variants do not count."""
    by_unit = {}
    for number, (unit, _) in enumerate(elements(path, "tmx", {"tu"})):
        if props := {
            inner.get("type", ""): "".join(inner.itertext()).strip()
            for inner in unit
            if local(inner) == "prop"
        }:
            by_unit[number] = props
    return by_unit


def units_kept(path: Path, kept: Mapping[int, Mapping[str, Cell]]) -> Iterator[bytes]:
    """The bytes of a TMX file without some of its units and the white space before them; the rest is not touched.

    Args:
        path: of a file that `orthoglot.formats.kinds.tmx` reads.
        kept: number of each unit that stays, from 0, and what is added to it as <prop>, in place of its <prop> of
            the same type.
    Raises:
        DataError: the file is missing or not well-formed, or a unit is within another one.
    """
    parser: Any = expat.ParserCreate()
    # What the parser meets: the byte where it begins, its kind, a tag's name or a text, and the tag's type.
    events: list[tuple[int, str, str, str]] = []

    def note(kind: str) -> Callable[..., None]:
        return lambda text="", values={}, *_: events.append(
            (parser.CurrentByteIndex, kind, text, values.get("type", ""))
        )

    parser.StartElementHandler, parser.EndElementHandler = note("start"), note("end")
    parser.CharacterDataHandler, parser.DefaultHandler = note("text"), note("other")
    rest, begin = bytearray(), 0  # the bytes that nothing is decided about, and where they begin

    def before(place: int) -> bytes:
        nonlocal begin
        size, begin = place - begin, place
        part = bytes(rest[:size])
        del rest[:size]
        return part

    unit, inside, blank, added, encoding = -1, False, False, "", ""
    skipped = ""  # the element that is left out
    ended = in_variant = False
    for part in chain(parts(path), [b""]):
        encoding = encoding or WIDE.get(part[:2], "ascii")
        rest += part
        try:
            parser.Parse(part, not part)
        except FAULTS as error:
            raise DataError(f"{path}: not well-formed XML: {error}") from error
        for place, kind, text, type_ in events:
            if skipped:
                before(place)
                skipped, ended = "" if ended else skipped, False
            if added:
                yield (tag := before(place))
                if not tag.endswith("/>".encode(encoding)):
                    yield added.encode(encoding, "xmlcharrefreplace")
                added = ""
            if kind == "text" and text.isspace() and not skipped:
                if not blank:
                    yield before(place)
                blank = True
                continue
            prefix, _, name = text.rpartition(":")
            begins, ends = (name == "tu" and kind == event for event in ("start", "end"))
            if begins and inside:
                raise DataError(f"{path}: a <tu> within a <tu>")
            unit, inside = unit + begins, inside != (begins or ends)
            in_variant = inside and not begins and (in_variant or (name, kind) == ("tuv", "start"))
            replaced = name == "prop" and kind == "start" and inside and not in_variant
            if (begins and unit not in kept) or (replaced and not skipped and type_ in kept[unit]):
                if blank:
                    before(place)
                yield before(place)
                skipped = name
            elif begins:
                added = _props(kept[unit], prefix and f"{prefix}:")
            ended = kind == "end" and name == skipped
            if not skipped:
                yield before(place)
            blank = False
        events.clear()
    yield bytes(rest)
