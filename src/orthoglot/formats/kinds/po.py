"""One message catalogue of gettext (.po, .mo), which may translate in either direction."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

from orthoglot.errors import DataError
from orthoglot.formats.base import Source, Unit
from orthoglot.formats.catalogues import entries, opened
from orthoglot.languages import locales, tag_of
from orthoglot.text.bitext import Item, SentencePair

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
    """The same with the translation first."""
    item = unit.item
    return Unit(
        unit.number,
        SentencePair(item.target, item.source) if isinstance(item, SentencePair) else item,
        SentencePair(unit.written.target, unit.written.source),
    )
