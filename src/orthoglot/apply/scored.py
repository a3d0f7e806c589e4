"""The score of a translation, and the flags of what is none."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

BLANK, COPY, UNTRANSLATED, OTHER = "blank", "copy", "untranslated", "other_language"
NO_LETTERS = "no_letters"
# The score of a copy and of an untranslated sentence: no cosine is lower.
LEAST = -1.0
# Behind a flag that the language parts alone give, or the identifier to a short text.
GUESS = "?"


def has_letter(text: str) -> bool:
    """Whether a text has a letter of any script; digits and signs alone translate nothing."""
    return any(map(str.isalpha, text))


class Words(NamedTuple):
    """How good a translation is by sentences and words; empty if they were not compared."""

    quality: float | None = None  # in [-1, 1]
    source: str = ""  # words without a counterpart in the translation
    target: str = ""  # words of the translation without one in the source


class Scored(NamedTuple):
    """What `orthoglot.apply.score.score` says of a pair."""

    score: float | None  # in [-1, 1]; None of a pair with a blank side
    flag: str  # why it may be no translation, or ""
    similarity: float | None  # the cosine whatever the flag
    words: Words | None = None  # None if words are not compared

    @property
    def fault(self) -> str:
        """The flag if it is no guess, or ""."""
        return "" if self.flag.endswith(GUESS) else self.flag


def summary(pairs: Sequence[Scored], bins: int = 10, width: int = 40) -> list[str]:
    """What scores say of a whole file, a line each: the corpus score, a histogram, and how many pairs have which flag.

    The corpus score is the mean over all pairs with a score, those of -1 among them. The bins of the histogram, the
    lowest first, are equally wide between the lowest and the highest score of a pair without a score of -1; the longest
    bar has `width` characters.
    """
    scores = [scored.score for scored in pairs if scored.score is not None]
    flags = Counter(scored.flag for scored in pairs if scored.flag)
    mean = f"corpus score {sum(scores) / len(scores):.4f}" if scores else "no corpus score"
    lines = [f"{mean}: the mean of {len(scores)} of {len(pairs)} pairs"]
    shown = [score for score in scores if score > LEAST]
    if shown:
        low, high = min(shown), max(shown)
        step = (high - low) / bins or 1.0
        counts = Counter(min(int((score - low) / step), bins - 1) for score in shown)
        longest = max(counts.values())
        for place in range(bins if high > low else 1):
            count = counts[place]
            bar = "#" * max(round(width * count / longest), count > 0)
            lines.append(f"{low + place * step:7.3f} {count:>8}  {bar}".rstrip())
    if flags:
        lines.append("flags: " + ", ".join(f"{count} {flag}" for flag, count in sorted(flags.items())))
    if 2 * flags[UNTRANSLATED] > len(pairs):
        lines.append("most translations are in the language of the source: are the two languages swapped?")
    return lines


class Level(NamedTuple):
    """A threshold, how many pairs have it or a higher score, and the number of the pair with the next lower score."""

    threshold: float
    kept: int
    best_dropped: int


def levels(scores: Mapping[int, float], count: int = 10) -> list[Level]:
    """So many thresholds, in rising order, between which there are equal numbers of pairs; fewer if scores are equal.

    `scores` has the score of each pair by its number.
    """
    ranked = sorted((score, number) for number, score in scores.items())
    by_threshold: dict[float, Level] = {}
    for step in range(1, count + 1) if ranked else ():
        threshold = ranked[len(ranked) * step // (count + 1)][0]
        dropped = bisect_left(ranked, (threshold,))
        if dropped:
            by_threshold[threshold] = Level(threshold, len(ranked) - dropped, ranked[dropped - 1][1])
    return list(by_threshold.values())
