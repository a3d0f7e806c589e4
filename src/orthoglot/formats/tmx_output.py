"""Translation memories out: new ones, and those of which some units are left out and the rest keeps its bytes."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from orthoglot import __version__
from orthoglot.formats.cells import Cell, text_of
from orthoglot.formats.xml_units import Edit, Node, rewritten, units

START = """<?xml version="1.0" encoding="UTF-8"?>
<tmx version="1.4">
<header creationtool="orthoglot" creationtoolversion={version} segtype="sentence" o-tmf="orthoglot" adminlang="en" \
srclang={source} datatype="plaintext"/>
<body>"""
END = "</body>\n</tmx>"
logger = logging.getLogger(__name__)
# What XML 1.0 has no way to write; a space stands for it.
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
UNITS = ("tu",)


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
    for number, unit in enumerate(units(path, UNITS)):
        if props := {_type(prop): prop.text.strip() for prop in unit.children if prop.name == "prop"}:
            by_unit[number] = props
    return by_unit


def _type(prop: Node) -> str:
    return prop.attributes.get("type", "")


def units_kept(path: Path, kept: Mapping[int, Mapping[str, Cell]]) -> Iterator[bytes]:
    """The bytes of a TMX file without some of its units and the white space before them; the rest is not touched.

    Args:
        path: A file that `orthoglot.formats.kinds.tmx` reads.
        kept: The number of each unit that stays, from 0, and what is added to it as <prop>, in place of its <prop> of
            the same type.
    Raises:
        DataError: the file is missing or not well-formed, or a unit is within another one.
    """
    numbers = count()

    def edits(unit: Node) -> Iterator[Edit]:
        number = next(numbers)
        if number not in kept:
            yield unit.before, unit.end, ""
        elif unit.close < unit.end:
            yield unit.inner, unit.inner, _props(kept[number], unit.prefix)
            for prop in unit.children:
                if prop.name == "prop" and _type(prop) in kept[number]:
                    yield prop.before, prop.end, ""

    return rewritten(path, UNITS, edits)
