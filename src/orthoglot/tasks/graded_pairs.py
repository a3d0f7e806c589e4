"""Graded pairs: does the cosine of two sentences follow people's judgement of them?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from orthoglot.tasks.base import Result, keys_of, unit, usable


@dataclass(frozen=True)
class Grading:
    """One language pair's sentence pairs with gold scores: semantic similarity ("sts") or translation quality ("qe").

    Prediction is the cosine of the two vectors of the view; its correlation with the gold scores, times 100, is
    in [-100, 100], chance 0. Higher is better for the meaning view; the language view's ideal is 0. `items` are
    the texts that tell the items of the bootstrap apart.

    Source: methods 7.7, 7.8.
    """

    name: str
    dataset: str
    source: str
    target: str
    source_sentences: Sequence[str]
    target_sentences: Sequence[str]
    gold: Sequence[float]
    items: Sequence[str]
    measure: str = "correlation"

    def sides(self) -> dict[str, tuple[Sequence[str], str]]:
        """The first and the second sentences."""
        return {
            "source": (self.source_sentences, self.source),
            "target": (self.target_sentences, self.target),
        }

    def keys(self) -> np.ndarray:
        """(N,) uint64 of the items' texts."""
        return keys_of(self.items)

    def score(self, vectors: Mapping[str, np.ndarray]) -> Result:
        """(N, 2) float64 of prediction and gold, NaN where a vector is zero or not finite."""
        predicted = cosines(vectors["source"], vectors["target"])
        pair = f"{self.source}-{self.target}"
        return Result({pair: np.column_stack([predicted, np.asarray(self.gold, dtype=np.float64)])}, {})

    def facts(self, subset: str) -> dict[str, object]:
        """Prediction, size, chance."""
        return {"prediction": "cosine", "pair": subset, "graded": len(self.gold), "chance": 0}


def cosines(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(N,) float64 cosines of the rows of x and y, (N, D) each; NaN where either is zero or not finite."""
    kept = usable(x) & usable(y)
    found = np.full(len(x), np.nan)
    ours, theirs = (unit(side[kept].astype(np.float64)) for side in (x, y))
    found[kept] = np.einsum("nd,nd->n", ours, theirs)
    return found
