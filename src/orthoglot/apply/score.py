"""Scores of translations without references, guarded against output that is no translation."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from orthoglot.apply.model import Model
from orthoglot.corpora.cleaning import normalised
from orthoglot.decomposers.base import Parts, unit
from orthoglot.errors import DataError
from orthoglot.progress import Done

BLANK, COPY, UNTRANSLATED, OTHER = "blank", "copy", "untranslated", "other_language"
# The score of a copy and of an untranslated sentence: no cosine is lower.
NONE, LEAST = (COPY, UNTRANSLATED), -1.0
# Pairs that are encoded at once, and the most whose language parts tell what the two languages look like.
BLOCK = 4096
# Sentences that are encoded between two signs of progress.
AT_ONCE = 512
FEWEST = 20
ROUNDS = 10
# A language part is taken for another language's if its angle with the mean is so many robust standard deviations above
# the median (chosen on FLORES-200, see docs/results/scoring.md); and the least such deviation, in radians.
FAR, LEAST_SPREAD = 2.5, 0.01
# Of a normal distribution, its standard deviation over its median absolute deviation.
ROBUST = 1.4826
logger = logging.getLogger(__name__)


class Scored(NamedTuple):
    """A pair's score in [-1, 1], None of a blank line; why it is no translation, if so; the plain cosine."""

    score: float | None
    flag: str
    similarity: float | None


class Sides(NamedTuple):
    """What the two languages look like.

    Attributes:
        source: mean language part of the sources, of length 1.
        target: of the translations.
        around_source: the largest angle with `source`, in radians, of a language part of the same language.
        around_target: the same of `target`.
    """

    source: np.ndarray
    target: np.ndarray
    around_source: float = np.pi
    around_target: float = np.pi


def score(
    model: Model,
    pairs: Sequence[tuple[str, str]],
    languages: tuple[str | None, str | None] = (None, None),
    block: int = BLOCK,
    done: Done = lambda _: None,
) -> Iterator[Scored]:
    """The cosine of the meaning parts of each pair, or -1 where the second text is no translation.

    A pair is flagged "blank" if a side has no text, "copy" if both have the same letters and digits, "untranslated" if
    the language part of the translation is one of the sources' (see `untranslated`), and "other_language" if it is far
    from most of the translations' (see `other_language`); this last flag, a guess, leaves the score as it is. What the
    languages look like is learnt from the first `block` pairs, see `means`. An encoder without a decomposer has no
    language parts, and a method with weights for each language none that tell languages apart: then only copies are
    found, which is logged.

    Args:
        model: as of `Model.load`.
        pairs: source and translation.
        languages: of the two sides, where the model needs them.
        block: pairs in memory at once.
        done: gets how many more sentences are encoded, of two for each pair.
    """
    guarded, sides = _guards(model, len(pairs)), None
    for start in range(0, len(pairs), block):
        some = pairs[start : start + block]
        flags = [_flag(*pair) for pair in some]
        rows = [row for row, flag in enumerate(flags) if flag != BLANK]
        found = [Scored(None, flag, None) for flag in flags]
        if rows:
            source, target = (
                _parts(model, [some[row][side] for row in rows], languages[side], languages[1 - side], done)
                for side in (0, 1)
            )
            if guarded:
                sides = sides or means(source.language, target.language)
                for name, test in ((UNTRANSLATED, untranslated), (OTHER, other_language)):
                    for row in np.array(rows)[test(target.language, sides)]:
                        flags[row] = flags[row] or name
            cosines = np.einsum("nd,nd->n", unit(source.meaning), unit(target.meaning)).clip(-1, 1)
            for row, cosine in zip(rows, cosines.tolist(), strict=True):
                found[row] = Scored(LEAST if flags[row] in NONE else cosine, flags[row], cosine)
        done(2 * (len(some) - len(rows)))
        yield from found


def unreliable(good: Sequence[Scored], share: float) -> set[str]:
    """The flags of a language that more than a share of good translations have.

    In a language that the model was not fitted on, language parts may tell too little.

    Args:
        good: scores of good translations.
        share: in [0, 1].
    """
    counts = Counter(one.flag for one in good)
    return {flag for flag in (UNTRANSLATED, OTHER) if counts[flag] > share * len(good)}


def without(flags: set[str], one: Scored) -> Scored:
    """A score as if the flags did not exist."""
    return Scored(one.similarity, "", one.similarity) if one.flag in flags else one


def means(source: np.ndarray, target: np.ndarray) -> Sides:
    """The mean language parts of sources and of translations, and how far from them those of the same language are.

    Translations that are nearer to the sources' mean than to their own side's are left out.

    Args:
        source: language parts (N, D).
        target: language parts (N, D) of their translations.
    """
    kept = np.ones(len(target), dtype=bool)
    for _ in range(ROUNDS):
        centres = [unit(unit(one).mean(axis=0)[None])[0] for one in (source, target[kept])]
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
    return COPY if normalised(source) == normalised(target) != "" else ""


def _guards(model: Model, count: int) -> bool:
    """Whether language parts can tell the two languages apart."""
    if model.decomposer is None:
        logger.warning(
            "%s has no decomposer: untranslated text is found only if it is a copy", model.encoder.name
        )
        return False
    try:
        model.decomposer.transform(np.ones((1, model.decomposer.dim), dtype=np.float32), "")
    except DataError:
        logger.warning(
            "%s takes the language as given: untranslated text is found only if it is a copy",
            model.decomposer.method,
        )
        return False
    if count < FEWEST:
        logger.warning(
            "both languages are known from %d pairs on: of fewer (%d) only copies are found", FEWEST, count
        )
    return count >= FEWEST


def _parts(
    model: Model, sentences: list[str], language: str | None, partner: str | None, done: Done
) -> Parts:
    """The parts of a decomposer's vectors; of an encoder alone its vector as meaning."""
    found = []
    for start in range(0, len(sentences), AT_ONCE):
        some = sentences[start : start + AT_ONCE]
        if model.decomposer is None:
            vectors = model.encode(some, part="sentence", language=language)
            found.append(Parts(vectors, vectors, np.zeros_like(vectors)))
        else:
            found.append(model.parts(some, language=language, partner=partner))
        done(len(some))
    return Parts(*map(np.concatenate, zip(*found, strict=True)))
