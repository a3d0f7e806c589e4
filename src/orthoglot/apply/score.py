"""Scores of translations without references, guarded against output that is no translation."""

from __future__ import annotations

import logging
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
from orthoglot.corpora.language_identifier import label_counts, labels, probabilities
from orthoglot.decomposers.base import Parts, unit
from orthoglot.drawing.svg import svg
from orthoglot.encoders.token_states import ReadsPieces
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
    target: np.ndarray  # mean language part of the translations, of length 1
    # the largest angle (radians) between `source`, or `target`, and a language part of that language
    source_radius: float = np.pi
    target_radius: float = np.pi


def score(
    model: Model,
    pairs: Sequence[tuple[str, str]],
    languages: tuple[str | None, str | None] = (None, None),
    block: int = BLOCK,
    done: Done = lambda _: None,
    identify: bool = True,
    words: bool = False,
    alone: bool = False,
) -> Iterator[Scored]:
    """Yield the cosine of the meaning parts of each pair, and a flag where the second text may be no translation.

    A flag is the first of these that holds. Those with a question mark are guesses. With "copy" and "untranslated" the
    score is -1, with "blank" there is none, and the others leave it as it is.

    - "blank": a side has no text.
    - "copy": both sides have the same letters and digits.
    - "no_letters": a side has no letter.
    - "untranslated", "other_language": the language identifier finds the source's language, or a third one, in the
      translation, see `identified`. With a question mark if the translation has fewer than 20 bytes.
    - "shifted", "unrelated": the pair is in a run whose translations stand some lines away, or that shares nothing, by
      words or by vectors (`orthoglot.text.shifts`). They come before guesses.
    - "untranslated?", "other_language?": the language part is like one of another language, see the functions of these
      names. What language parts look like is learnt from the first `block` pairs, see `means`. Without a decomposer,
      and with weights for each language, they tell nothing, which is logged.

    Args:
        model: A model, see `Model.load`.
        pairs: Source and translation.
        languages: The languages of the two sides, for models that need them and for the identifier. If none is given,
            the identifier takes the languages of a model of one language pair. Else a side without one has the language
            that three quarters of its sentences in the first block seem to be in.
        block: The pairs in memory at once.
        done: A function that gets how many more of the `text_bytes` are done.
        identify: Whether the identifier is asked.
        words: Whether words are compared, too (`orthoglot.apply.words`). How far a word without a counterpart is, is
            learnt from the first `block` pairs. Each sentence is still encoded once.
        alone: Whether each pair is judged without those beside it: no runs, and no guesses by language parts.
    Raises:
        ConfigError: words of an encoder that gives none.
    """
    encoder = encoder_of(model) if words else None
    run_flags = {} if alone else flags_of_runs(pairs)
    guarded, sides, far = not alone and _tells_languages(model, len(pairs)), None, None
    expected = _expected(model, pairs[:block], languages) if identify else None
    for start in range(0, len(pairs), block):
        batch = pairs[start : start + block]
        results = [Scored(None, BLANK, None)] * len(batch)
        rows = [row for row, pair in enumerate(batch) if all(map(str.strip, pair))]
        texts = [batch[row] for row in rows]
        if texts:
            flags = [_flag(*pair, expected) for pair in texts]
            source, target, compared = _encoded(model, texts, languages, done, encoder)
            if guarded:
                sides = sides or means(source.language, target.language)
                for name, test in ((UNTRANSLATED, untranslated), (OTHER, other_language)):
                    for place in np.flatnonzero(test(target.language, sides)).tolist():
                        flags[place] = flags[place] or name + GUESS
            meanings = unit(source.meaning), unit(target.meaning)
            if not alone:
                run_flags |= {
                    start + rows[place]: name for place, name in flags_of_vectors(*meanings).items()
                }
            for place, row in enumerate(rows):
                if not flags[place] or flags[place].endswith(GUESS):
                    flags[place] = run_flags.get(start + row, flags[place])
            cosines = np.einsum("nd,nd->n", *meanings).clip(-1, 1).tolist()
            if words and far is None:
                # Copies and repeated pairs would make every other word look far.
                unflagged = (place for place, flag in enumerate(flags) if not flag)
                matches = {texts[place]: compared[place].match for place in unflagged}
                far = limits([match for match in matches.values() if match.compared])
            for place, row in enumerate(rows):
                cosine, least = cosines[place], flags[place] in NONE
                quality = compared[place].words(texts[place], cosine, far, least) if far else None
                results[row] = Scored(LEAST if least else cosine, flags[place], cosine, quality)
        done(text_bytes(batch) - text_bytes(texts))
        yield from results


def text_bytes(texts: Iterable[Sequence[str]]) -> int:
    """Bytes of UTF-8 of lists of sentences: a long sentence may take a hundred times as long as a short one."""
    return sum(len(sentence.encode()) for sentences in texts for sentence in sentences)


def _flag(source: str, target: str, expected: tuple[frozenset[str], frozenset[str]] | None) -> str:
    """The flag of a pair by its text alone; `expected` has the identifier's labels of both sides, if it is asked."""
    if normalised(source) == normalised(target) != "":
        return COPY
    if not (has_letter(source) and has_letter(target)):
        return NO_LETTERS
    flag = identified(probabilities(target), *expected) if expected else ""
    return flag + GUESS if flag and len(target.encode()) < SHORT else flag


def identified(chances: Mapping[str, float], source: frozenset[str], target: frozenset[str]) -> str:
    """What the identifier says of a translation: "untranslated", "other_language", or "" if nothing is wrong.

    It is in another language if the most probable label is 10 times as probable as all of the target's together, and
    untranslated if that label is one of the source's. Where no label of the target is known, it is untranslated if a
    label of the source has a probability of 0.9.

    Args:
        chances: The probabilities of labels, highest first.
        source: The labels of the source's language; empty if it is not known.
        target: The labels of the target's language; empty if it is not known.
    """
    best, highest = next(iter(chances.items()))
    probability = sum(chances[label] for label in target)
    if highest <= TIMES * probability or (not target and highest < SURE):
        return ""
    if best in source - target:
        return UNTRANSLATED
    return OTHER if target else ""


def _expected(
    model: Model, pairs: Sequence[tuple[str, str]], languages: tuple[str | None, str | None]
) -> tuple[frozenset[str], frozenset[str]] | None:
    """The identifier's labels of both sides, see `score`; None if both seem to be in one language, which is logged."""
    fitted = model.decomposer.languages if model.decomposer else []
    if not any(languages) and len(fitted) == 2:
        pairs_with_text = [pair for pair in pairs if all(map(str.strip, pair))]
        sources, targets = (label_counts(pair[side] for pair in pairs_with_text) for side in (0, 1))
        # The source's language is the one that more sources seem to be in than translations.
        first, second = (sum(sources[label] - targets[label] for label in labels(code)) for code in fitted)
        languages = (fitted[0], fitted[1]) if first >= second else (fitted[1], fitted[0])
    sides = []
    for side, (name, language) in enumerate(zip(("source", "target"), languages, strict=True)):
        if language:
            wanted = labels(canonical(language))
        else:
            counts = label_counts(pair[side] for pair in pairs)
            most = MOST * counts.total()
            wanted = frozenset(label for label, count in counts.items() if count >= most)
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
        return None
    return sides[0], sides[1]


def means(source: np.ndarray, target: np.ndarray) -> Sides:
    """The mean language parts of sources (N, D) and translations (N, D), and how far those of each language reach.

    Translations that are nearer to the sources' mean than to their own side's are left out.
    """
    in_language = np.ones(len(target), dtype=bool)  # translations in the language of their side
    for _ in range(ROUNDS):
        centres = [unit(unit(vectors).mean(axis=0)[None])[0] for vectors in (source, target[in_language])]
        sides = Sides(centres[0], centres[1])
        before, in_language = in_language, ~_nearer_to_source(target, sides)
        if not in_language.any() or (in_language == before).all():
            break
    if not in_language.any():
        return sides
    return sides._replace(
        source_radius=_radius(_angles(source, sides.source)),
        target_radius=_radius(_angles(target[in_language], sides.target)),
    )


def untranslated(target: np.ndarray, sides: Sides) -> np.ndarray:
    """Whether the language part of each translation (N, D) is the sources'.

    It is nearer to the sources' mean than to its own side's, and within the angle of the former that sources have.
    """
    return _nearer_to_source(target, sides) & (_angles(target, sides.source) <= sides.source_radius)


def other_language(target: np.ndarray, sides: Sides) -> np.ndarray:
    """Whether the angle of the language part of each translation (N, D) with its side's mean is above that of most.

    The limit is the median of the angles plus 2.5 times 1.4826 times their median absolute deviation, at least 0.01
    radians: it is learnt from the pairs themselves, most of which have to be in the right language.
    """
    return _angles(target, sides.target) > sides.target_radius


def _nearer_to_source(target: np.ndarray, sides: Sides) -> np.ndarray:
    directions = unit(target)
    return directions @ sides.source > directions @ sides.target


def _angles(vectors: np.ndarray, centre: np.ndarray) -> np.ndarray:
    return np.arccos((unit(vectors) @ centre).clip(-1, 1))


def _radius(angles: np.ndarray) -> float:
    middle = np.median(angles)
    spread = max(ROBUST * np.median(np.abs(angles - middle)), LEAST_SPREAD)
    return float(middle + FAR * spread)


def _tells_languages(model: Model, count: int) -> bool:
    """Whether language parts can tell the languages of so many pairs apart; if not, the reason is logged."""
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
    """The parts of sources and of translations, and how their words compare if there is an encoder that gives them."""
    parts: list[tuple[Parts, Parts]] = []
    compared: list[Compared] = []
    at_once = WORDS_AT_ONCE if encoder else AT_ONCE
    for start in range(0, len(pairs), at_once):
        sides = [[pair[side] for pair in pairs[start : start + at_once]] for side in (0, 1)]
        if encoder:
            first, second = (
                encoder.pieces(texts, language or "", BATCH_TOKENS)
                for texts, language in zip(sides, languages, strict=True)
            )
            both, of_words = compare(model, (first, second), languages)
            compared += of_words
        else:
            source, target = (
                model.split(model.encode(texts, part="sentence", language=language), language, partner)
                for texts, language, partner in zip(sides, languages, languages[::-1], strict=True)
            )
            both = source, target
        parts.append(both)
        done(text_bytes(sides))
    source, target = (
        Parts(*map(np.concatenate, zip(*side, strict=True))) for side in zip(*parts, strict=True)
    )
    return source, target, compared


def picture(scores: Sequence[Scored]) -> str:
    """How many pairs have which score, as SVG: those without a flag, and those with one."""
    values = [
        {"score": scored.score, "flag": scored.flag or "none"}
        for scored in scores
        if scored.score is not None
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
