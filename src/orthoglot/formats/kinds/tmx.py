"""Translation memories in TMX (Translation Memory eXchange 1.1 to 1.4)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from xml.etree.ElementTree import Element

from orthoglot.errors import DataError
from orthoglot.formats.base import Source
from orthoglot.languages import locales, of_locale
from orthoglot.text.bitext import Item, LeftOut
from orthoglot.text.messages import plain
from orthoglot.text.xml_memory import XML_LANG, child, elements, local, text

SUFFIXES = (".tmx", ".tmx.gz", ".tmx.zst")
OF_MANY_PAIRS = True  # a file states the languages of each text


def read(source: Source, first: str, second: str) -> Iterator[Item]:
    """A pair for each translation unit that has both languages; of several variants the one that `locales` prefers.

    Left out is a unit without one of the two (`other_languages`), and what `orthoglot.text.messages.plain` leaves
    out.

    Raises:
        DataError: the file cannot be read, or no unit has both languages.
    """
    path = Path(source.paths[0])
    found = False
    held: set[str] = set()
    for unit, _ in elements(path, "tmx", {"tu"}):
        segments = _segments(unit)
        ours, theirs = _preferred(first, *segments), _preferred(second, *segments)
        if ours is not None and theirs is not None:
            found = True
            yield plain(text(segments[ours]), text(segments[theirs]))
        else:
            held.update(segments)
            yield LeftOut("other_languages")
    if not found:
        raise DataError(
            f"{path}: no translation unit is in {first} and {second}; its languages are "
            f"{', '.join(sorted(held)) or 'none'}"
        )


def stated(path: Path) -> list[str]:
    """The languages of a file's units, its header's source language first."""
    source, tags = "", dict[str, None]()
    for one, _ in elements(path, "tmx", {"header", "tu"}):
        if local(one) == "header":
            source = one.get("srclang", "")
        else:
            tags |= dict.fromkeys(reversed(_segments(one)))
    found = dict.fromkeys(code for tag in tags if (code := of_locale(tag)))
    return sorted(found, key=lambda code: code != of_locale(source))


def _segments(unit: Element) -> dict[str, Element | None]:
    """The texts of a unit by what it calls their languages, the last one first; of two in one the first counts."""
    return {
        variant.get(XML_LANG, variant.get("lang", "")): child(variant, "seg")
        for variant in reversed(unit)
        if local(variant) == "tuv"
    }


@lru_cache(maxsize=1024)
def _preferred(code: str, *tags: str) -> str | None:
    """The plainest of the tags that stand for a language, if there is one."""
    return next(iter(locales(code, tags, any_script=True)), None)
