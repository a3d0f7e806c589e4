"""Retrieval on validation pairs: what is compared, and settings of a closed form chosen by it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from orthoglot.errors import DataError

# Translations row by row, (n, D) vectors or (n,) row numbers of each side, and what names the two languages.
Sides = tuple[np.ndarray, np.ndarray, Any]

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
    scores = np.array([p_at_1(found) for found in hits])
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


def pools(validation: Iterable[Sides], training: Iterable[Sides]) -> tuple[list[Sides], list[int]]:
    """For each pair of languages the validation pairs that query, then training pairs that are there to be found.

    Args:
        validation, training: in blocks of one pair of languages; of each pair the first block counts, so that it should
            hold 300 validation pairs and 1,000 training pairs if there are as many.
    Returns:
        At most 1,000 pairs of each pair of languages, and how many of them query: at most 300.
    Source: docs/papers.md#discriminant-choice.
    """
    held, others = _first(validation, QUERIES), _first(training, CANDIDATES)
    queries = [len(source) for source, _, _ in held.values()]
    return [_filled(own, others[pair]) if pair in others else own for pair, own in held.items()], queries


def _first(blocks: Iterable[Sides], n: int) -> dict[Any, Sides]:
    """The first pairs of the first block of each pair of languages."""
    found: dict[Any, Sides] = {}
    for source, target, pair in blocks:
        found.setdefault(pair, (source[:n], target[:n], pair))
    return found


def _filled(own: Sides, others: Sides) -> Sides:
    """A block with as many of the others as a query may have candidates."""
    source, target = (np.concatenate([a, b])[:CANDIDATES] for a, b in zip(own[:2], others[:2], strict=True))
    return source, target, own[2]


def p_at_1(found: Sequence[np.ndarray]) -> float:
    """Unweighted mean over pairs of languages of the mean hit, in [0, 1].

    Args:
        found: for each pair of languages what `both_directions` returns.
    """
    return float(np.mean([one.mean() for one in found]))


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
