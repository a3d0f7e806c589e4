"""Which pairs are worth learning from: filters that keep a pair or drop it, each drop counted."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
import regex

from orthoglot.corpora.bitext import SentencePair
from orthoglot.corpora.preparation_settings import CleaningSettings
from orthoglot.languages import has_spaces

# Letters, digits, and the marks that Indic and other scripts write vowels with.
_NOT_ALPHANUMERIC = regex.compile(r"[^\p{L}\p{N}\p{M}]+")
_ASCII_REST = bytes(code for code in range(128) if not chr(code).isalnum())
# White space, controls, and the invisible marks that corpora hold between words (zero-width space, BOM).
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u200b\ufeff]+")
_NOT_LATIN = "[^\u0000-\u024f\u1e00-\u1eff]"
_INNER_SPACE = re.compile(f"(?<={_NOT_LATIN}) (?={_NOT_LATIN})")
Keys = tuple[str, str]  # by which the sides of a pair are compared
Judge = Callable[[SentencePair, Keys], str]


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


def filters(settings: CleaningSettings, banned: Mapping[str, set[str]]) -> Judge:
    """A function that says of a tidied pair and the keys of its sides why it is dropped, or "kept".

    It remembers digests of the keys of what it keeps, to find duplicates.

    Args:
        settings: the thresholds.
        banned: by reason, keys of sentences that may stand on neither side.
    """
    seen: set[bytes] = set()

    def judge(pair: SentencePair, keys: Keys) -> str:
        if not all(keys):
            return "empty"
        if min(map(len, pair)) < settings.min_characters:
            return "too_short"
        if max(map(len, pair)) > settings.max_characters:
            return "too_long"
        if settings.drop_copies and keys[0] == keys[1]:
            return "copy"
        for reason, ours in banned.items():
            if not ours.isdisjoint(keys):
                return reason
        if settings.drop_duplicates:
            digest = hashlib.blake2b("\t".join(keys).encode(), digest_size=16).digest()
            if digest in seen:
                return "duplicate"
            seen.add(digest)
        return "kept"

    return judge


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
    judge = filters(settings, {"benchmark": banned})
    accepted = []
    for pair in pairs:
        tidied = SentencePair(tidy(pair.source, source), tidy(pair.target, target))
        reason = judge(tidied, (normalised(tidied.source), normalised(tidied.target)))
        if reason == "kept":
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
    judge = filters(settings.model_copy(update={"drop_copies": False}), banned)
    for sentence in sentences:
        tidied = tidy(sentence, language)
        key = normalised(tidied)
        reason = judge(SentencePair(tidied, tidied), (key, key))
        counts[reason] += 1
        if reason == "kept":
            yield tidied


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
