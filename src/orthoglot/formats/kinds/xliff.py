"""Translations in XLIFF (XML Localisation Interchange File Format) 1.2 and 2.0."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element

from orthoglot.errors import DataError
from orthoglot.formats.base import Source
from orthoglot.languages import locales, of_locale
from orthoglot.text.bitext import Item, LeftOut
from orthoglot.text.messages import plain
from orthoglot.text.xml_memory import XML_LANG, child, elements, local, text

NAMES = (
    ".xliff",
    ".xlf",
    ".sdlxliff",
    ".mqxliff",
    ".mxliff",
)  # the last three of Trados, memoQ and Memsource
SUFFIXES = tuple(f"{name}{packed}" for packed in ("", ".gz", ".zst") for name in NAMES)
OF_MANY_PAIRS = True  # a file states the languages of each text

# Elements and attributes that state the languages, of version 1.2 and of 2.0.
LANGUAGES = {"file": ("source-language", "target-language"), "xliff": ("srcLang", "trgLang")}


def read(source: Source, first: str, second: str) -> Iterator[Item]:
    """A pair for each <trans-unit> of version 1.2 and each <segment> of version 2.0; a file from the pivot or into it.

    Left out is a unit in other languages or in none that is stated (`other_languages`), one with an empty side or
    that is not to be translated (`untranslated`), one that says that it is not finished (`fuzzy`), and what
    `orthoglot.text.messages.plain` leaves out.

    Raises:
        DataError: the file cannot be read, or no unit is in both languages.
    """
    path = Path(source.paths[0])
    found = False
    held: set[str] = set()
    for unit, around in elements(path, "xliff", {"trans-unit", "segment"}):
        stated = _languages(unit, around)
        sides = "source", "target"
        if _are(stated, (second, first)):
            sides = "target", "source"
        elif not _are(stated, (first, second)):
            held.add("-".join(name or "(not stated)" for name in stated))
            yield LeftOut("other_languages")
            continue
        found = True
        texts = [text(child(unit, side)) for side in sides]
        translated = all(one.get("translate") != "no" for one in (*around, unit))
        if not translated or not all(side.strip() for side in texts):
            yield LeftOut("untranslated")
        elif _is_unfinished(unit):
            yield LeftOut("fuzzy")
        else:
            yield plain(*texts)
    if not found:
        raise DataError(
            f"{path}: no translation is in {first} and {second}; its languages are "
            f"{', '.join(sorted(held)) or 'none'}"
        )


def stated(path: Path) -> list[str]:
    """The languages of a file, the source's first."""
    units = elements(path, "xliff", {"trans-unit", "segment"})
    tags = dict.fromkeys(tag for unit, around in units for tag in _languages(unit, around))
    return list(dict.fromkeys(code for tag in tags if (code := of_locale(tag))))


def _languages(unit: Element, around: Sequence[Element]) -> list[str]:
    """Languages of source and target; "" for one that is not stated.

    They are those of the innermost element around the unit that states them, or what the sides say themselves, as
    version 1.2 lets a file leave out the target's.
    """
    outer = ["", ""]
    for element in reversed(around):
        names = LANGUAGES.get(local(element), ())
        if any(element.get(name) for name in names):
            outer = [element.get(name, "") for name in names]
            break
    sides = (child(unit, name) for name in ("source", "target"))
    return [
        name or ("" if side is None else side.get(XML_LANG, ""))
        for name, side in zip(outer, sides, strict=True)
    ]


def _are(stated: Sequence[str], pair: Sequence[str]) -> bool:
    """Whether stated languages are a pair's."""
    return all(bool(locales(code, [name], any_script=True)) for code, name in zip(pair, stated, strict=True))


def _is_unfinished(unit: Element) -> bool:
    """Whether a unit is marked as not translated for good: not approved, new, initial, or in need of something."""
    marked = child(unit, "target")
    states = [unit.get("state", ""), marked.get("state", "") if marked is not None else ""]
    return unit.get("approved") == "no" or any(
        state in ("new", "initial") or state.startswith("needs-") for state in states
    )
