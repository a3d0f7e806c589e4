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
from orthoglot.corpora.filters import LengthRatio, Sides, make_filters
from orthoglot.corpora.preparation_settings import CleaningSettings
from orthoglot.languages import has_spaces, spaces_divide_phrases

# Letters, digits, and the marks that Indic and other scripts write vowels with.
_NOT_ALPHANUMERIC = regex.compile(r"[^\p{L}\p{N}\p{M}]+")
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
    return _NOT_ALPHANUMERIC.sub("", unicodedata.normalize("NFKC", text).casefold())


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

    It remembers digests of what it keeps, of 128 bits, to find duplicates.

    Args:
        settings: the thresholds.
        banned: sentences that may stand on neither side.
        languages: of the sides; for sentences without translations, the language and "".
        overlaps: filled in: of the pairs dropped as banned, how many each set has; a pair that two have counts in
            both.
    """
    local = [(one.score, one.accept, one.of_keys, one.reason) for one in make_filters(settings, languages)]
    seen: set[bytes] = set()

    def judge(pair: SentencePair, keys: Keys) -> str:
        for score, accept, of_keys, reason in local:
            if not accept(score(keys if of_keys else pair)):
                return reason
        for reason, ours in banned.items():
            if keys[0] in ours or keys[1] in ours:
                if overlaps is not None:
                    overlaps.update({name for key in keys for name in ours.get(key, ())})
                return reason
        if settings.drop_duplicates:
            digest = hashlib.blake2b(duplicate_key(pair, keys, settings).encode(), digest_size=16).digest()
            if digest in seen:
                return "duplicate"
            seen.add(digest)
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
) -> Iterator[SentencePair]:
    """Yield the tidied pairs that every filter accepts, in their order.

    A pair is counted once: as "kept", or under the first filter that drops it. The sum is the number of
    pairs read. Cleaning what was cleaned drops nothing.

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
    accepted = []
    for pair in pairs:
        tidied = SentencePair(tidy(pair.source, source, settings), tidy(pair.target, target, settings))
        reason = judge(tidied, (normalised(tidied.source), normalised(tidied.target)))
        if reason == "kept":
            accepted.append(tidied)
        else:
            counts[reason] += 1
    kept = range(len(accepted)) if settings.opusfilter else _of_similar_length(accepted, settings.max_ratio)
    counts["ratio"] += len(accepted) - len(kept)
    counts["kept"] += len(kept)
    yield from (accepted[row] for row in kept)


def clean_text(
    sentences: Iterable[str],
    settings: CleaningSettings,
    language: str,
    banned: Banned,
    counts: Counter[str],
    overlaps: Counter[str] | None = None,
) -> Iterator[str]:
    """Yield the tidied sentences that every filter accepts which can judge a sentence alone, in their order.

    A sentence is counted as `clean` counts a pair. Arguments as there, but for `banned`: the sentences to drop by the
    reason that each is counted under; of two reasons the first counts.
    """
    judge = filters(settings.model_copy(update={"drop_copies": False}), banned, (language, ""), overlaps)
    for sentence in sentences:
        tidied = tidy(sentence, language, settings)
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
        one = LengthRatio(max_ratio, lengths[rows].mean(axis=0))
        similar = one.scores(lengths[rows]) <= one.most
        if similar.all():
            break
        rows = rows[similar]
    return rows
