"""Which pairs are worth learning from: filters that score a pair and accept or drop it, each drop counted."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import regex

from orthoglot.corpora.bitext import SentencePair
from orthoglot.corpora.settings import CleaningSettings
from orthoglot.languages import has_spaces

# Letters, digits, and the marks that Indic and other scripts write vowels with.
_NOT_ALPHANUMERIC = regex.compile(r"[^\p{L}\p{N}\p{M}]+")
_ASCII_REST = bytes(code for code in range(128) if not chr(code).isalnum())
# White space, controls, and the invisible marks that corpora hold between words (zero-width space, BOM).
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u200b\ufeff]+")
_NOT_LATIN = "[^\u0000-\u024f\u1e00-\u1eff]"
_INNER_SPACE = re.compile(f"(?<={_NOT_LATIN}) (?={_NOT_LATIN})")


class Candidate(NamedTuple):
    """A tidied pair with the keys by which its sides are compared."""

    pair: SentencePair
    source_key: str
    target_key: str


@dataclass(frozen=True)
class Filter:
    """`score` measures a pair, `accept` decides; `reason` is the name its drops are counted under."""

    reason: str
    score: Callable[[Candidate], float]
    accept: Callable[[float], bool]


def normalised(text: str) -> str:
    """Letters, vowel marks and digits of a text, NFKC, case-folded: texts with the same key count as equal."""
    if text.isascii():
        return text.lower().encode().translate(None, _ASCII_REST).decode()
    return _NOT_ALPHANUMERIC.sub("", unicodedata.normalize("NFKC", text).casefold())


def tidy(sentence: str, language: str) -> str:
    """Make every run of white space and control characters one space, none at the ends.

    In a language without spaces between words, spaces between two characters that are not Latin go: some
    corpora (Tanaka) are split into words.
    """
    plain = sentence.isprintable() and "  " not in sentence
    text = (sentence if plain else _BLANKS.sub(" ", sentence)).strip()
    return text if has_spaces(language) else _INNER_SPACE.sub("", text)


def filters(settings: CleaningSettings, banned: Mapping[str, set[str]]) -> list[Filter]:
    """The filters that judge one pair at a time, in the order in which they are asked.

    Args:
        settings: the thresholds.
        banned: by reason, keys of sentences that may stand on neither side.
    """
    chosen = [
        Filter("empty", lambda c: min(len(c.source_key), len(c.target_key)), lambda score: score > 0),
        Filter("too_short", lambda c: min(map(len, c.pair)), lambda score: score >= settings.min_characters),
        Filter("too_long", lambda c: max(map(len, c.pair)), lambda score: score <= settings.max_characters),
    ]
    if settings.drop_copies:
        chosen.append(Filter("copy", lambda c: c.source_key == c.target_key, lambda score: not score))
    chosen += [Filter(reason, _Among(keys), lambda score: score == 0) for reason, keys in banned.items()]
    if settings.drop_duplicates:
        chosen.append(Filter("duplicate", _Repetitions(), lambda score: score == 0))
    return chosen


def clean(
    pairs: Iterable[SentencePair],
    settings: CleaningSettings,
    source: str,
    target: str,
    banned: set[str],
    counts: Counter[str],
) -> Iterator[SentencePair]:
    """Yield the tidied pairs that every filter accepts, in their order.

    A pair is counted once: as "kept", or under the first filter that drops it. The sum is the number of
    pairs read. Cleaning what was cleaned drops nothing.

    Args:
        pairs: as read.
        settings: the thresholds.
        source: language of the first side.
        target: language of the second side.
        banned: keys (`normalised`) of sentences that may stand on neither side: the benchmarks'.
        counts: filled in.
    """
    judges = filters(settings, {"benchmark": banned})
    accepted = []
    for pair in pairs:
        tidied = SentencePair(tidy(pair.source, source), tidy(pair.target, target))
        candidate = Candidate(tidied, normalised(tidied.source), normalised(tidied.target))
        reason = next((judge.reason for judge in judges if not judge.accept(judge.score(candidate))), None)
        if reason is None:
            accepted.append(tidied)
        else:
            counts[reason] += 1
    kept = _of_similar_length(accepted, settings.max_ratio)
    counts["ratio"] += len(accepted) - len(kept)
    counts["kept"] += len(kept)
    yield from (accepted[row] for row in kept)


def clean_text(
    sentences: Iterable[str],
    settings: CleaningSettings,
    language: str,
    banned: Mapping[str, set[str]],
    counts: Counter[str],
) -> Iterator[str]:
    """Yield the tidied sentences that every filter accepts which can judge a sentence alone, in their order.

    A sentence is counted as `clean` counts a pair. Arguments as there, but for `banned`: keys of the sentences to
    drop by the reason that each is counted under; of two reasons the first counts.
    """
    judges = filters(settings.model_copy(update={"drop_copies": False}), banned)
    for sentence in sentences:
        tidied = tidy(sentence, language)
        key = normalised(tidied)
        candidate = Candidate(SentencePair(tidied, tidied), key, key)
        reason = next((judge.reason for judge in judges if not judge.accept(judge.score(candidate))), "kept")
        counts[reason] += 1
        if reason == "kept":
            yield tidied


class _Among:
    """Scores how many of a pair's keys are among some."""

    def __init__(self, keys: set[str]) -> None:
        self._keys = keys

    def __call__(self, candidate: Candidate) -> float:
        return len(self._keys.intersection(candidate[1:]))


class _Repetitions:
    """Scores 1 for a pair whose two keys were seen before; remembers digests, not texts."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()

    def __call__(self, candidate: Candidate) -> float:
        keys = f"{candidate.source_key}\t{candidate.target_key}"
        digest = hashlib.blake2b(keys.encode(), digest_size=16).digest()
        if digest in self._seen:
            return 1
        self._seen.add(digest)
        return 0


def _of_similar_length(pairs: list[SentencePair], max_ratio: float) -> np.ndarray:
    """Rows whose sides, each divided by its mean length, differ by a factor of at most `max_ratio`.

    The means are those of the rows that stay: they are taken again until no row goes, so that a second
    cleaning finds the same means and nothing to drop.
    """
    lengths = np.array([(len(pair.source), len(pair.target)) for pair in pairs], dtype=float).reshape(-1, 2)
    rows = np.arange(len(pairs))
    while len(rows):
        scaled = np.log(lengths[rows] / lengths[rows].mean(axis=0))
        similar = np.abs(scaled[:, 0] - scaled[:, 1]) <= np.log(max_ratio)
        if similar.all():
            break
        rows = rows[similar]
    return rows
