"""Scores of translations without references, guarded against output that is no translation."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from orthoglot.apply.model import Model
from orthoglot.corpora.cleaning import normalised
from orthoglot.decomposers.base import Parts, unit
from orthoglot.errors import DataError

BLANK, COPY, UNTRANSLATED = "blank", "copy", "untranslated"
# The score of a copy and of an untranslated sentence: no cosine is lower.
LEAST = -1.0
# Pairs that are encoded at once, and the most whose language parts tell what the two languages look like.
BLOCK = 4096
FEWEST = 20
ROUNDS = 10
logger = logging.getLogger(__name__)


class Scored(NamedTuple):
    """A pair's score in [-1, 1], None of a blank line; why it is no translation, if so; the plain cosine."""

    score: float | None
    flag: str
    similarity: float | None


class Sides(NamedTuple):
    """Mean language parts, each of length 1, of the sources and of the translations."""

    source: np.ndarray
    target: np.ndarray


def score(
    model: Model,
    pairs: Sequence[tuple[str, str]],
    languages: tuple[str | None, str | None] = (None, None),
    block: int = BLOCK,
) -> Iterator[Scored]:
    """The cosine of the meaning parts of each pair, or -1 where the second text is no translation.

    A pair is flagged "blank" if a side has no text, "copy" if both have the same letters and digits, and
    "untranslated" if the language part of the translation is nearer to the mean of the sources' than to that of the
    translations'. The means are those of the first `block` pairs, without the translations that they flag. An encoder
    without a decomposer has no language parts, and a method with weights for each language none that tell languages
    apart: then only copies are found, which is logged.

    Args:
        model: as of `Model.load`.
        pairs: source and translation.
        languages: of the two sides, where the model needs them.
        block: pairs in memory at once.
    """
    guarded, sides = _guards(model, len(pairs)), None
    for start in range(0, len(pairs), block):
        some = pairs[start : start + block]
        flags = [_flag(*pair) for pair in some]
        rows = [row for row, flag in enumerate(flags) if flag != BLANK]
        found = [Scored(None, flag, None) for flag in flags]
        if rows:
            source, target = (
                _parts(model, [some[row][side] for row in rows], languages[side], languages[1 - side])
                for side in (0, 1)
            )
            if guarded:
                sides = sides or means(source.language, target.language)
                for row in np.array(rows)[untranslated(target.language, sides)]:
                    flags[row] = flags[row] or UNTRANSLATED
            cosines = np.einsum("nd,nd->n", unit(source.meaning), unit(target.meaning)).clip(-1, 1)
            for row, cosine in zip(rows, cosines.tolist(), strict=True):
                found[row] = Scored(LEAST if flags[row] else cosine, flags[row], cosine)
        yield from found


def means(source: np.ndarray, target: np.ndarray) -> Sides:
    """The mean language parts of sources and of translations, those left out that look untranslated.

    Args:
        source: language parts (N, D).
        target: language parts (N, D) of their translations.
    """
    kept = np.ones(len(target), dtype=bool)
    for _ in range(ROUNDS):
        sides = Sides(*(unit(unit(one).mean(axis=0)[None])[0] for one in (source, target[kept])))
        before, kept = kept, ~untranslated(target, sides)
        if not kept.any() or (kept == before).all():
            break
    return sides


def untranslated(target: np.ndarray, sides: Sides) -> np.ndarray:
    """Whether the language part of each translation (N, D) is nearer to the sources' mean than to its own side's."""
    directions = unit(target)
    return directions @ sides.source > directions @ sides.target


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
        logger.warning("%d pairs are too few to know both languages: only copies are found", count)
    return count >= FEWEST


def _parts(model: Model, sentences: list[str], language: str | None, partner: str | None) -> Parts:
    """The parts of a decomposer's vectors; of an encoder alone its vector as meaning."""
    if model.decomposer is None:
        vectors = model.encode(sentences, part="sentence", language=language)
        return Parts(vectors, vectors, np.zeros_like(vectors))
    return model.parts(sentences, language=language, partner=partner)
