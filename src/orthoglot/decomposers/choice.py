"""Settings of a closed form, chosen by how well it finds the translations of pairs that it was not fitted to."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from orthoglot.decomposers.base import unit
from orthoglot.errors import DataError

# Vectors (n, D) of two languages, row by row translations, and the two languages.
Block = tuple[np.ndarray, np.ndarray, tuple[str, str]]

FOLDS = 5
# Pairs of each pair of languages that are held out in turn, the first ones; the others are always fitted to.
PAIRS = 500
# A pair of languages with fewer is always fitted to: in one of the folds nothing might be left of it.
FEWEST = 2 * FOLDS
# Cosines of different candidates spread differently, so each has the temperature that suits it best.
TEMPERATURES = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1)


class Candidate(NamedTuple):
    """Settings, how far they are from the undivided vector, and what they make of held-out pairs.

    Attributes:
        settings: values by name.
        distance: 0 for the undivided vector; any unit.
        vectors: for each pair of languages two arrays (n, D), row by row translations.
    """

    settings: dict[str, Any]
    distance: float
    vectors: Sequence[tuple[np.ndarray, np.ndarray]]


def losses(source: np.ndarray, target: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """InfoNCE of pairs at each temperature, in nats.

    l_i(t) = -s_ii / t + log sum_j exp(s_ij / t),  s_ij the cosine of source i and target j,

    the mean over both directions, in which the sum is over targets and over sources.

    Args:
        source, target: (n, D), row by row translations.
        queries: (q,) rows that are asked for; all rows are candidates.
    Returns:
        (T, q), at least 0.
    Source: docs/papers.md#discriminant-choice.
    """
    x, y = unit(source), unit(target)
    found = np.zeros((len(TEMPERATURES), len(queries)))
    for cosines in (x[queries] @ y.T, y[queries] @ x.T):
        own = cosines[np.arange(len(queries)), queries]
        highest = cosines.max(axis=1)
        for row, t in zip(found, TEMPERATURES, strict=True):
            shares = np.exp((cosines - highest[:, None]) / t).sum(axis=1)
            row += (highest - own) / t + np.log(shares)
    return found / 2


def choose(
    candidates: Callable[[Sequence[Block]], Iterable[Candidate]], kept: Sequence[Block]
) -> tuple[dict[str, Any], dict[str, float]]:
    """The candidate nearest to the undivided vector whose loss is within one standard error of the lowest.

    Five folds, by a hash of the source vector, so that all translations of a sentence are in one. Each fold is held
    out from the fit in turn. The loss of a candidate is `losses` of the held-out pairs, the unweighted mean over pairs
    of languages, at the temperature where that is lowest. The standard error is that of the difference from the best
    candidate on the same sentence pairs: sqrt(sum_p var_p / n_p) / P over P pairs of languages. Among equally near
    candidates the lowest loss is chosen, then the first.

    Args:
        candidates: of the fit without the given pairs, what each candidate makes of all kept pairs, in their order;
            the same candidates in the same order for each fold.
        kept: at most a block of each pair of languages. Of a block with fewer than 10 rows nothing is held out.
    Returns:
        The settings, and the loss in nats with them (`chosen`), with the best ones (`lowest`) and, where candidates
        differ in it, with those nearest to the undivided vector (`nearest`).
    Raises:
        DataError: no pair of languages has 10 sentence pairs.
    Source: Breiman et al., "Classification and Regression Trees", 1984, section 3.4.3; InfoNCE: van den Oord et al.,
        2018; docs/papers.md#discriminant-choice.
    """
    asked = [n for n, (source, _, _) in enumerate(kept) if len(source) >= FEWEST]
    if not asked:
        raise DataError(
            f"settings are chosen with {FEWEST} sentence pairs of two languages or more; give settings"
        )
    folds = {n: _folds(kept[n][0]) for n in asked}
    settings: list[dict[str, Any]] = []
    distances: list[float] = []
    # By candidate and pair of languages: losses (temperatures, pairs).
    table: list[list[np.ndarray]] = []
    for fold in range(FOLDS):
        rows = {n: np.flatnonzero(folds[n] == fold) for n in asked}
        held = [(kept[n][0][rows[n]], kept[n][1][rows[n]], kept[n][2]) for n in asked if len(rows[n])]
        for k, candidate in enumerate(candidates(held)):
            if fold == 0:
                settings.append(candidate.settings)
                distances.append(candidate.distance)
                table.append([np.empty((len(TEMPERATURES), len(folds[n]))) for n in asked])
            for values, n in zip(table[k], asked, strict=True):
                values[:, rows[n]] = losses(*candidate.vectors[n], rows[n])
    suited = [_at_best_temperature(values) for values in table]
    means = np.array([np.mean([values.mean() for values in of_pairs]) for of_pairs in suited])
    best = int(means.argmin())

    def within(n: int) -> bool:
        more = [ours - theirs for ours, theirs in zip(suited[n], suited[best], strict=True)]
        error = np.sqrt(sum(values.var(ddof=1) / len(values) for values in more)) / len(more)
        return bool(means[n] - means[best] <= error)

    chosen = min(filter(within, range(len(means))), key=lambda n: (distances[n], means[n]))
    shown = {"chosen": chosen, "lowest": best}
    if len(set(distances)) > 1:
        shown["nearest"] = int(np.argmin(distances))
    return settings[chosen], {name: round(float(means[n]), 4) for name, n in shown.items()}


def _folds(vectors: np.ndarray) -> np.ndarray:
    """The fold of each vector (n,): equal vectors have the same one."""
    digests = (hashlib.blake2b(row.tobytes(), digest_size=8).digest() for row in vectors)
    return np.frombuffer(b"".join(digests), dtype="<u8") % FOLDS


def _at_best_temperature(of_pairs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The losses (n,) of each pair of languages at the temperature with the lowest mean over them."""
    row = np.mean([values.mean(axis=1) for values in of_pairs], axis=0).argmin()
    return [values[row] for values in of_pairs]
