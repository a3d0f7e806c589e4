"""What decides the best epoch of a decomposer's training, and with it when the training stops."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from orthoglot.decomposers.choice import both_directions, p_at_1, pools
from orthoglot.decomposers.modules import Maps
from orthoglot.errors import ConfigError
from orthoglot.objectives import ADVERSARIAL
from orthoglot.training.batching import PairRows
from orthoglot.training.gathering import gathered
from orthoglot.training.progress import LOWEST_TOTAL, Criterion
from orthoglot.training.settings import MethodSettings, Stopping

CRITERIA: dict[Stopping, Criterion] = {
    "total": LOWEST_TOTAL,
    "retrieval": Criterion("retrieval", highest=True),
    "without-opponents": Criterion("without_opponents"),
}


def check_stopping(method: MethodSettings, stopping: Stopping) -> None:
    """Refuse a criterion that nothing of a method is left for.

    Raises:
        ConfigError: no term is left without opponents.
    """
    if stopping == "without-opponents" and not any(
        weight > 0 for name, weight in method.terms.items() if name not in ADVERSARIAL
    ):
        raise ConfigError(f"stopping 'without-opponents' leaves none of the terms {', '.join(method.terms)}")


def without_opponents(values: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Weighted sum of the terms without those of `orthoglot.objectives.ADVERSARIAL`.

    Args:
        values: of all terms, unweighted.
        weights: by term.
    Source: docs/papers.md#stopping.
    """
    return sum(weight * values[name] for name, weight in weights.items() if name not in ADVERSARIAL)


class Retrieval:
    """P@1 of the meaning part on validation pairs, percent: both directions, mean over pairs of languages.

    Of each pair of languages the first 300 validation pairs query, among 1,000 candidates: the others are training
    pairs. Cosines; of equal ones the first candidate wins.

    Args:
        valid, train: rows of the vectors that `score` is given, on the CPU.
    Source: docs/papers.md#stopping.
    """

    def __init__(self, valid: PairRows, train: PairRows) -> None:
        held, others = (
            [(rows.source.numpy(), rows.target.numpy(), pair) for pair, rows in pairs.by_languages()]
            for pairs in (valid, train)
        )
        self.pools, self.queries = pools(held, others)

    def score(self, maps: Maps, vectors: Tensor) -> float:
        """P@1 with these maps on vectors (N, D); one pair of languages is held at a time."""
        found = []
        for (source, target, _), queries in zip(self.pools, self.queries, strict=True):
            device = next(maps.parameters()).device
            meanings = [
                maps(gathered(vectors, torch.from_numpy(side).to(vectors.device), device)).meaning
                for side in (source, target)
            ]
            first, second = (meaning.detach().cpu().numpy() for meaning in meanings)
            found.append(both_directions(first, second, queries))
        return 100 * p_at_1(found)
