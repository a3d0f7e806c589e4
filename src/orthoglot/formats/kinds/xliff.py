"""Translations in XLIFF (XML Localisation Interchange File Format) 1.2 and 2.0."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element

from orthoglot.errors import DataError
from orthoglot.formats.base import Source, Unit
from orthoglot.formats.memory_languages import Varieties
from orthoglot.languages import locales, of_locale
from orthoglot.text.bitext import Item, LeftOut, SentencePair
from orthoglot.text.program_messages import plain
from orthoglot.text.xml_memory import XML_LANG, child, elements, local, text

# Elements and attributes that state the languages, of version 1.2 and of 2.0.
LANGUAGES = {"file": ("source-language", "target-language"), "xliff": ("srcLang", "trgLang")}


def read(source: Source, first: str, second: str) -> Iterator[Item]:
    """The items of `units`."""
    return (unit.item for unit in units(source, first, second))


def units(source: Source, first: str, second: str) -> Iterator[Unit]:
    """A pair for each <trans-unit> of version 1.2 and each <segment> of version 2.0, in either direction.

    Where the file states one language alone, as an export without translations may, other sides are in the other one.

    Left out is a unit in other languages or in none that is stated (`other_languages`, see `Varieties`), one with an
    empty side or that is not to be translated (`untranslated`), one that says that it is not finished (`fuzzy`), and
    what `orthoglot.text.program_messages.plain` leaves out.

    Raises:
        DataError: the file cannot be read, or no unit is in both languages.
    """
    path = Path(source.paths[0])
    all_tags = _tags(path)
    implied = _implied_language([tag for tag in all_tags if tag], (first, second)) if "" in all_tags else ""
    varieties = Varieties((first, second), lambda: [*all_tags, implied])
    paired = False
    held: set[str] = set()
    for number, (unit, around) in enumerate(elements(path, "xliff", {"trans-unit", "segment"})):
        tags = [tag or implied for tag in _languages(unit, around)]
        chosen = varieties.sides(tags)
        if chosen is None:
            held.add("-".join(name or "(not stated)" for name in tags))
            yield Unit(number, LeftOut("other_languages"), SentencePair("", ""))
            continue
        paired = True
        sides = [child(unit, side) for side in ("source", "target")]
        if chosen[0] == tags[1]:
            sides.reverse()
        written = SentencePair(*map(text, sides))
        translated = all(element.get("translate") != "no" for element in (*around, unit))
        item: Item
        if not translated or not all(text(side, codes=True).strip() for side in sides):
            item = LeftOut("untranslated")
        elif _is_unfinished(unit):
            item = LeftOut("fuzzy")
        else:
            item = plain(*(text(side, codes=True) for side in sides))
        yield Unit(number, item, written)
    if not paired:
        raise DataError(
            f"{path}: no translation is in {first} and {second}; its languages are "
            f"{', '.join(sorted(held)) or 'none'}"
        )
    varieties.log(path)


def stated(path: Path) -> list[str]:
    """The tags of a file, the source's first."""
    return [tag for tag in _tags(path) if tag]


def _tags(path: Path) -> list[str]:
    """The same, with "" if a side states none."""
    units = elements(path, "xliff", {"trans-unit", "segment"})
    return list(dict.fromkeys(tag for unit, around in units for tag in _languages(unit, around)))


def _implied_language(tags: Sequence[str], languages: tuple[str, str]) -> str:
    """The language of sides that state none: the other of the two, if the file's tags are of one alone; else ""."""
    matching = [bool(locales(language, tags, any_script=True)) for language in languages]
    if len({of_locale(tag) for tag in tags}) != 1 or all(matching) or not any(matching):
        return ""
    return languages[matching.index(False)]


def _languages(unit: Element, around: Sequence[Element]) -> list[str]:
    """Languages of source and target; "" for one that is not stated.

    The innermost element around the unit that states one counts. For a language that it lacks, the side counts:
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


def _is_unfinished(unit: Element) -> bool:
    """Whether a unit is marked as not translated for good: not approved, new, initial, or in need of something."""
    marked = child(unit, "target")
    states = [unit.get("state", ""), marked.get("state", "") if marked is not None else ""]
    return unit.get("approved") == "no" or any(
        state in ("new", "initial") or state.startswith("needs-") for state in states
    )
