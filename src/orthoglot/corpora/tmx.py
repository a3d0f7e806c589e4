"""Translation memories in TMX (Translation Memory eXchange 1.1 to 1.4)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from orthoglot.corpora.bitext import Item, LeftOut
from orthoglot.corpora.messages import plain
from orthoglot.corpora.xml_memory import XML_LANG, child, elements, local, text
from orthoglot.errors import DataError
from orthoglot.languages import locales

if TYPE_CHECKING:
    from orthoglot.corpora.sources import Source


def read_tmx(origin: Source, source: str, target: str) -> Iterator[Item]:
    """A pair for each translation unit that has both languages; of several variants the one that `locales` prefers.

    Left out is a unit without one of the two (`other_languages`), and what `orthoglot.corpora.messages.plain` leaves
    out.

    Raises:
        DataError: the file cannot be read, or no unit has both languages.
    """
    path = Path(origin.paths[0])
    found = False
    held: set[str] = set()
    for unit, _ in elements(path, "tmx", {"tu"}):
        segments = {
            variant.get(XML_LANG, variant.get("lang", "")): child(variant, "seg")
            for variant in reversed(unit)  # of two in one language the first counts
            if local(variant) == "tuv"
        }
        ours, theirs = _preferred(source, *segments), _preferred(target, *segments)
        if ours is not None and theirs is not None:
            found = True
            yield plain(text(segments[ours]), text(segments[theirs]))
        else:
            held.update(segments)
            yield LeftOut("other_languages")
    if not found:
        raise DataError(
            f"{path}: no translation unit is in {source} and {target}; its languages are "
            f"{', '.join(sorted(held)) or 'none'}"
        )


@lru_cache(maxsize=1024)
def _preferred(code: str, *tags: str) -> str | None:
    """The plainest of the tags that stand for a language, if there is one."""
    return next(iter(locales(code, tags, any_script=True)), None)
