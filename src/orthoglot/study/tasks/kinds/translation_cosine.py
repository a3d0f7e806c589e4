"""How similar held-out translations are, by language pair: ORACLE's Table 2."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from orthoglot.search.pair_cosines import cosines
from orthoglot.statistics.weighted import Metric, mean
from orthoglot.study.tasks.base import PairTask, Result, TaskData
from orthoglot.study.tasks.registry import Direction
from orthoglot.text.keys import keys_of

TITLE = "Mean cosine of translations"
QUESTION = "How similar is a sentence to its translation?"
# Neither way is better: where all sentences are alike, translations are as well.
BETTER: dict[str, Direction] = {}
MEASURES = {"translation-cosine": (Metric("translation-cosine", mean()),)}
COMPARED = ()


@dataclass(frozen=True)
class TranslationCosine(PairTask):
    """100 mean_i cos(x_i, y_i) of one language pair's N held-out sentence pairs, in [-100, 100].

    Source: docs/papers.md#protocol-translation-cosine.
    """

    measure: str = "translation-cosine"

    def keys(self) -> np.ndarray:
        """(N,) uint64 of the source sentences."""
        return keys_of(self.pairs.source_sentences)

    def score(self, vectors: Mapping[str, np.ndarray]) -> Result:
        """(N, 1) cosines of {"source": (N, D), "target": (N, D)}, NaN where a vector is zero or not finite."""
        return Result({self.pairs.pair: cosines(vectors["source"], vectors["target"])[:, None]}, {})

    def facts(self, subset: str) -> dict[str, object]:
        """Which pair."""
        return {"similarity": "cosine", "pair": subset}


def make(name: str, data: TaskData) -> list[TranslationCosine]:
    """A task for each language pair."""
    return [TranslationCosine(name, pairs) for pairs, _ in data.held_out_sets(data.settings.heldout_pairs)]
