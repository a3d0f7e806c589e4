"""One message catalogue of gettext (.po, .mo) at a time."""

from __future__ import annotations

import gettext
import re
import struct
from collections.abc import Iterator
from itertools import count, starmap
from pathlib import Path
from typing import Any

import polib

from orthoglot.errors import DataError
from orthoglot.formats.base import Unit
from orthoglot.text.bitext import Item, LeftOut, SentencePair
from orthoglot.text.messages import plain
from orthoglot.text.signatures import MO

# Context and message.
Key = tuple[str | None, str]
PLURAL = re.compile(r"plural\s*=\s*([^;]+)")
# A line of a .po file that is neither empty nor a comment.
LINE = re.compile(r'(?P<keyword>msg\w+)?(?:\[\d+\])?\s*"(?:[^"\\]|\\.)*"')
GERMANIC = "n != 1"
TEMPLATE = "EXPRESSION"  # what a new catalogue has in place of a rule


def read_catalogue(path: Path) -> Iterator[Item]:
    """The messages of a .po or .mo file, first side, and their translations; each form of a plural is a message.

    The form that is for one thing but not for two translates the singular, every other form the plural. A context
    (msgctxt) tells equal messages apart and is no text. Left out are `obsolete` and `fuzzy` messages, and those that
    `orthoglot.text.messages.plain` leaves out.

    Raises:
        DataError: the file is missing or broken.
    """
    for _, units in entries(path):
        yield from (unit.item for unit in units)


def entries(path: Path) -> Iterator[tuple[Key, list[Unit]]]:
    """The entries of a catalogue: the key under which their program looks them up, and their forms, numbered from 0."""
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
    """Refuse a .po file that was cut off: polib shortens a text without its closing quote by a letter.

    Raises:
        DataError: a text has no closing quote, or the last message no translation, not even an empty one.
    """
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
    """Refuse a .mo file that was cut off: polib reads what is left of a text.

    Raises:
        DataError: a text would lie outside the file.
        struct.error: a table does.
    """
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
    """The form that the plural rule of a catalogue has for one thing, if it has another for two.

    It is that of English if there is no rule.

    Raises:
        DataError: not a rule.
    """
    match = PLURAL.search(rule)
    stated = match[1] if match and TEMPLATE not in match[1] else GERMANIC
    try:
        form = gettext.c2py(stated)
        one, two = form(1), form(2)
    # gettext makes Python of the rule, which may be none.
    except (ValueError, SyntaxError, ZeroDivisionError) as error:
        raise DataError(f"{path}: not a rule of plural forms: {rule!r} ({error})") from error
    return int(one) if one != two else None
