"""Retrieval of translations by nearest neighbour: held-out pairs and Tatoeba-style benchmarks alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from orthoglot.decomposers.base import unit
from orthoglot.errors import DataError
from orthoglot.statistics.records import LEFT_OUT, P_AT_1
from orthoglot.tasks.base import PairTask, Result, keys_of, usable
from orthoglot.tasks.neighbours import nearest


@dataclass(frozen=True)
class Retrieval(PairTask):
    """One language pair's aligned sentences; either side queries the other.

    P@1, scale 0 to 100, chance 100 / N. Higher is better for the meaning view, lower for the language view, whose
    ideal is chance.

    Attributes:
        pivot: which side identifies an item; "line" where the same lines exist in many languages.
        dropped: by reason, how many pairs were left out.
        further: sentences of the source and of the target side that query nothing and can be found by mistake.
        both: whether the target side queries too.
        device: of the search.

    Source: docs/papers.md#protocol-retrieval, docs/papers.md#protocol-code-switching.
    """

    pivot: Literal["source", "target", "line"] = "source"
    dropped: Mapping[str, int] = field(default_factory=dict)
    further: tuple[Sequence[str], Sequence[str]] = ((), ())
    both: bool = True
    device: str = "cpu"
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
        found = {f"{self.pairs.source}->{self.pairs.target}": forward}
        if self.both:
            found[f"{self.pairs.target}->{self.pairs.source}"] = backward
        return Result(found, {})

    def facts(self, subset: str) -> dict[str, object]:
        """Candidates, tie rule, chance."""
        back = subset == f"{self.pairs.target}->{self.pairs.source}"
        n = len(self.pairs.source_sentences) + len(self.further[not back])
        return {
            "similarity": "cosine",
            "direction": subset,
            "candidates": n,
            "ties": "lowest-index",
            **self.dropped,
            "chance": round(100 / n, 6),
        }


def hits(
    source: np.ndarray, target: np.ndarray, device: str = "cpu", n: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Which rows find their own translation.

    hit_i = [argmax_j cos(x_i, y_j) = i], ties to the lowest j, for x = source and for x = target.

    Args:
        source: (N + A, D).
        target: (N + B, D), row i < N translates row i of `source`; the rows behind are candidates and query nothing.
        device: of the search.
        n: N; None if every row is of a pair.
    Returns:
        Two (N,) int8: 1 hit, 0 miss, -1 left out, as a side of the pair is zero or not finite (such a pair
        is no candidate either).
    Source: docs/papers.md#protocol-retrieval, docs/papers.md#worked-evaluation-1.
    """
    n = len(source) if n is None else n
    kept = usable(source[:n]) & usable(target[:n])
    forward = np.full(n, LEFT_OUT, dtype=np.int8)
    backward = forward.copy()
    if kept.any():
        x, y = (unit(side[:n][kept]) for side in (source, target))
        more = [unit(side[n:][usable(side[n:])]) for side in (source, target)]
        own = np.arange(len(x))
        if len(more[0]) == len(more[1]) == 0:
            found = nearest(x, y, device=device)
            there, back = found.forward, found.backward
        else:
            there = nearest(x, np.concatenate([y, more[1]]), device=device).forward
            back = nearest(y, np.concatenate([x, more[0]]), device=device).forward
        forward[kept], backward[kept] = there[:, 0] == own, back[:, 0] == own
    return forward, backward
