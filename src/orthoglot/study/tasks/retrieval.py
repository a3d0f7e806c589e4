"""Retrieval of translations by nearest neighbour: held-out pairs and Tatoeba-style benchmarks alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    # sentences of the source and of the target side that query nothing and can be found by mistake
    further: tuple[Sequence[str], Sequence[str]] = ((), ())
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

    def sides(self) -> dict[str, tuple[Sequence[str], str]]:
        """The N source and the N target sentences, each with the further ones of its side behind them."""
        return {
            side: ([*sentences, *more], language)
            for (side, (sentences, language)), more in zip(super().sides().items(), self.further, strict=True)
        }

    def keys(self) -> np.ndarray:
        """(N,) uint64 of the pivot's side, or of the lines' numbers."""
        if self.pivot == "line":
            return keys_of(map(str, range(len(self.pairs.source_sentences))))
        return keys_of(super().sides()[self.pivot][0])

    def score(self, vectors: Mapping[str, np.ndarray]) -> Result:
        """Hits of the source's N queries, and of the target's, on {"source": (N + A, D), "target": (N + B, D)}."""
        n = len(self.pairs.source_sentences)
        forward, backward = hits(vectors["source"], vectors["target"], self.device, n)
        by_direction = {f"{self.pairs.source}->{self.pairs.target}": forward}
        if self.both:
            by_direction[f"{self.pairs.target}->{self.pairs.source}"] = backward
        return Result(by_direction, {})

    def facts(self, subset: str) -> dict[str, object]:
        """Candidates, tie rule, chance."""
        back = subset == f"{self.pairs.target}->{self.pairs.source}"
        n = len(self.pairs.source_sentences) + len(self.further[not back])
        return facts(subset, n, self.dropped)
