"""Which pairs are worth learning from: filters that keep a pair or drop it, each drop counted."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
import regex

from orthoglot.corpora.bitext import SentencePair
from orthoglot.corpora.filters import LengthRatio, Sides, make_filters
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
Keys = tuple[str, str]  # by which the sides of a pair are compared
Judge = Callable[[SentencePair, Keys], str]
# By the reason that a drop is counted under: keys of sentences, and the names of the sets that have each.
Banned = Mapping[str, Mapping[str, Iterable[str]]]
AS_READ = CleaningSettings()


def normalised(text: str) -> str:
    """Letters, vowel marks and digits of a text, NFKC, case-folded: texts with the same key count as equal."""
    if text.isascii():
        return text.lower().encode().translate(None, _ASCII_REST).decode()
    key = unicodedata.normalize("NFKC", text).casefold()
    for character in set(key):  # ten times faster than a regular expression on the whole text
        if _IS_LEFT_OUT[character]:
            key = key.replace(character, "")
    return key


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


def filters(
    settings: CleaningSettings,
    banned: Banned,
    languages: Sides,
    overlaps: Counter[str] | None = None,
) -> Judge:
    """A function that says of a tidied pair and the keys of its sides why it is dropped, or "kept".

    Args:
        settings: the thresholds.
        banned: sentences that may stand on neither side.
        languages: of the sides; for sentences without translations, the language and "".
        overlaps: filled in: of the pairs dropped as banned, how many each set has; a pair that two have counts in
            both.
    """
    local = [(one.score, one.accept, one.of_keys, one.reason) for one in make_filters(settings, languages)]

    def judge(pair: SentencePair, keys: Keys) -> str:
        for score, accept, of_keys, reason in local:
            if not accept(score(keys if of_keys else pair)):
                return reason
        for reason, ours in banned.items():
            if keys[0] in ours or keys[1] in ours:
                if overlaps is not None:
                    overlaps.update({name for key in keys for name in ours.get(key, ())})
                return reason
        return "kept"

    return judge


def duplicate_key(pair: SentencePair, keys: Keys, settings: CleaningSettings) -> str:
    """What pairs that count as the same have in common, as `duplicates_by` says; both sides, with a tab between.

    Where a side has no letters, its letters and digits count.
    """
    if settings.duplicates_by == "letters-and-digits":
        return "\t".join(keys)
    if settings.duplicates_by == "letters":
        found = [_NUMBER.sub("", key) for key in keys]
    else:
        words = (_WORD.findall(unicodedata.normalize("NFKC", side).casefold()) for side in pair)
        found = [" ".join(sorted(set(one))) for one in words]
    return "\t".join(one or key for one, key in zip(found, keys, strict=True))


def clean(
    pairs: Iterable[SentencePair],
    settings: CleaningSettings,
    source: str,
    target: str,
    banned: Mapping[str, Iterable[str]],
    counts: Counter[str],
    overlaps: Counter[str] | None = None,
) -> Iterator[tuple[SentencePair, Keys]]:
    """Yield the tidied pairs that every filter accepts which can judge a pair alone, in their order, and their keys.

    The others are counted, each under the first filter that drops it. Duplicates and the ratio of lengths are decided
    when all pairs are known (`orthoglot.corpora.prepare`).

    Args:
        pairs: as read.
        settings: the thresholds.
        source: language of the first side.
        target: language of the second side.
        banned: keys (`normalised`) of sentences that may stand on neither side, and the benchmarks that have each.
        counts: filled in.
        overlaps: filled in, by benchmark, as of `filters`.
    """
    judge = filters(settings, {"benchmark": banned}, (source, target), overlaps)
    for pair in pairs:
        tidied = SentencePair(tidy(pair.source, source, settings), tidy(pair.target, target, settings))
        keys = normalised(tidied.source), normalised(tidied.target)
        reason = judge(tidied, keys)
        if reason == "kept":
            yield tidied, keys
        else:
            counts[reason] += 1


def clean_text(
    sentences: Iterable[str],
    settings: CleaningSettings,
    language: str,
    banned: Banned,
    counts: Counter[str],
    overlaps: Counter[str] | None = None,
) -> Iterator[tuple[str, str]]:
    """Yield the tidied sentences that all filters of single sentences accept, in their order, with their keys.

    A sentence is counted as `clean` counts a pair. Arguments as there, but for `banned`: the sentences to drop by the
    reason that each is counted under; of two reasons the first counts.
    """
    judge = filters(settings.model_copy(update={"drop_copies": False}), banned, (language, ""), overlaps)
    for sentence in sentences:
        tidied = tidy(sentence, language, settings)
        key = normalised(tidied)
        reason = judge(SentencePair(tidied, tidied), (key, key))
        if reason == "kept":
            yield tidied, duplicate_key(SentencePair(tidied, tidied), (key, key), settings)
        else:
            counts[reason] += 1


def drop_dissimilar(
    lengths: np.ndarray | Column, kept: np.ndarray, max_ratio: float, block: int = 1 << 17
) -> None:
    """Set `kept` to False for rows whose sides, each divided by its mean length, differ by a factor above `max_ratio`.

    The means are those of the rows that stay: they are taken again until no row goes, so that a second
    cleaning finds the same means and nothing to drop.

    Args:
        lengths: characters of both sides (N, 2).
        kept: (N,) bool, may be mapped from disk; only its rows count.
        max_ratio: the factor.
        block: rows in memory at once; changes nothing.
    """
    starts = range(0, len(kept), block)
    while True:
        total, count = np.zeros(2, dtype=np.int64), 0
        for start in starts:
            rows = kept[start : start + block]
            total += lengths[start : start + block][rows].sum(axis=0, dtype=np.int64)
            count += int(rows.sum())
        if not count:
            return
        ratio = LengthRatio(max_ratio, total / count)
        dropped = False
        for start in starts:
            rows = np.flatnonzero(kept[start : start + block])
            scores = ratio.scores(lengths[start : start + block][rows].astype(float))
            strange = start + rows[scores > ratio.most]
            kept[strange] = False
            dropped |= bool(len(strange))
        if not dropped:
            return
