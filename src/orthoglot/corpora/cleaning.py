"""Which pairs are worth learning from: filters that keep a pair or drop it, each drop counted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from orthoglot.corpora.filters import FILTERS, Empty, Filter, Languages, LengthRatio, Sides
from orthoglot.corpora.settings import CleaningSettings
from orthoglot.languages import has_spaces, spaces_divide_phrases
from orthoglot.text.keys import normalised_all

# White space, controls, and the invisible marks that corpora hold between words (zero-width space, BOM).
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u200b\ufeff]+")
_BLANKS_BUT_CONTROLS = re.compile(r"[\s\u200b\ufeff]+")
_NOT_LATIN = "[^\u0000-\u024f\u1e00-\u1eff]"
_INNER_SPACE = re.compile(f"(?<={_NOT_LATIN}) (?={_NOT_LATIN})")
# Keys of sentences, and the names of the sets that have each, by the reason that a drop is counted under.
Banned = Mapping[str, Mapping[str, Iterable[str]]]


def tidy(sentence: str, language: str, *, controls: bool = False) -> str:
    """Make every run of white space and control characters one space, none at the ends.

    In a language without spaces (Chinese, Japanese), spaces between two characters that are not Latin go: some corpora
    (Tanaka) are split into words. Where spaces divide phrases (Thai, Lao, Khmer, Burmese, Tibetan) they stay, and the
    invisible spaces between words go. With `controls`, control characters stay, for the filter to find them.
    """
    phrases = not sentence.isascii() and spaces_divide_phrases(language)
    text = sentence.replace("\u200b", "") if phrases else sentence
    if not text.isprintable() or "  " in text:
        text = (_BLANKS_BUT_CONTROLS if controls else _BLANKS).sub(" ", text)
    text = text.strip()
    divided = text.isascii() or phrases or has_spaces(language)
    return text if divided else _INNER_SPACE.sub("", text)


def tidy_all(sentences: Sequence[str], language: str, *, controls: bool = False) -> list[str]:
    """`tidy` of each sentence."""
    # Where nothing but white space can change, most sentences are as they should be.
    plain = has_spaces(language)
    return [
        sentence
        if (plain or sentence.isascii())
        and sentence.isprintable()
        and "  " not in sentence
        and sentence.strip() == sentence
        else tidy(sentence, language, controls=controls)
        for sentence in sentences
    ]


def make_filters(settings: CleaningSettings, languages: Languages) -> list[Filter]:
    """The filters that the settings ask for, in the order in which they judge; 0 or false asks for none."""
    values = {name: getattr(settings, name) for name in FILTERS}
    return [Empty(), *(FILTERS[name](value, languages) for name, value in values.items() if value)]


class Cleaner:
    """Tidies sentences and drops those that a filter rejects.

    Duplicates and the ratio of lengths are decided when all are known (`orthoglot.corpora.prepare`).

    Args:
        settings: The thresholds.
        languages: The languages of the sides; for sentences without translations, the language and "".
        banned: Keys (`normalised`) of sentences that may stand on neither side; the first of two reasons counts.
        dropped: Gets the counts of what is dropped, under the first filter that rejects it, then as banned.
        overlaps: Gets how many of the banned each set has; one that two sets have counts in both.
    """

    def __init__(
        self,
        settings: CleaningSettings,
        languages: Languages,
        banned: Banned,
        dropped: Counter[str],
        overlaps: Counter[str] | None = None,
    ) -> None:
        if not languages[1]:
            settings = settings.model_copy(update={"drop_copies": False})
        self._settings, self._languages, self._banned = settings, languages, banned
        self._filters = make_filters(settings, languages)
        self._dropped = dropped
        self._overlaps = Counter[str]() if overlaps is None else overlaps

    def pairs(self, sides: Sides) -> tuple[Sides, Sides]:
        """The tidied sides of the pairs that stay, in their order, and the keys of the sides."""
        tidied = self._tidied(sides[0], 0), self._tidied(sides[1], 1)
        keys = normalised_all(tidied[0]), normalised_all(tidied[1])
        rows = self._accepted(tidied, keys)
        return _take(tidied, rows), _take(keys, rows)

    def sentences(self, sentences: Sequence[str]) -> tuple[Sequence[str], list[str]]:
        """As `pairs`, for sentences without translations."""
        tidied = self._tidied(sentences, 0)
        keys = normalised_all(tidied)
        rows = self._accepted((tidied, tidied), (keys, keys))
        sentences_left, keys_left = _take((tidied, keys), rows)
        return sentences_left, list(keys_left)

    def _tidied(self, sentences: Sequence[str], side: int) -> list[str]:
        return tidy_all(sentences, self._languages[side], controls=self._settings.drop_controls)

    def _accepted(self, tidied: Sides, keys: Sides) -> np.ndarray:
        """The rows that stay."""
        rows = np.arange(len(keys[0]))
        for rule in self._filters:
            sides = _take(keys if rule.of_keys else tidied, rows)
            rows = self._counted(rule.reason, rows, rule.accepts(rule.scores(sides)))
        for reason, ours in self._banned.items():
            sides = _take(keys, rows)
            banned = [first in ours or second in ours for first, second in zip(*sides, strict=True)]
            for row in rows[banned].tolist():
                self._overlaps.update({name for side in keys for name in ours.get(side[row], ())})
            rows = self._counted(reason, rows, ~np.array(banned, dtype=bool))
        return rows

    def _counted(self, reason: str, rows: np.ndarray, accepted: np.ndarray) -> np.ndarray:
        """The accepted rows; the others are counted."""
        rows_left: np.ndarray = rows[accepted]
        if len(rows_left) < len(rows):
            self._dropped[reason] += len(rows) - len(rows_left)
        return rows_left


def _take(sides: Sides, rows: np.ndarray) -> Sides:
    """These rows of both lists."""
    if len(rows) == len(sides[0]):
        return sides
    numbers = rows.tolist()
    return [sides[0][row] for row in numbers], [sides[1][row] for row in numbers]


def length_ratios(sizes: np.ndarray, counts: np.ndarray, max_ratio: float) -> list[LengthRatio]:
    """The filters of pairs whose sides, each divided by its mean length, differ by a factor above `max_ratio`.

    The means are those of the pairs that stay: they are taken again until no pair goes, so that a second
    cleaning finds the same means and nothing to drop. A pair stays if each filter accepts it.

    Args:
        sizes: Different characters of both sides (N, 2) int64.
        counts: How many pairs have them (N,).
        max_ratio: The factor.
    """
    filters: list[LengthRatio] = []
    while len(sizes):
        filters.append(LengthRatio(max_ratio, counts @ sizes / counts.sum()))
        stay = filters[-1].accepts(filters[-1].of_lengths(sizes))
        if stay.all():
            break
        sizes, counts = sizes[stay], counts[stay]
    return filters
