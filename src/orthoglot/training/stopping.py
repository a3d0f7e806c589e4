"""What decides the best epoch of a decomposer's training, and with it when the training stops."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from orthoglot.decomposers.base import unit
from orthoglot.decomposers.modules import Maps
from orthoglot.errors import ConfigError
from orthoglot.objectives import ADVERSARIAL
from orthoglot.training.batching import PairRows
from orthoglot.training.gathering import gathered
from orthoglot.training.settings import MethodSettings, Stopping
from orthoglot.training.training_state import LOWEST_TOTAL, Criterion

# Validation pairs of each pair of languages that query, the first ones.
QUERIES = 300
# Candidates of a query: validation pairs, then training pairs, as many as Tatoeba-style benchmarks have.
CANDIDATES = 1000

CRITERIA: dict[Stopping, Criterion] = {
    "total": LOWEST_TOTAL,
    "retrieval": Criterion("retrieval", highest=True),
    "without-opponents": Criterion("without_opponents"),
}


def check_stopping(method: MethodSettings, stopping: Stopping) -> None:
    """Refuse `without-opponents` where it leaves no term of the method."""
    left = [weight for name, weight in method.terms.items() if name not in ADVERSARIAL]
    if stopping == "without-opponents" and not any(left):
        raise ConfigError(f"stopping 'without-opponents' leaves none of the terms {', '.join(method.terms)}")


def without_opponents(values: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Weighted sum of the unweighted values of the terms, without those of `orthoglot.objectives.ADVERSARIAL`.

    Source: docs/papers.md#stopping.
    """
    return sum(weight * values[name] for name, weight in weights.items() if name not in ADVERSARIAL)


class Retrieval:
    """P@1 of the meaning part on validation pairs, percent: both directions, mean over pairs of languages.

    The first 300 validation pairs of each pair of languages query, among 1,000 candidates: the others are training
    pairs. Cosines are compared; of equal ones the first candidate wins.

    Source: docs/papers.md#stopping.
    """

    def __init__(self, valid: PairRows, train: PairRows) -> None:
        others = dict(train.by_languages())
        # The rows of each side of each pair of languages, and how many of them query.
        self.pools: list[tuple[Tensor, Tensor, int]] = []
        for pair, rows in valid.by_languages():
            held = rows.take(slice(0, QUERIES))
            sides = [(held.source, held.target)]
            if pair in others:
                sides.append((others[pair].source, others[pair].target))
            source, target = (torch.cat(side)[:CANDIDATES] for side in zip(*sides, strict=True))
            self.pools.append((source, target, len(held)))

    def score(self, maps: Maps, vectors: Tensor) -> float:
        """P@1 with these maps on vectors (N, D); one pair of languages is held at a time."""
        device, shares = next(maps.parameters()).device, []
        for source, target, queries in self.pools:
            first, second = (
                maps(gathered(vectors, side.to(vectors.device), device)).meaning.detach().cpu().numpy()
                for side in (source, target)
            )
            shares.append(both_directions(first, second, queries).mean())
        return 100 * float(np.mean(shares))


def both_directions(source: np.ndarray, target: np.ndarray, queries: int) -> np.ndarray:
    """Share of the two sides of each of the first pairs (queries,) whose nearest neighbour is the other side."""
    rows = np.arange(queries)
    # The length of a query changes nothing, so that of its candidates alone counts.
    hits = (
        (query[:queries] @ unit(others).T).argmax(axis=1) == rows
        for query, others in ((source, target), (target, source))
    )
    return np.mean([*hits], axis=0)
