"""Message catalogues of gettext (.po, .mo)."""

from __future__ import annotations

import gettext
import logging
import re
import struct
from collections.abc import Iterator
from itertools import count, starmap
from pathlib import Path
from typing import Any

import polib

from orthoglot.errors import DataError
from orthoglot.formats.base import Source, Unit
from orthoglot.languages import locales, tag_of
from orthoglot.text.bitext import Item, LeftOut, SentencePair
from orthoglot.text.file_signatures import MO
from orthoglot.text.program_messages import plain

# Context and message.
Key = tuple[str | None, str]
PLURAL = re.compile(r"plural\s*=\s*([^;]+)")
# A line of a .po file that is neither empty nor a comment.
LINE = re.compile(r'(?P<keyword>msg\w+)?(?:\[\d+\])?\s*"(?:[^"\\]|\\.)*"')
GERMANIC = "n != 1"
TEMPLATE = "EXPRESSION"  # what a new catalogue has in place of a rule
logger = logging.getLogger(__name__)


def read(source: Source, first: str, second: str) -> Iterator[Item]:
    """The items of `units`."""
    return (unit.item for unit in units(source, first, second))


def units(source: Source, first: str, second: str) -> Iterator[Unit]:
    """The messages of one catalogue and their translations, or the reverse if its header states the first language.

    Raises:
        DataError: the file is broken, or its header states a language that is none of the two.
    """
    path = Path(source.paths[0])
    stated = opened(path).metadata.get("Language", "").strip()
    into_first, into_second = (
        bool(locales(language, [stated], any_script=True)) for language in (first, second)
    )
    # One of two varieties of a language may be the language alone: pt and pt-BR.
    swapped = into_first and (not into_second or tag_of(first) == tag_of(stated))
    if stated and not (into_first or into_second):
        raise DataError(f"{path}: translates into {stated!r}, which is neither {first} nor {second}")
    wanted = first if swapped else second
    if stated and tag_of(wanted) != tag_of(stated):
        logger.info("%s: %s is %s", path, wanted, stated)
    for _, forms in entries(path):
        for unit in forms:
            yield _reversed(unit) if swapped else unit


def _reversed(unit: Unit) -> Unit:
    """The unit with the translation first."""
    item = SentencePair(*unit.item[::-1]) if isinstance(unit.item, SentencePair) else unit.item
    return Unit(unit.number, item, SentencePair(*unit.written[::-1]))


def entries(path: Path) -> Iterator[tuple[Key, list[Unit]]]:
    """The entries of a catalogue: the key under which their program looks them up, and a unit for each of their forms.

    The form of a plural that is for one thing but not for two translates the singular, every other form the plural. A
    context (msgctxt) tells equal messages apart and is no text. `obsolete` and `fuzzy` messages are left out, and those
    that `orthoglot.text.program_messages.plain` leaves out.

    Raises:
        DataError: the file is missing or broken.
    """
    catalogue, number = opened(path), count()
    singular = _form_of_one(catalogue.metadata.get("Plural-Forms", ""), path)
    for entry in catalogue:
        reason = "obsolete" if entry.obsolete else "fuzzy" if getattr(entry, "fuzzy", False) else ""
        forms = _forms(entry, singular)
        yield (
            (entry.msgctxt, entry.msgid),
            [
                Unit(next(number), LeftOut(reason) if reason else plain(*written), written)
                for written in starmap(SentencePair, forms)
            ],
        )


def opened(path: Path) -> Any:
    """The entries of a .po or .mo file, as polib has them.

    Raises:
        DataError: the file is missing or broken.
    """
    # polib takes the name of a file that does not exist for the text of a catalogue.
    if not path.is_file():
        raise DataError(f"{path} does not exist")
    try:
        if path.suffix.lower() == ".mo" or _begins(path) in MO:
            _check_tables(path, path.read_bytes())
            return polib.mofile(str(path))
        catalogue = polib.pofile(str(path))
        _check_whole(path, path.read_text(catalogue.encoding))
        return catalogue
    except DataError:
        raise
    except (OSError, ValueError, LookupError, TypeError, AttributeError, struct.error, MemoryError) as error:
        raise DataError(f"{path}: not a message catalogue that can be read ({error})") from error


def _begins(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(4)


def _check_whole(path: Path, text: str) -> None:
    """Refuse a .po file that was cut off: polib shortens a text without its closing quote by a letter."""
    keyword, last = "", 0
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        match = LINE.fullmatch(line)
        if not match:
            raise DataError(
                f"{path}, line {number}: {line[:40]} is not a quoted text; the file may be cut off"
            )
        keyword, last = match["keyword"] or keyword, number
    if keyword and keyword != "msgstr":
        raise DataError(f"{path}, line {last}: a message without msgstr; the file may be cut off")


def _check_tables(path: Path, content: bytes) -> None:
    """Refuse a .mo file that was cut off: polib reads what is left of a text."""
    order = "<" if content[:4] == MO[0] else ">"
    count, *tables = struct.unpack_from(f"{order}3I", content, 8)
    for place in (table + 8 * number for table in tables for number in range(count)):
        length, start = struct.unpack_from(f"{order}2I", content, place)
        if start + length > len(content):
            raise DataError(
                f"{path}: a text ends after the file's {len(content)} bytes; the file was cut off"
            )


def _forms(entry: Any, singular: int | None) -> Iterator[tuple[str, str]]:
    if not entry.msgid_plural:
        yield entry.msgid, entry.msgstr
        return
    for number, text in sorted(entry.msgstr_plural.items()) or [(None, "")]:
        yield entry.msgid if number is not None and number == singular else entry.msgid_plural, text


def _form_of_one(rule: str, path: Path) -> int | None:
    """The form that a plural rule, English's if there is none, has for one thing, if it has another for two."""
    match = PLURAL.search(rule)
    stated = match[1] if match and TEMPLATE not in match[1] else GERMANIC
    try:
        form = gettext.c2py(stated)
        one, two = form(1), form(2)
    # gettext makes Python of the rule, which may be none.
    except (ValueError, SyntaxError, ZeroDivisionError) as error:
        raise DataError(f"{path}: not a rule of plural forms: {rule!r} ({error})") from error
    return int(one) if one != two else None
