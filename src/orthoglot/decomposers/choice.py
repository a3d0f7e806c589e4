"""Settings of a closed form chosen by retrieval on validation pairs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from orthoglot.errors import DataError

# Validation pairs of each pair of languages that query, the first ones.
QUERIES = 300
# Candidates of a query: the validation pairs, and training pairs, as many as Tatoeba-style benchmarks have.
CANDIDATES = 1000


class Candidate(NamedTuple):
    """Settings, how far they are from the undivided vector, and what they make of the validation pairs.

    Attributes:
        settings: values by name.
        distance: 0 for the undivided vector; any unit.
        vectors: for each pair of languages two arrays (n, D), row by row translations; those that query come first.
    """

    settings: dict[str, Any]
    distance: float
    vectors: Sequence[tuple[np.ndarray, np.ndarray]]


def choose(
    candidates: Iterable[Candidate], queries: Sequence[int]
) -> tuple[dict[str, Any], dict[str, float]]:
    """The candidate nearest to the undivided vector whose P@1 is within one standard error of the highest.

    P@1 is the unweighted mean over language pairs, both directions. The standard error is that of the difference from
    the best candidate on the same pairs: sqrt(sum_p var_p / n_p) / P over P language pairs, var_p the variance of the
    difference of a sentence pair's hits. Where many candidates find almost everything, they differ by chance, and the
    largest change of the vectors would win as often as the smallest; where a change helps, the gain is many standard
    errors. Among equally near ones the highest P@1 is chosen, then the first.

    Args:
        candidates: with the same pairs in the same order.
        queries: for each pair of languages how many of the pairs query; the others are there to be found by mistake.
    Returns:
        The settings, and P@1 in percent with them (`chosen`), with the best ones (`highest`) and with those nearest to
        the undivided vector (`nearest`).
    Raises:
        DataError: no validation pair.
    Source: Breiman et al., "Classification and Regression Trees", 1984, section 3.4.3;
        docs/papers.md#discriminant-choice.
    """
    if not sum(queries):
        raise DataError("no validation pair to choose settings with")
    settings, distances, hits = [], [], []
    for candidate in candidates:
        settings.append(candidate.settings)
        distances.append(candidate.distance)
        hits.append([both_directions(*sides, n) for sides, n in zip(candidate.vectors, queries, strict=True)])
    scores = np.array([np.mean([one.mean() for one in found]) for found in hits])
    best = int(scores.argmax())

    def within(found: list[np.ndarray], score: float) -> bool:
        lost = [ours - theirs for ours, theirs in zip(hits[best], found, strict=True)]
        error = np.sqrt(sum(one.var(ddof=1) / len(one) for one in lost if len(one) > 1)) / len(lost)
        # A single pair lost is one standard error but for rounding.
        return bool(scores[best] - score <= error + 1e-12)

    admitted = [n for n, found in enumerate(hits) if within(found, scores[n])]
    chosen = min(admitted, key=lambda n: (distances[n], -scores[n]))
    nearest = int(np.argmin(distances))
    shown = {"chosen": chosen, "highest": best, "nearest": nearest}
    return settings[chosen], {name: round(100 * float(scores[n]), 2) for name, n in shown.items()}


def both_directions(source: np.ndarray, target: np.ndarray, queries: int) -> np.ndarray:
    """Share of the two sides of each of the first pairs (queries,) whose nearest neighbour is the other side."""
    own = np.arange(queries)
    # The length of a query changes nothing, so that of its candidates alone counts.
    found = (
        (query[:queries] @ others.T / _lengths(others)).argmax(axis=1) == own
        for query, others in ((source, target), (target, source))
    )
    return np.mean([*found], axis=0)


def _lengths(vectors: np.ndarray) -> np.ndarray:
    squares = np.einsum("nd,nd->n", vectors, vectors)
    return np.sqrt(np.maximum(squares, np.finfo(squares.dtype).tiny))
