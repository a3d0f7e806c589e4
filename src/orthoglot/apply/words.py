"""Which words of a sentence and of its translation have no counterpart, and how good that makes the translation."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import regex

from orthoglot.apply.model import Model
from orthoglot.apply.scored import LEAST, Words
from orthoglot.decomposers.base import Parts, unit
from orthoglot.encoders.token_states import Pieces, ReadsPieces
from orthoglot.errors import ConfigError

# The power of the power mean of distances: the mean is near the largest (chosen on development sets).
POWER = 8
# So large a share of the words of the better half of pairs is below the limit; fewer pairs give none.
MATCHED, FEWEST = 0.95, 20
# Tokens that are split at once.
AT_ONCE = 16_384
# Letters and digits of scripts with spaces between words; of others, a token is shown.
WORD = regex.compile(
    r"(?:(?![\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}])[\w\'’-])+"
)
logger = logging.getLogger(__name__)


class Match(NamedTuple):
    """How far the tokens of a sentence and of its translation are from the nearest of the other side.

    It is empty where they are not compared: a side has no token, or is cut off.
    """

    source: np.ndarray  # 1 - the highest cosine with a token of the translation, of each token (T,)
    target: np.ndarray  # of the translation's tokens (T',) with those of the source

    @property
    def compared(self) -> bool:
        """Whether it is not empty."""
        return len(self.source) > 0

    def quality(self, sentences: float) -> float:
        """Mean of the cosine c of the sentences and of what the worst matches say, in [-1, 1].

        q = (c + 1 - (M(source) + M(target)) / 2) / 2,   M(d) = (mean_i d_i^8)^(1/8)

        Source: docs/papers.md#words.
        """
        worst = [float(np.mean(side**POWER) ** (1 / POWER)) for side in self]
        return (sentences + 1 - sum(worst) / 2) / 2


class Limits(NamedTuple):
    """The distance above which a token has no counterpart, of the sources and of the translations."""

    source: float
    target: float


class Compared(NamedTuple):
    """How the words of a pair compare."""

    match: Match  # distances of its tokens
    spans: tuple[np.ndarray, np.ndarray]  # of the tokens of source and translation in their text

    def words(self, pair: Sequence[str], cosine: float, far: Limits, least: bool) -> Words:
        """Quality, or the lowest there is, and the words without a counterpart; nothing if they are not compared.

        Args:
            pair: The two sentences.
            cosine: Their cosine.
            far: The distances above which a token has no counterpart.
            least: Whether the second sentence is no translation.
        """
        if not self.match.compared:
            return Words(LEAST if least else None)
        quality = LEAST if least else self.match.quality(cosine)
        return Words(quality, *map(without_counterpart, pair, self.spans, self.match, far))


def encoder_of(model: Model) -> ReadsPieces:
    """The encoder of a model, whose tokens can be compared.

    Raises:
        ConfigError: it gives no tokens, or none that are in the space of sentences.
    """
    encoder = model.encoder
    if not isinstance(encoder, ReadsPieces):
        raise ConfigError(
            f"words cannot be compared: encoder {encoder.name} gives vectors of sentences alone"
        )
    encoder.check_pieces()
    return encoder


def tokens(
    model: Model, read: Sequence[Pieces], language: str | None, partner: str | None
) -> list[np.ndarray]:
    """Meaning vectors of length 1 of each sentence's tokens: their states are split as sentences are."""
    sizes = np.array([len(pieces.states) for pieces in read])
    by_sentence: list[np.ndarray] = []
    # Some sentences at once: the parts of long ones take gigabytes.
    for rows in np.split(np.arange(len(read)), np.flatnonzero(np.diff(sizes.cumsum() // AT_ONCE)) + 1):
        states = np.concatenate([read[row].states for row in rows])
        vectors = unit(model.split(states, language, partner).meaning) if len(states) else states
        by_sentence += np.split(vectors.astype(np.float32), sizes[rows].cumsum()[:-1])
    return by_sentence


def compare(
    model: Model,
    read: tuple[Sequence[Pieces], Sequence[Pieces]],
    languages: tuple[str | None, str | None],
) -> tuple[tuple[Parts, Parts], list[Compared]]:
    """The parts of the sentences of both sides, and how the words of each pair compare.

    Args:
        model: The model whose encoder `encoder_of` gives.
        read: The tokens of the sources and of their translations, by that encoder.
        languages: The languages of the two sides, where the model needs them.
    """
    ways = [(languages[side], languages[1 - side]) for side in (0, 1)]
    first, second = (
        model.split(np.stack([pieces.vector for pieces in side]), *way)
        for side, way in zip(read, ways, strict=True)
    )
    vectors = (tokens(model, side, *way) for side, way in zip(read, ways, strict=True))
    comparisons = []
    for source, target, source_pieces, target_pieces in zip(*vectors, *read, strict=True):
        whole = len(source) and len(target) and not (source_pieces.cut or target_pieces.cut)
        matched = match(source, target) if whole else Match(np.zeros(0), np.zeros(0))
        comparisons.append(Compared(matched, (source_pieces.spans, target_pieces.spans)))
    return (first, second), comparisons


def match(source: np.ndarray, target: np.ndarray) -> Match:
    """Compare the tokens of a sentence (T, D) and of its translation (T', D), of length 1."""
    cosines = (source @ target.T).clip(-1, 1)
    return Match(1 - cosines.max(axis=1), 1 - cosines.max(axis=0))


def limits(matches: Sequence[Match]) -> Limits:
    """What to take for no counterpart: more than 95 % of the distances in the half of pairs with the lowest mean.

    Pairs are different and no copies; fewer than 20 teach nothing, and nothing is shown.
    """
    if len(matches) < FEWEST:
        logger.warning("words without a counterpart are shown from %d different pairs on", FEWEST)
        return Limits(np.inf, np.inf)
    means = np.array([np.concatenate(pair).mean() for pair in matches])
    good = [pair for pair, mean in zip(matches, means, strict=True) if mean <= np.median(means)]
    return Limits(
        *(float(np.quantile(np.concatenate([pair[side] for pair in good]), MATCHED)) for side in (0, 1))
    )


def without_counterpart(text: str, spans: np.ndarray, distances: np.ndarray, limit: float) -> str:
    """The words of which a token is farther than the limit, with blanks between them, in their order.

    `spans` (T, 2) has the first and last character, exclusive, of each token, `distances` (T,) how far it is.
    """
    marked = np.zeros(len(text), dtype=bool)
    for (first, last), distance in zip(spans.tolist(), distances.tolist(), strict=True):
        marked[first:last] |= distance > limit
    for word in WORD.finditer(text):
        marked[word.start() : word.end()] = marked[word.start() : word.end()].any()
    words = "".join(letter if mark else " " for letter, mark in zip(text, marked, strict=True))
    return " ".join(words.split())
