"""Graded pairs: how well the cosine of two sentences agrees with human judgements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from orthoglot.search.pair_cosines import cosines, merged
from orthoglot.study.tasks.base import PairTask, Result
from orthoglot.text.keys import keys_of


@dataclass(frozen=True)
class Grading(PairTask):
    """One language pair's sentence pairs with gold scores: semantic similarity ("sts") or translation quality ("qe").

    The prediction is the cosine of the two vectors of the view; its correlation with the gold scores, times 100, is
    in [-100, 100], chance 0. Higher is better for the meaning view; the language view's ideal is 0. Cosines within
    1e-6 are one value: they are ties of Spearman's ranks, and where all of them are, the correlation is undefined
    and has no record.

    Source: docs/papers.md#protocol-sts, docs/papers.md#protocol-qe.
    """

    measure: str = "correlation"

    def keys(self) -> np.ndarray:
        """(N,) uint64 of the items' texts."""
        return keys_of(self.pairs.items)

    def score(self, vectors: Mapping[str, np.ndarray]) -> Result:
        """(N, 2) float64 of prediction and gold, NaN where a vector is zero or not finite."""
        predicted = merged(cosines(vectors["source"], vectors["target"]))
        gold = np.asarray(self.pairs.gold, dtype=np.float64)
        return Result({self.pairs.pair: np.column_stack([predicted, gold])}, {})

    def facts(self, subset: str) -> dict[str, object]:
        """Prediction, size, chance."""
        return {"prediction": "cosine", "pair": subset, "graded": len(self.pairs.gold), "chance": 0}
