"""Settings of a closed form, chosen by how well it finds the translations of pairs that it was not fitted to."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from orthoglot.decomposers.base import Candidate, unit
from orthoglot.errors import DataError

# Vectors (n, D) of two languages, row by row translations, and the two languages.
Block = tuple[np.ndarray, np.ndarray, tuple[str, str]]

FOLDS = 5
# Pairs that are held out in turn, the first ones of each pair of languages, and of all of them; the others are always
# fitted to.
PAIRS, ALL_PAIRS = 500, 3000
# A pair of languages with fewer is always fitted to: in one of the folds nothing might be left of it.
FEWEST = 2 * FOLDS
# Cosines of different candidates spread differently, so each has the temperature that suits it best.
TEMPERATURES = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
# If the first fold has `ENOUGH` pairs, candidates whose loss there is more than a tenth and 0.01 nats above the lowest
# are not fitted to the others.
BEHIND, NATS, ENOUGH = 0.1, 0.01, 100


def losses(source: np.ndarray, target: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """InfoNCE of pairs at each temperature, in nats.

    l_i(t) = -s_ii / t + log sum_j exp(s_ij / t),  s_ij the cosine of source i and target j,

    the mean over both directions, in which the sum is over targets and over sources.

    Args:
        source, target: (n, D), row by row translations.
        queries: (q,) rows that are asked for; all rows are candidates.
    Returns:
        (T, q), at least 0.
    Source: docs/papers.md#plda-choice.
    """
    x, y = unit(source), unit(target)
    sums = np.zeros((len(TEMPERATURES), len(queries)))
    for cosines in (x[queries] @ y.T, y[queries] @ x.T):
        own_cosines = cosines[np.arange(len(queries)), queries]
        highest = cosines.max(axis=1)
        for row, t in zip(sums, TEMPERATURES, strict=True):
            shares = np.exp((cosines - highest[:, None]) / t).sum(axis=1)
            row += (highest - own_cosines) / t + np.log(shares)
    return sums / 2


def sample(blocks: Sequence[Block]) -> list[Block]:
    """The pairs that settings are chosen with: the first ones of each block, 500 at most, 3,000 of all blocks."""
    most = max(FEWEST, min(PAIRS, ALL_PAIRS // max(1, len(blocks))))
    return [(source[:most], target[:most], pair) for source, target, pair in blocks]


def choose(
    candidates: Callable[[Sequence[Block]], Iterable[Candidate]],
    blocks: Sequence[Block],
    wanted: str = "a setting",
) -> tuple[dict[str, Any], float]:
    """The candidate with the lowest loss of pairs that it was not fitted to; of equal ones the first.

    Five folds, by a hash of the source vector, so that all translations of a sentence are in one. Each fold is held
    out from the fit in turn. The loss of a candidate is `losses` of the held-out pairs, the unweighted mean over pairs
    of languages, at the temperature where that is lowest. After a first fold of 100 pairs or more, only candidates
    whose loss is at most a tenth and 0.01 nats above the lowest are fitted to the others.

    Args:
        candidates: (held-out pairs) -> what each candidate, fitted without them, makes of all blocks, in their order;
            the same candidates in the same order for each fold.
        blocks: At most a block of each pair of languages. A block with fewer than 10 rows has nothing held out.
        wanted: Names of the settings, for messages.
    Returns:
        The settings, and their loss in nats.
    Raises:
        DataError: No pair of languages has 10 sentence pairs.
    Source: InfoNCE: van den Oord et al., 2018; docs/papers.md#plda-choice.
    """
    large = [n for n, (source, _, _) in enumerate(blocks) if len(source) >= FEWEST]
    if not large:
        raise DataError(
            f"{wanted} is chosen with {FEWEST} sentence pairs of two languages or more: give more pairs, or {wanted}"
        )
    folds = {n: _folds(blocks[n][0]) for n in large}
    settings: list[dict[str, Any]] = []
    # Losses (temperatures, pairs) by candidate and pair of languages.
    table: list[dict[int, np.ndarray]] = []

    def loss(k: int, done: int) -> float:
        """Of the candidate k, over the pairs of the first `done` folds."""
        places = {n: folds[n] < done for n in large}
        means = [table[k][n][:, places[n]].mean(axis=1) for n in large if places[n].any()]
        return float(np.mean(means, axis=0).min())

    close: list[int] = []
    for fold in range(FOLDS):
        rows = {n: np.flatnonzero(folds[n] == fold) for n in large}
        held = [(blocks[n][0][rows[n]], blocks[n][1][rows[n]], blocks[n][2]) for n in large if len(rows[n])]
        for k, candidate in enumerate(candidates(held)):
            if fold == 0:
                settings.append(candidate.settings)
                table.append({n: np.empty((len(TEMPERATURES), len(folds[n]))) for n in large})
            elif k not in close:
                continue
            vectors = candidate.vectors()
            for n in large:
                table[k][n][:, rows[n]] = losses(*vectors[n], rows[n])
        if fold == 0:
            close = [*range(len(table))]
            if sum(map(len, rows.values())) >= ENOUGH:
                first = [loss(k, 1) for k in close]
                close = [k for k in close if first[k] <= (1 + BEHIND) * min(first) + NATS]
    lowest = {k: loss(k, FOLDS) for k in close}
    best = min(lowest, key=lambda k: lowest[k])
    return settings[best], round(lowest[best], 4)


def undivided(blocks: Sequence[Block]) -> float:
    """The loss of the pairs that `choose` holds out, of their vectors without a decomposer, in nats; 0 of none."""
    large = [(source, target) for source, target, _ in blocks if len(source) >= FEWEST]
    means = [losses(source, target, np.arange(len(source))).mean(axis=1) for source, target in large]
    return round(float(np.mean(means, axis=0).min()), 4) if means else 0.0


def _folds(vectors: np.ndarray) -> np.ndarray:
    """The fold of each vector (n,): equal vectors have the same one."""
    digests = (hashlib.blake2b(row.tobytes(), digest_size=8).digest() for row in vectors)
    return np.frombuffer(b"".join(digests), dtype="<u8") % FOLDS
