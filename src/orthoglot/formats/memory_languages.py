"""Which sides of a translation memory are in the languages that were asked for, by the tags that it states."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from orthoglot.languages import locales, tag_of

MOST = 1024  # combinations of tags that are remembered
logger = logging.getLogger(__name__)


class Varieties:
    """The tags of a file that stand for two languages, or varieties of languages, and how often each was taken.

    A language alone (pt) stands for all its varieties, and of those in one unit the one that `locales` prefers is
    taken. A variety (pt-BR) is the same one wherever the file has it; if it has it nowhere, tags that name less or
    more (pt) stand for it, but never another variety (pt-PT). The two sides are never the same text.

    Args:
        languages: The languages of the two sides, e.g. en, pt_BR, sr@latin.
        tags: Reads all tags of the file; called if one of the languages is a variety.
    """

    def __init__(self, languages: tuple[str, str], tags: Callable[[], Iterable[str]]) -> None:
        self.languages = languages
        stated = any(tag is not None and not tag.is_language for tag in map(tag_of, languages))
        held = {*tags()} if stated else None
        self._allowed = [
            None if held is None else {*locales(language, held, any_script=True)} for language in languages
        ]
        self._chosen: dict[tuple[str, ...], tuple[str, str] | None] = {}
        self._taken: tuple[Counter[str], Counter[str]] = Counter(), Counter()
        self._seen = set[str]()

    def sides(self, tags: Sequence[str]) -> tuple[str, str] | None:
        """The tags of source and target among those of a unit; None if it lacks one."""
        key = tuple(tags)
        if key not in self._chosen:
            if len(self._chosen) == MOST:
                self._chosen.clear()
            self._seen.update(tags)
            self._chosen[key] = self._choose(tags)
        if chosen := self._chosen[key]:
            for taken, tag in zip(self._taken, chosen, strict=True):
                taken[tag] += 1
        return chosen

    def further(self, tags: Sequence[str], chosen: tuple[str, str]) -> int:
        """How many tags of a unit stand for a language that was asked for alone, and were not taken."""
        alone = [
            language
            for language in self.languages
            if (tag := tag_of(language)) is not None and tag.is_language
        ]
        return len(
            {tag for language in alone for tag in locales(language, tags, any_script=True)} - {*chosen}
        )

    def _choose(self, tags: Sequence[str]) -> tuple[str, str] | None:
        first, second = (
            [tag for tag in locales(language, tags, any_script=True) if allowed is None or tag in allowed]
            for language, allowed in zip(self.languages, self._allowed, strict=True)
        )
        both = [
            (place + other, place, source, target)
            for place, source in enumerate(first)
            for other, target in enumerate(second)
            if source != target
        ]
        return min(both)[2:] if both else None

    def log(self, path: Path) -> None:
        """Say which varieties were taken, unless the file has the languages under the names that were asked for."""
        said = []
        for language, taken in zip(self.languages, self._taken, strict=True):
            others = sorted({*locales(language, self._seen, any_script=True)} - {*taken})
            if others or {*map(tag_of, taken)} != {tag_of(language)}:
                counts = " and ".join(f"{tag} ({count})" for tag, count in taken.most_common())
                said.append(f"{language} is {counts}" + (f", not {', '.join(others)}" if others else ""))
        if said:
            logger.info("%s: %s", path, "; ".join(said))
