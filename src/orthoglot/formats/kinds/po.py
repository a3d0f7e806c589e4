"""One message catalogue of gettext (.po, .mo), which may translate in either direction."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from orthoglot.errors import DataError
from orthoglot.formats.base import Source
from orthoglot.formats.catalogues import opened, read_catalogue
from orthoglot.languages import locales
from orthoglot.text.bitext import Item, SentencePair

SUFFIXES = (".po", ".mo")


def read(source: Source, first: str, second: str) -> Iterator[Item]:
    """The messages of one catalogue and their translations, or the reverse if its header states the first language.

    Raises:
        DataError: the file is broken, or its header states a language that is none of the two.
    """
    path = Path(source.paths[0])
    stated = opened(path).metadata.get("Language", "").strip()
    swapped = bool(locales(first, [stated], any_script=True))
    if stated and not swapped and not locales(second, [stated], any_script=True):
        raise DataError(f"{path}: translates into {stated!r}, which is neither {first} nor {second}")
    for item in read_catalogue(path):
        yield SentencePair(item.target, item.source) if swapped and isinstance(item, SentencePair) else item
