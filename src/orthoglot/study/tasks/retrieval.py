"""Retrieval of translations by nearest neighbour: held-out pairs and Tatoeba-style benchmarks alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from orthoglot.errors import DataError
from orthoglot.search.hits import facts, hits
from orthoglot.statistics.records import P_AT_1
from orthoglot.study.tasks.base import PairTask, Result
from orthoglot.text.keys import keys_of


@dataclass(frozen=True)
class Retrieval(PairTask):
    """One language pair's aligned sentences; either side queries the other.

    P@1, scale 0 to 100, chance 100 / N. Higher is better for the meaning view, lower for the language view, whose
    ideal is chance.

    Source: docs/papers.md#protocol-retrieval, docs/papers.md#protocol-code-switching.
    """

    # which side identifies an item; "line" where the same lines exist in many languages
    pivot: Literal["source", "target", "line"] = "source"
    dropped: Mapping[str, int] = field(default_factory=dict)  # by reason, how many pairs were left out
    both: bool = True  # whether the target side queries too
    device: str = "cpu"  # of the search
    measure: str = P_AT_1

    def __post_init__(self) -> None:
        """Both sides must be aligned and not empty."""
        n, m = len(self.pairs.source_sentences), len(self.pairs.target_sentences)
        if n != m or n == 0:
            raise DataError(
                f"{self.name} {self.dataset} {self.pairs.pair}: {n} source and {m} target "
                "sentences, equal and positive counts are needed"
            )

    def keys(self) -> np.ndarray:
        """(N,) uint64 of the pivot's side, or of the lines' numbers."""
        if self.pivot == "line":
            return keys_of(map(str, range(len(self.pairs.source_sentences))))
        return keys_of(self.sides()[self.pivot][0])

    def score(self, vectors: Mapping[str, np.ndarray]) -> Result:
        """Hits of the source's N queries, and of the target's, on {"source": (N, D), "target": (N, D)}."""
        forward, backward = hits(vectors["source"], vectors["target"], self.device)
        by_direction = {f"{self.pairs.source}->{self.pairs.target}": forward}
        if self.both:
            by_direction[f"{self.pairs.target}->{self.pairs.source}"] = backward
        return Result(by_direction, {})

    def facts(self, subset: str) -> dict[str, object]:
        """Candidates, tie rule, chance."""
        return facts(subset, len(self.pairs.source_sentences), self.dropped)
