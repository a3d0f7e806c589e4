"""Scores of translations without references, guarded against output that is no translation."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from orthoglot.apply.model import Model
from orthoglot.apply.scored import (
    BLANK,
    COPY,
    GUESS,
    LEAST,
    NO_LETTERS,
    OTHER,
    UNTRANSLATED,
    Scored,
    has_letter,
)
from orthoglot.apply.words import Compared, compare, encoder_of, limits
from orthoglot.corpora.language_identifier import labels, probabilities
from orthoglot.decomposers.base import Parts, unit
from orthoglot.drawing.svg import svg
from orthoglot.encoders.pieces import ReadsPieces
from orthoglot.errors import DataError
from orthoglot.languages import canonical
from orthoglot.progress import Done
from orthoglot.text.keys import normalised
from orthoglot.text.shifts import flags_of_runs, flags_of_vectors

# Flags of pairs whose score is the least.
NONE = (COPY, UNTRANSLATED)
# Pairs that are encoded at once, and the most whose language parts tell what the two languages look like.
BLOCK = 4096
# Sentences that are encoded between two signs of progress; fewer if all their tokens are kept.
AT_ONCE, WORDS_AT_ONCE = 512, 128
BATCH_TOKENS = 2048
FEWEST = 20
ROUNDS = 10
# A language part is taken for another language's if its angle with the mean is so many robust standard deviations above
# the median (chosen on FLORES-200, see measurements/scoring/README.md); and the least such deviation, in radians.
FAR, LEAST_SPREAD = 2.5, 0.01
# A sentence is in another language if the identifier finds that one so many times as probable as the expected one; and
# the source's language is accepted without an expected one from this probability on.
TIMES, SURE = 10, 0.9
# Bytes of UTF-8 below which the identifier guesses: of translations of 5 to 19 it flags up to 4 %.
SHORT = 20
# The share of a side that shows which language it is in.
MOST = 0.75
# Standard deviation of a normal distribution over its median absolute deviation.
ROBUST = 1.4826
logger = logging.getLogger(__name__)


class Sides(NamedTuple):
    """What the two languages look like."""

    source: np.ndarray  # mean language part of the sources, of length 1
    target: np.ndarray  # of the translations
    # the largest angle with `source`, in radians, of a language part of the same language
    around_source: float = np.pi
    around_target: float = np.pi  # the same of `target`


def score(
    model: Model,
    pairs: Sequence[tuple[str, str]],
    languages: tuple[str | None, str | None] = (None, None),
    block: int = BLOCK,
    done: Done = lambda _: None,
    identify: bool = True,
    words: bool = False,
) -> Iterator[Scored]:
    """The cosine of the meaning parts of each pair, or -1 where the second text is no translation.

    A pair is flagged "blank" if a side has no text, "copy" if both have the same letters and digits, and "no_letters"
    if a side has no letter. A language identifier flags "untranslated" a translation in the source's language, and
    "other_language" one in a third, see `identified`; this last one keeps its score. It guesses at fewer than 20 bytes.
    What it lets pass, the language parts may call "untranslated?" or "other_language?": see the functions of these
    names. Such a guess leaves the score as it is. What the language parts look like is learnt from the first `block`
    pairs, see `means`. An encoder without a decomposer has no language parts, and a method with weights for each
    language none that tell languages apart: then nothing is guessed, which is logged. The pairs of a run whose
    translations stand some lines away, by what the sides share or by the vectors of a block, are flagged "shifted", and
    those of a run that shares nothing "unrelated" (`orthoglot.text.shifts`); their score stays.

    Args:
        model: as of `Model.load`.
        pairs: source and translation.
        languages: of the two sides, where the model needs them, and for the identifier, which else takes those of a
            model of one language pair, or the language that most sentences of the first block seem to be in.
        block: pairs in memory at once.
        done: gets how many more of the `text_bytes` are done.
        identify: whether the identifier is asked.
        words: whether words are compared, too (`orthoglot.apply.words`). How far a word without a counterpart is, is
            learnt from the first `block` pairs. Each sentence is still encoded once.
    Raises:
        ConfigError: words of an encoder that gives none.
    """
    encoder = encoder_of(model) if words else None
    runs = flags_of_runs(pairs)
    guarded, sides, far = _guards(model, len(pairs)), None, None
    expected = _expected(pairs[:block], _named(model, pairs[:block], languages)) if identify else None
    for start in range(0, len(pairs), block):
        batch = pairs[start : start + block]
        flags = [_flag(*pair) for pair in batch]
        rows = [row for row, flag in enumerate(flags) if flag != BLANK]
        results = [Scored(None, flag, None) for flag in flags]
        if rows:
            if expected:
                for row in rows:
                    text = batch[row][1]
                    named = identified(probabilities(text), *expected)
                    # Few bytes say little of a language.
                    guess = GUESS if named and len(text.encode()) < SHORT else ""
                    flags[row] = flags[row] or named + guess
            source, target, compared = _encoded(model, [batch[row] for row in rows], languages, done, encoder)
            if guarded:
                sides = sides or means(source.language, target.language)
                for name, test in ((UNTRANSLATED, untranslated), (OTHER, other_language)):
                    for row in np.array(rows)[test(target.language, sides)]:
                        flags[row] = flags[row] or name + GUESS
            meanings = unit(source.meaning), unit(target.meaning)
            runs |= {start + rows[row]: name for row, name in flags_of_vectors(*meanings).items()}
            for row in rows:
                if not flags[row] or flags[row].endswith(GUESS):
                    flags[row] = runs.get(start + row, flags[row])
            cosines = np.einsum("nd,nd->n", *meanings).clip(-1, 1)
            if words and far is None:
                # Copies and repeated pairs would make every other word look far.
                different = {
                    batch[row]: comparison.match
                    for row, comparison in zip(rows, compared, strict=True)
                    if not flags[row]
                }
                far = limits([match for match in different.values() if match.compared])
            for number, (row, cosine) in enumerate(zip(rows, cosines.tolist(), strict=True)):
                least = flags[row] in NONE
                quality = compared[number].words(batch[row], cosine, far, least) if far else None
                results[row] = Scored(LEAST if least else cosine, flags[row], cosine, quality)
        done(text_bytes(pair for pair, result in zip(batch, results, strict=True) if result.score is None))
        yield from results


def text_bytes(texts: Iterable[Sequence[str]]) -> int:
    """Bytes of UTF-8 of lists of sentences: a long sentence may take a hundred times as long as a short one."""
    return sum(len(sentence.encode()) for sentences in texts for sentence in sentences)


def identified(found: Mapping[str, float], source: frozenset[str], target: frozenset[str]) -> str:
    """What the identifier says of a translation: "untranslated", "other_language", or "" if nothing is wrong.

    It is in another language if the most probable label is 10 times as probable as all of the target's together, and
    untranslated if that label is one of the source's. Where no label of the target is known, it is untranslated if a
    label of the source has a probability of 0.9.

    Args:
        found: probabilities of labels, highest first.
        source: labels of the source's language; empty if it is not known.
        target: of the target's.
    """
    best, highest = next(iter(found.items()))
    probability = sum(found[label] for label in target)
    if highest <= TIMES * probability or (not target and highest < SURE):
        return ""
    if best in source - target:
        return UNTRANSLATED
    return OTHER if target else ""


def _named(
    model: Model, pairs: Sequence[tuple[str, str]], languages: tuple[str | None, str | None]
) -> tuple[str | None, str | None]:
    """The given languages, or those of a model of one language pair, the source's first.

    The source's is that of the two which more sources seem to be in than translations.
    """
    fitted = model.decomposer.languages if model.decomposer else []
    if any(languages) or len(fitted) != 2:
        return languages

    def more(language: str) -> int:
        wanted = labels(language)
        first, second = (sum(next(iter(probabilities(text))) in wanted for text in side) for side in sides)
        return first - second

    sides = [[pair[side] for pair in pairs if all(map(str.strip, pair))] for side in (0, 1)]
    first, second = fitted
    return (first, second) if more(first) >= more(second) else (second, first)


def _expected(
    pairs: Sequence[tuple[str, str]], languages: tuple[str | None, str | None]
) -> tuple[frozenset[str], frozenset[str]]:
    """The labels of both sides: those of the given languages, or the label that three quarters of a side have.

    Empty for a language that the identifier does not know, which is logged.
    """
    sides = []
    for number, (name, language) in enumerate(zip(("source", "target"), languages, strict=True)):
        if language:
            wanted = labels(canonical(language))
        else:
            texts = [pair[number] for pair in pairs if pair[number].strip()]
            counts = Counter(next(iter(probabilities(text))) for text in texts)
            wanted = frozenset(label for label, count in counts.items() if count >= MOST * len(texts))
        if not wanted:
            about = language or "not known (--source-language and --target-language name them)"
            logger.warning("the identifier cannot check the language of the %s: %s", name, about)
        sides.append(wanted)
    if not languages[1] and sides[0] & sides[1]:
        # Most translations seem to be untranslated, or in a language that the identifier takes for the source's.
        logger.warning(
            "the identifier is not asked: both sides seem to be in one language; --source-language and "
            "--target-language name them"
        )
        return frozenset(), frozenset()
    return sides[0], sides[1]


def means(source: np.ndarray, target: np.ndarray) -> Sides:
    """The mean language parts of sources and of translations, and how far from them those of the same language are.

    Translations that are nearer to the sources' mean than to their own side's are left out.

    Args:
        source: language parts (N, D).
        target: language parts (N, D) of their translations.
    """
    kept = np.ones(len(target), dtype=bool)
    for _ in range(ROUNDS):
        centres = [unit(unit(vectors).mean(axis=0)[None])[0] for vectors in (source, target[kept])]
        sides = Sides(centres[0], centres[1])
        before, kept = kept, ~_nearer_to_source(target, sides)
        if not kept.any() or (kept == before).all():
            break
    if not kept.any():
        return sides
    return sides._replace(
        around_source=_widest(_angles(source, sides.source)),
        around_target=_widest(_angles(target[kept], sides.target)),
    )


def untranslated(target: np.ndarray, sides: Sides) -> np.ndarray:
    """Whether the language part of each translation (N, D) is the sources'.

    It is nearer to the sources' mean than to its own side's, and within the angle of the former that sources have.
    """
    return _nearer_to_source(target, sides) & (_angles(target, sides.source) <= sides.around_source)


def other_language(target: np.ndarray, sides: Sides) -> np.ndarray:
    """Whether the angle of the language part of each translation (N, D) with its side's mean is above that of most.

    The limit is the median of the angles plus 2.5 times 1.4826 times their median absolute deviation, at least 0.01
    radians: it is learnt from the pairs themselves, most of which have to be in the right language.
    """
    return _angles(target, sides.target) > sides.around_target


def _nearer_to_source(target: np.ndarray, sides: Sides) -> np.ndarray:
    directions = unit(target)
    return directions @ sides.source > directions @ sides.target


def _angles(vectors: np.ndarray, centre: np.ndarray) -> np.ndarray:
    return np.arccos((unit(vectors) @ centre).clip(-1, 1))


def _widest(angles: np.ndarray) -> float:
    middle = np.median(angles)
    spread = max(ROBUST * np.median(np.abs(angles - middle)), LEAST_SPREAD)
    return float(middle + FAR * spread)


def _flag(source: str, target: str) -> str:
    if not source.strip() or not target.strip():
        return BLANK
    if normalised(source) == normalised(target) != "":
        return COPY
    return "" if has_letter(source) and has_letter(target) else NO_LETTERS


def _guards(model: Model, count: int) -> bool:
    """Whether language parts can tell the two languages apart."""
    if model.decomposer is None:
        logger.warning("%s has no decomposer: its vectors tell nothing of languages", model.encoder.name)
        return False
    try:
        model.decomposer.transform(np.ones((1, model.decomposer.dim), dtype=np.float32), "")
    except DataError:
        logger.warning(
            "%s takes the language as given: its vectors tell nothing of languages", model.decomposer.method
        )
        return False
    if count < FEWEST:
        logger.warning(
            "language parts tell languages apart from %d pairs on: of fewer (%d) they are not asked",
            FEWEST,
            count,
        )
    return count >= FEWEST


def _encoded(
    model: Model,
    pairs: Sequence[tuple[str, str]],
    languages: tuple[str | None, str | None],
    done: Done,
    encoder: ReadsPieces | None,
) -> tuple[Parts, Parts, list[Compared]]:
    """The parts of sources and of translations, and how their words compare if the encoder shall give them."""
    parts: tuple[list[Parts], list[Parts]] = ([], [])
    compared: list[Compared] = []
    at_once = WORDS_AT_ONCE if encoder else AT_ONCE
    for start in range(0, len(pairs), at_once):
        texts = [[pair[side] for pair in pairs[start : start + at_once]] for side in (0, 1)]
        batches: tuple[Parts, ...]
        if encoder:
            first, second = (
                encoder.pieces(sentences, language or "", BATCH_TOKENS)
                for sentences, language in zip(texts, languages, strict=True)
            )
            batches, of_words = compare(model, (first, second), languages)
            compared += of_words
        else:
            batches = tuple(
                model.split(model.encode(sentences, part="sentence", language=language), language, partner)
                for sentences, language, partner in zip(texts, languages, languages[::-1], strict=True)
            )
        for side, batch in zip(parts, batches, strict=True):
            side.append(batch)
        done(text_bytes(texts))
    source, target = (Parts(*map(np.concatenate, zip(*side, strict=True))) for side in parts)
    return source, target, compared


def picture(every: Sequence[Scored]) -> str:
    """How many pairs have which score, as SVG: those without a flag, and those with one."""
    values = [
        {"score": scored.score, "flag": scored.flag or "none"} for scored in every if scored.score is not None
    ]
    return str(
        svg(
            {
                "width": 480,
                "height": 280,
                "data": {"values": values},
                "mark": "bar",
                "encoding": {
                    "x": {"field": "score", "type": "quantitative", "bin": {"maxbins": 50}, "title": "score"},
                    "y": {"aggregate": "count", "type": "quantitative", "title": "pairs"},
                    "color": {"field": "flag", "type": "nominal", "title": "flag"},
                },
            }
        )
    )
