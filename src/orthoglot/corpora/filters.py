"""Filters that judge one sentence pair: each gives a score and says which scores it accepts.

    >>> one = Script(0.5, ("en", "ru"))
    >>> one.accept(one.score(("Good morning!", "Dobroye utro!")))
    False

What needs more than the pair (the mean lengths of the corpus, benchmarks, duplicates) is in `cleaning`.
"""

from __future__ import annotations

import logging
import math
import re
import unicodedata
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import regex

from orthoglot.corpora.preparation_settings import CleaningSettings
from orthoglot.errors import ConfigError
from orthoglot.languages import canonical, unicode_scripts

# White space is no harm; U+FFFD stands where bytes could not be read.
_CONTROLS = regex.compile(r"[\p{Cc}\ufffd--\s]", regex.VERSION1)
_DIGITS = re.compile(r"\d+")
_NO_LETTERS_OF_A_SCRIPT = regex.compile(r"[^\p{L}--[\p{Script=Common}\p{Script=Inherited}]]+", regex.VERSION1)
Sides = tuple[str, str]
logger = logging.getLogger(__name__)


class Filter(ABC):
    """Scores a pair, and accepts a score or not.

    Attributes:
        reason: what the pairs that it does not accept are counted under.
        of_keys: whether it is given the keys of the sides (`cleaning.normalised`) in place of the sides.
    """

    reason: str
    of_keys = False

    def __init__(self, *, least: float = -math.inf, most: float = math.inf) -> None:
        self.least = least
        self.most = most

    @abstractmethod
    def score(self, pair: Sides) -> Any:
        """The score of a pair of tidied sentences, or of keys."""

    def accept(self, score: Any) -> bool:
        """Whether pairs with this score are kept: from `least` to `most`, both included."""
        return self.least <= score <= self.most


class Empty(Filter):
    """Sides without a letter or digit."""

    reason = "empty"
    of_keys = True

    def __init__(self) -> None:
        super().__init__(least=1)

    def score(self, pair: Sides) -> int:
        """Letters and digits of the side with fewer."""
        return min(len(pair[0]), len(pair[1]))


class MinCharacters(Filter):
    """Short sentences."""

    reason = "too_short"

    def __init__(self, least: int) -> None:
        super().__init__(least=least)

    def score(self, pair: Sides) -> int:
        """Characters of the shorter side."""
        return min(len(pair[0]), len(pair[1]))


class MaxCharacters(Filter):
    """Long sentences."""

    reason = "too_long"

    def __init__(self, most: int) -> None:
        super().__init__(most=most)

    def score(self, pair: Sides) -> int:
        """Characters of the longer side."""
        return max(len(pair[0]), len(pair[1]))


class Controls(Filter):
    """Control characters other than white space, and U+FFFD."""

    reason = "control_characters"

    def __init__(self) -> None:
        super().__init__(most=0)

    def score(self, pair: Sides) -> int:
        """How many both sides have."""
        return sum(len(_CONTROLS.findall(side)) for side in pair)


class Copies(Filter):
    """Pairs whose sides are the same text."""

    reason = "copy"
    of_keys = True

    def __init__(self) -> None:
        super().__init__(most=0)

    def score(self, pair: Sides) -> int:
        """1 if the keys of both sides are equal, 0 if not."""
        return int(pair[0] == pair[1])


class Script(Filter):
    """Sentences in another script than those of their language."""

    reason = "script"

    def __init__(self, least: float, languages: Sides) -> None:
        super().__init__(least=least)
        self.languages = languages

    def score(self, pair: Sides) -> float:
        """Share of the letters that are of a script of the language, in [0, 1], on the side with less.

        Letters of no particular script do not count; a side without letters has 1, and one of language "" too.
        """
        return min(map(_share_in_script, pair, self.languages))


class Numbers(Filter):
    """Pairs whose sides have different numbers."""

    reason = "numbers"

    def __init__(self, least: float) -> None:
        super().__init__(least=least)

    def score(self, pair: Sides) -> float:
        """2 |A ∩ B| / (|A| + |B|), A and B the numbers of the sides, in [0, 1]; 1 where there are none.

        A number is a run of decimal digits of any script; it counts as often as it stands there.
        """
        ours, theirs = (
            Counter(one.lstrip("0") for one in map(_decimal, _DIGITS.findall(side))) for side in pair
        )
        total = ours.total() + theirs.total()
        return 2 * (ours & theirs).total() / total if total else 1.0


class Language(Filter):
    """Sentences in another language, as py3langid sees it."""

    reason = "language"

    def __init__(self, least: float, languages: Sides) -> None:
        super().__init__(least=least)
        labels = _labels()
        self.wanted = [labels.get(language, frozenset()) for language in languages]
        if unknown := [code for code in languages if code and code not in labels]:
            logger.warning("py3langid does not know %s: it accepts every such sentence", ", ".join(unknown))

    def score(self, pair: Sides) -> float:
        """Probability of the side's language among those that it knows, in [0, 1], the lower of both sides.

        A side in a language that it does not know has 1, and one of language "" too.
        """
        return min(map(_probability, pair, self.wanted))


class LengthRatio(Filter):
    """Pairs of which one side is too long for the other.

    Args:
        most: factor between the lengths at most, after both are divided by their means.
        means: mean characters of the sides of the corpus.
    """

    reason = "ratio"

    def __init__(self, most: float, means: Sequence[float] | np.ndarray) -> None:
        super().__init__(most=float(np.log(most)))
        self.means = np.asarray(means)

    def score(self, pair: Sides) -> float:
        """|ln(a / A) - ln(b / B)|, with a and b the characters of the sides and A and B their means."""
        return float(self.scores(np.array([[len(side) for side in pair]]))[0])

    def scores(self, lengths: np.ndarray) -> np.ndarray:
        """The score of each row of an array (pairs, 2) of characters of the sides."""
        scaled = np.log(lengths / self.means)
        return np.abs(scaled[:, 0] - scaled[:, 1])


# By setting: from its value and the languages of the sides to the filter. They judge in this order.
FILTERS: Mapping[str, Callable[[Any, Sides], Filter]] = {
    "min_characters": lambda value, _: MinCharacters(value),
    "max_characters": lambda value, _: MaxCharacters(value),
    "drop_controls": lambda *_: Controls(),
    "drop_copies": lambda *_: Copies(),
    "min_script": Script,
    "min_numbers": lambda value, _: Numbers(value),
    "min_language": Language,
}


def make_filters(settings: CleaningSettings, languages: Sides) -> list[Filter]:
    """The filters that the settings ask for, in the order in which they judge.

    Args:
        settings: thresholds; a filter whose setting is 0 or false is left out.
        languages: of the sides; for sentences without translations, the language and "".
    Raises:
        ConfigError: the file of OpusFilter that the settings name cannot be used.
    """
    if settings.opusfilter:
        from orthoglot.corpora.opus_filter import read_filters

        return [Empty(), *read_filters(settings.opusfilter, languages)]
    values = {name: getattr(settings, name) for name in FILTERS}
    return [Empty(), *(FILTERS[name](value, languages) for name, value in values.items() if value)]


def _decimal(digits: str) -> str:
    return "".join(str(unicodedata.digit(digit)) for digit in digits)


def _share_in_script(text: str, language: str) -> float:
    if not language:
        return 1.0
    letters = _NO_LETTERS_OF_A_SCRIPT.sub("", text)
    return len(_outside(language).sub("", letters)) / len(letters) if letters else 1.0


@cache
def _outside(language: str) -> Any:
    scripts = "".join(rf"\p{{Script={name}}}" for name in unicode_scripts(language))
    return regex.compile(f"[^{scripts}]+")


def _probability(text: str, wanted: frozenset[str]) -> float:
    if not wanted:
        return 1.0
    return sum(share for label, share in _identifier().rank(text) if label in wanted)


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


@cache
def _labels() -> dict[str, frozenset[str]]:
    """The identifier's labels of each language of this project that it knows."""
    found: dict[str, set[str]] = {}
    for label in _identifier().labels:
        try:
            found.setdefault(canonical(label), set()).add(label)
        except ConfigError:
            continue
    return {language: frozenset(labels) for language, labels in found.items()}
