"""Filters that judge one sentence pair at a time: each gives scores and says which scores it accepts.

    >>> from orthoglot.corpora.filters import Script
    >>> script = Script(0.5, ("en", "ru"))
    >>> script.accepts(script.scores((["Good morning!", "Good evening!"], ["Dobroye utro!", "Добрый вечер!"]))).tolist()
    [False, True]

What needs more than the pair (the mean lengths of the corpus, benchmarks, duplicates) is in `cleaning`.
"""

from __future__ import annotations

import logging
import math
import operator
import re
import unicodedata
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import regex

from orthoglot.corpora.language_identifier import labels, probabilities
from orthoglot.languages import unicode_scripts
from orthoglot.text.characters import CharacterTable, code_points, counts, lengths, texts_with

# White space is no harm; U+FFFD stands where bytes could not be read.
_CONTROL = regex.compile(r"[\p{Cc}\ufffd--\s]", regex.VERSION1)
_CONTROLS = CharacterTable(lambda character: bool(_CONTROL.match(character)), np.uint8)
_DIGITS = re.compile(r"\d+")
_DIGIT = CharacterTable(str.isdecimal, np.uint8)
_LETTER_OF_A_SCRIPT = regex.compile(r"[\p{L}--[\p{Script=Common}\p{Script=Inherited}]]", regex.VERSION1)
# The first and the second side of pairs; the languages of the sides.
Sides = tuple[Sequence[str], Sequence[str]]
Languages = tuple[str, str]
OURS, FOREIGN = 2, 1
logger = logging.getLogger(__name__)


class Filter(ABC):
    """Scores pairs, and accepts a score or not."""

    reason: str  # the name under which the pairs that it does not accept are counted
    of_keys = False  # whether it gets the keys of the sides (`keys.normalised`) in place of the sides
    least: float = -math.inf  # the lowest score that it accepts
    most: float = math.inf  # the highest one

    @abstractmethod
    def scores(self, sides: Sides) -> np.ndarray:
        """The score of each pair of tidied sentences, or of keys (N,)."""

    def accepts(self, scores: np.ndarray) -> np.ndarray:
        """Whether a pair with such a score is kept (N,) bool."""
        return np.asarray((self.least <= scores) & (scores <= self.most))


class Empty(Filter):
    """Sides without a letter or digit."""

    reason = "empty"
    of_keys = True
    least = 1

    def scores(self, sides: Sides) -> np.ndarray:
        """Letters and digits of the side with fewer."""
        return np.minimum(*map(lengths, sides))


class MinCharacters(Filter):
    """Short sentences."""

    reason = "too_short"

    def __init__(self, least: int) -> None:
        self.least = least

    def scores(self, sides: Sides) -> np.ndarray:
        """Characters of the shorter side."""
        return np.minimum(*map(lengths, sides))


class MaxCharacters(Filter):
    """Long sentences."""

    reason = "too_long"

    def __init__(self, most: int) -> None:
        self.most = most

    def scores(self, sides: Sides) -> np.ndarray:
        """Characters of the longer side."""
        return np.maximum(*map(lengths, sides))


class Controls(Filter):
    """Control characters other than white space, and U+FFFD."""

    reason = "control_characters"
    most = 0

    def scores(self, sides: Sides) -> np.ndarray:
        """How many both sides have."""
        first, second = (counts(_CONTROLS[code_points("".join(side))] > 0, lengths(side)) for side in sides)
        return first + second


class Copies(Filter):
    """Pairs whose sides are the same text."""

    reason = "copy"
    of_keys = True
    most = 0

    def scores(self, sides: Sides) -> np.ndarray:
        """1 if the keys of both sides are equal, 0 if not."""
        return np.fromiter(map(operator.eq, *sides), np.int64, len(sides[0]))


class Script(Filter):
    """Sentences in another script than those of their language."""

    reason = "script"

    def __init__(self, least: float, languages: Languages) -> None:
        self.least = least
        self.languages = languages

    def scores(self, sides: Sides) -> np.ndarray:
        """Share of the letters that are of a script of the language, in [0, 1], on the side with less.

        Letters of no particular script do not count; a side without letters has 1, and one of language "" too.
        """
        first, second = map(_shares_in_script, sides, self.languages)
        return np.minimum(first, second)


class Numbers(Filter):
    """Pairs whose sides have different numbers."""

    reason = "numbers"

    def __init__(self, least: float) -> None:
        self.least = least

    def scores(self, sides: Sides) -> np.ndarray:
        """2 |A ∩ B| / (|A| + |B|), A and B the numbers of the sides, in [0, 1]; 1 where there are none.

        A number is a run of decimal digits of any script; it counts as often as it stands there.
        """
        first, second = (texts_with(_DIGIT[code_points("".join(side))] > 0, lengths(side)) for side in sides)
        shares, rows = np.ones(len(sides[0])), np.union1d(first, second)
        shares[rows] = [_shared_numbers(sides[0][row], sides[1][row]) for row in rows.tolist()]
        return shares


class Language(Filter):
    """Sentences in another language, as py3langid sees it."""

    reason = "language"

    def __init__(self, least: float, languages: Languages) -> None:
        self.least = least
        self.wanted = [labels(language) for language in languages]
        if unknown := [
            code for code, known in zip(languages, self.wanted, strict=True) if code and not known
        ]:
            logger.warning("py3langid does not know %s: it accepts every such sentence", ", ".join(unknown))

    def scores(self, sides: Sides) -> np.ndarray:
        """Probability of the side's language among those that it knows, in [0, 1], the lower of both sides.

        A side in a language that it does not know has 1, and one of language "" too.
        """
        first, second = (
            [_probability(text, wanted) for text in side]
            for side, wanted in zip(sides, self.wanted, strict=True)
        )
        return np.minimum(first, second)


class LengthRatio(Filter):
    """Pairs with a side that is too long for the other.

    Args:
        most: The largest factor between the lengths, after both are divided by their means.
        means: Mean characters of the sides of the corpus.
    """

    reason = "ratio"

    def __init__(self, most: float, means: Sequence[float] | np.ndarray) -> None:
        self.most = float(np.log(most))
        self.means = np.asarray(means)

    def scores(self, sides: Sides) -> np.ndarray:
        """|ln(a / A) - ln(b / B)|, with a and b the characters of the sides and A and B their means."""
        return self.of_lengths(np.stack([*map(lengths, sides)], axis=1))

    def of_lengths(self, sizes: np.ndarray) -> np.ndarray:
        """The score of each row of an array (N, 2) of characters of the sides."""
        scaled = np.log(sizes / self.means)
        return np.abs(scaled[:, 0] - scaled[:, 1])


# What makes the filter of each setting from its value and the languages of the sides, in the order of judging.
FILTERS: Mapping[str, Callable[[Any, Languages], Filter]] = {
    "min_characters": lambda value, _: MinCharacters(value),
    "max_characters": lambda value, _: MaxCharacters(value),
    "drop_controls": lambda *_: Controls(),
    "drop_copies": lambda *_: Copies(),
    "min_script": Script,
    "min_numbers": lambda value, _: Numbers(value),
    "min_language": Language,
}


def _shared_numbers(source: str, target: str) -> float:
    first, second = _DIGITS.findall(source), _DIGITS.findall(target)
    if first == second:
        return 1.0
    ours, theirs = Counter(map(_number, first)), Counter(map(_number, second))
    return 2 * (ours & theirs).total() / (len(first) + len(second))


def _number(digits: str) -> str:
    if not digits.isascii():
        digits = "".join(str(unicodedata.digit(digit)) for digit in digits)
    return digits.lstrip("0")


def _shares_in_script(texts: Sequence[str], language: str) -> np.ndarray:
    shares = np.ones(len(texts))
    if not language:
        return shares
    letters, sizes = _script_letters(language), lengths(texts)
    rows = texts_with(letters[code_points("".join(texts))] == FOREIGN, sizes)
    kinds, sizes = letters[code_points("".join([texts[row] for row in rows.tolist()]))], sizes[rows]
    ours = counts(kinds == OURS, sizes)
    shares[rows] = ours / (ours + counts(kinds == FOREIGN, sizes))
    return shares


@cache
def _script_letters(language: str) -> CharacterTable:
    """`OURS` for letters of the language's scripts, `FOREIGN` for those of another, 0 for other characters."""
    scripts = "".join(rf"\p{{Script={name}}}" for name in unicode_scripts(language))
    ours = regex.compile(f"[{scripts}]")

    def number(character: str) -> int:
        if not _LETTER_OF_A_SCRIPT.match(character):
            return 0
        return OURS if ours.match(character) else FOREIGN

    return CharacterTable(number, np.uint8)


def _probability(text: str, wanted: frozenset[str]) -> float:
    if not wanted:
        return 1.0
    return sum(share for label, share in probabilities(text).items() if label in wanted)
