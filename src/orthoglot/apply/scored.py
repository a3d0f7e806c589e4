"""The score of a translation, and the flags of what is none."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from typing import NamedTuple

BLANK, COPY, UNTRANSLATED, OTHER = "blank", "copy", "untranslated", "other_language"
# The score of a copy and of an untranslated sentence: no cosine is lower.
LEAST = -1.0
# Behind a flag that the language parts alone give, or the identifier to a short text.
GUESS = "?"


def has_letter(text: str) -> bool:
    """Whether a text has a letter of any script; digits and signs alone translate nothing."""
    return any(map(str.isalpha, text))


class Words(NamedTuple):
    """How good a translation is by sentences and words, in [-1, 1]; the words of both sides without a counterpart.

    Without anything if they were not compared.
    """

    quality: float | None = None
    source: str = ""
    target: str = ""


class Scored(NamedTuple):
    """A pair's score in [-1, 1], None of a blank line; why it is no translation, if so; the plain cosine; its words.

    A flag with a question mark is a guess and leaves the score as it is. Words are None where they are not compared.
    """

    score: float | None
    flag: str
    similarity: float | None
    words: Words | None = None


class Level(NamedTuple):
    """A threshold, how many pairs have it or a higher score, and the number of the pair with the next lower score."""

    threshold: float
    kept: int
    best_dropped: int


def levels(scores: Mapping[int, float], count: int = 10) -> list[Level]:
    """Thresholds, in rising order, between which there are equal numbers of pairs.

    Args:
        scores: by the pair's number.
        count: of thresholds; equal scores leave fewer.
    """
    ranked = sorted((score, number) for number, score in scores.items())
    found: dict[float, Level] = {}
    for step in range(1, count + 1) if ranked else ():
        threshold = ranked[len(ranked) * step // (count + 1)][0]
        dropped = bisect_left(ranked, (threshold,))
        if dropped:
            found[threshold] = Level(threshold, len(ranked) - dropped, ranked[dropped - 1][1])
    return list(found.values())
