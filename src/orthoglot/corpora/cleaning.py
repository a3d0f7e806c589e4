"""Which pairs are worth learning from: filters that keep a pair or drop it, each drop counted."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import regex

from orthoglot.corpora.characters import CharacterTable, code_points
from orthoglot.corpora.filters import Languages, LengthRatio, Sides, make_filters
from orthoglot.corpora.preparation_settings import CleaningSettings
from orthoglot.corpora.spool import Column
from orthoglot.languages import has_spaces, spaces_divide_phrases


class _LeftOut(dict[str, bool]):
    """Whether a character is left out of keys, by character."""

    def __missing__(self, character: str) -> bool:
        self[character] = bool(_NOT_ALPHANUMERIC.fullmatch(character))
        return self[character]


# Letters, digits, and the marks that Indic and other scripts write vowels with.
_NOT_ALPHANUMERIC = regex.compile(r"[^\p{L}\p{N}\p{M}]+")
_IS_LEFT_OUT = _LeftOut()
_ASCII_REST = bytes(code for code in range(128) if not chr(code).isalnum())
# White space, controls, and the invisible marks that corpora hold between words (zero-width space, BOM).
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u200b\ufeff]+")
_BLANKS_BUT_CONTROLS = re.compile(r"[\s\u200b\ufeff]+")
_WORD = regex.compile(r"[\p{L}\p{M}]+")
_NUMBER = regex.compile(r"\p{N}+")
_NOT_LATIN = "[^\u0000-\u024f\u1e00-\u1eff]"
_INNER_SPACE = re.compile(f"(?<={_NOT_LATIN}) (?={_NOT_LATIN})")
# By the reason that a drop is counted under: keys of sentences, and the names of the sets that have each.
Banned = Mapping[str, Mapping[str, Iterable[str]]]
AS_READ = CleaningSettings()
# Sentences whose characters are looked at together.
AT_ONCE = 2_000
# In a table of keys: what cannot be said of a character without its neighbours, or is several characters.
_NOT_ALONE = 0xFFFFFFFE
_LINE_FEED = 10


def normalised(text: str) -> str:
    """Letters, vowel marks and digits of a text, NFKC, case-folded: texts with the same key count as equal."""
    if text.isascii():
        return text.lower().encode().translate(None, _ASCII_REST).decode()
    key = unicodedata.normalize("NFKC", text).casefold()
    for character in set(key):  # ten times faster than a regular expression on the whole text
        if _IS_LEFT_OUT[character]:
            key = key.replace(character, "")
    return key


def normalised_all(texts: Sequence[str]) -> list[str]:
    """`normalised` of each text, several times as fast."""
    keys: list[str] = []
    for start in range(0, len(texts), AT_ONCE):
        some = texts[start : start + AT_ONCE]
        whole = "\n".join(some)
        if whole.count("\n") != len(some) - 1:
            keys += map(normalised, some)
            continue
        found = _KEYS[code_points(whole)]
        not_alone = np.flatnonzero(found == _NOT_ALONE)
        ends = np.flatnonzero(found == _LINE_FEED) if len(not_alone) else not_alone
        some_keys = found[(found != 0) & (found != _NOT_ALONE)].tobytes().decode("utf-32-le").split("\n")
        for row in np.unique(np.searchsorted(ends, not_alone)).tolist():
            some_keys[row] = normalised(some[row])
        keys += some_keys
    return keys


def _key(character: str) -> int:
    """The code point that `normalised` makes of a character wherever it stands, 0 if none, or `_NOT_ALONE`.

    Marks and the letters of Hangul combine with what is before them; so may anything beyond the first plane. A line
    feed, which divides texts, stays.
    """
    if character == "\n":
        return _LINE_FEED
    composed = unicodedata.normalize("NFKC", character)
    if any(
        one >= "\U00010000" or "\u1100" <= one <= "\u11ff" or unicodedata.category(one)[0] == "M"
        for one in composed
    ):
        return _NOT_ALONE
    key = normalised(character)
    return _NOT_ALONE if len(key) > 1 else ord(key or "\0")


_KEYS = CharacterTable(_key, np.uint32)


def tidy(sentence: str, language: str, settings: CleaningSettings = AS_READ) -> str:
    """Make every run of white space and control characters one space, none at the ends.

    In a language without spaces (Chinese, Japanese), spaces between two characters that are not Latin go: some corpora
    (Tanaka) are split into words. Where spaces divide phrases (Thai, Lao, Khmer, Burmese, Tibetan) they stay, and the
    invisible spaces between words go.

    Args:
        sentence: as read.
        language: of the sentence.
        settings: with `nfc` the result is in Unicode's composed form; with `drop_controls` control characters stay,
            for the filter to find them.
    """
    text = sentence
    phrases = not sentence.isascii() and spaces_divide_phrases(language)
    if phrases:
        text = text.replace("\u200b", "")
    if not text.isprintable() or "  " in text:
        text = (_BLANKS_BUT_CONTROLS if settings.drop_controls else _BLANKS).sub(" ", text)
    text = text.strip()
    if text.isascii():
        return text
    if not phrases and not has_spaces(language):
        text = _INNER_SPACE.sub("", text)
    return unicodedata.normalize("NFC", text) if settings.nfc else text


def tidy_all(sentences: Sequence[str], language: str, settings: CleaningSettings = AS_READ) -> list[str]:
    """`tidy` of each sentence."""
    # Where nothing but white space can change, most sentences are as they should be.
    plain = has_spaces(language) and not settings.nfc
    return [
        one
        if (plain or one.isascii()) and one.isprintable() and "  " not in one and one.strip() == one
        else tidy(one, language, settings)
        for one in sentences
    ]


class Cleaner:
    """Tidies sentences and drops those that a filter rejects.

    Duplicates and the ratio of lengths are decided when all are known (`orthoglot.corpora.prepare`).

    Args:
        settings: the thresholds.
        languages: of the sides; for sentences without translations, the language and "".
        banned: keys (`normalised`) of sentences that may stand on neither side; of two reasons the first counts.
        dropped: filled in: what is dropped is counted under the first filter that rejects it, then as banned.
        overlaps: filled in: of what is dropped as banned, how many each set has; one that two have counts in both.
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
        tidied = (
            tidy_all(sides[0], self._languages[0], self._settings),
            tidy_all(sides[1], self._languages[1], self._settings),
        )
        keys = normalised_all(tidied[0]), normalised_all(tidied[1])
        rows = self._accepted(tidied, keys)
        return _take(tidied, rows), _take(keys, rows)

    def sentences(self, sentences: Sequence[str]) -> tuple[Sequence[str], list[str]]:
        """The same of sentences without translations, and their `duplicate_keys`."""
        tidied = tidy_all(sentences, self._languages[0], self._settings)
        keys = normalised_all(tidied)
        rows = self._accepted((tidied, tidied), (keys, keys))
        kept, keys_kept = _take((tidied, keys), rows)
        return kept, duplicate_keys((kept, kept), (keys_kept, keys_kept), self._settings)

    def _accepted(self, tidied: Sides, keys: Sides) -> np.ndarray:
        """The rows that stay."""
        rows = np.arange(len(keys[0]))
        for one in self._filters:
            sides = _take(keys if one.of_keys else tidied, rows)
            rows = self._counted(one.reason, rows, one.accepts(one.scores(sides)))
        for reason, ours in self._banned.items():
            sides = _take(keys, rows)
            found = [first in ours or second in ours for first, second in zip(*sides, strict=True)]
            for row in rows[found].tolist():
                self._overlaps.update({name for side in keys for name in ours.get(side[row], ())})
            rows = self._counted(reason, rows, ~np.array(found, dtype=bool))
        return rows

    def _counted(self, reason: str, rows: np.ndarray, accepted: np.ndarray) -> np.ndarray:
        """The accepted rows; the others are counted."""
        kept: np.ndarray = rows[accepted]
        if len(kept) < len(rows):
            self._dropped[reason] += len(rows) - len(kept)
        return kept


def duplicate_keys(sides: Sides, keys: Sides, settings: CleaningSettings) -> list[str]:
    """What pairs that count as the same have in common, as `duplicates_by` says; both sides, with a tab between.

    Where a side has no letters, its letters and digits count.
    """
    if settings.duplicates_by == "letters":
        found = [[_NUMBER.sub("", key) or key for key in side] for side in keys]
    elif settings.duplicates_by == "words":
        found = [
            [_words(text) or key for text, key in zip(*one, strict=True)]
            for one in zip(sides, keys, strict=True)
        ]
    else:
        return list(map("\t".join, zip(*keys, strict=True)))
    return list(map("\t".join, zip(*found, strict=True)))


def _words(text: str) -> str:
    """The different words of a text in alphabetical order."""
    return " ".join(sorted(set(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))))


def _take(sides: Sides, rows: np.ndarray) -> Sides:
    """These rows of both lists."""
    if len(rows) == len(sides[0]):
        return sides
    numbers = rows.tolist()
    return [sides[0][row] for row in numbers], [sides[1][row] for row in numbers]


def drop_dissimilar(
    sizes: np.ndarray | Column, kept: np.ndarray, max_ratio: float, block: int = 1 << 17
) -> None:
    """Set `kept` to False for rows whose sides, each divided by its mean length, differ by a factor above `max_ratio`.

    The means are those of the rows that stay: they are taken again until no row goes, so that a second
    cleaning finds the same means and nothing to drop.

    Args:
        sizes: characters of both sides (N, 2).
        kept: (N,) bool, may be mapped from disk; only its rows count.
        max_ratio: the factor.
        block: rows in memory at once; changes nothing.
    """
    starts = range(0, len(kept), block)
    while True:
        total, count = np.zeros(2, dtype=np.int64), 0
        for start in starts:
            rows = kept[start : start + block]
            total += sizes[start : start + block][rows].sum(axis=0, dtype=np.int64)
            count += int(rows.sum())
        if not count:
            return
        ratio = LengthRatio(max_ratio, total / count)
        dropped = False
        for start in starts:
            rows = np.flatnonzero(kept[start : start + block])
            scores = ratio.of_lengths(sizes[start : start + block][rows].astype(float))
            strange = start + rows[scores > ratio.most]
            kept[strange] = False
            dropped |= bool(len(strange))
        if not dropped:
            return
