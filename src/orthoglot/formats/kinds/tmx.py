"""Translation memories in TMX (Translation Memory eXchange 1.1 to 1.4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element

from orthoglot.errors import DataError
from orthoglot.formats.base import Source, Unit
from orthoglot.formats.memory_languages import Varieties
from orthoglot.languages import of_locale
from orthoglot.text.bitext import Item, LeftOut, SentencePair
from orthoglot.text.program_messages import plain
from orthoglot.text.xml_memory import XML_LANG, child, elements, local, text

Segments = dict[str, list[Element | None]]


def read(source: Source, first: str, second: str) -> Iterator[Item]:
    """The items of `units`."""
    return (unit.item for unit in units(source, first, second))


def units(source: Source, first: str, second: str) -> Iterator[Unit]:
    """A pair for each translation unit that has both languages, see `Varieties`.

    The first text that is not blank counts of several with one tag; each further one is left out
    (`further_variant`). So are a unit without one of the languages (`other_languages`), and what
    `orthoglot.text.program_messages.plain` leaves out.

    Raises:
        DataError: the file cannot be read, or no unit has both languages.
    """
    path = Path(source.paths[0])
    varieties = Varieties((first, second), lambda: stated(path))
    paired = False
    held: set[str] = set()
    for number, (unit, _) in enumerate(elements(path, "tmx", {"tu"})):
        segments = _segments(unit)
        chosen = varieties.sides([*segments])
        if chosen is None:
            held.update(segments)
            yield Unit(number, LeftOut("other_languages"), SentencePair("", ""))
            continue
        paired = True
        sides, further = zip(*(_first(segments[tag]) for tag in chosen), strict=True)
        written = SentencePair(*map(text, sides))
        yield Unit(number, plain(*(text(side, codes=True) for side in sides)), written)
        for _ in range(sum(further) + varieties.further([*segments], chosen)):
            yield Unit(number, LeftOut("further_variant"), written)
    if not paired:
        raise DataError(
            f"{path}: no translation unit is in {first} and {second}; its languages are "
            f"{', '.join(sorted(held)) or 'none'}"
        )
    varieties.log(path)


def stated(path: Path) -> list[str]:
    """The tags of a file's units, those of its header's source language first."""
    source, tags = "", dict[str, None]()
    for element, _ in elements(path, "tmx", {"header", "tu"}):
        if local(element) == "header":
            source = element.get("srclang", "")
        else:
            tags |= dict.fromkeys(_segments(element))
    return sorted(tags, key=lambda tag: (tag != source, of_locale(tag) != of_locale(source)))


def _segments(unit: Element) -> Segments:
    """The texts of a unit, by what it calls their languages."""
    segments: Segments = {}
    for variant in unit:
        if local(variant) == "tuv":
            tag = variant.get(XML_LANG, variant.get("lang", ""))
            segments.setdefault(tag, []).append(child(variant, "seg"))
    return segments


def _first(variants: Sequence[Element | None]) -> tuple[Element | None, int]:
    """The first text that is not blank, and how many others are not."""
    if len(variants) == 1:
        return variants[0], 0
    texts = [variant for variant in variants if text(variant).strip()]
    return (texts or variants)[0], max(len(texts) - 1, 0)
