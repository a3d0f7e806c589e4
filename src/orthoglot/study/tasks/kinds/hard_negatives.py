"""Whether a sentence finds its translation, and not one with another number, name or a negation: xsim++."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from orthoglot.decomposers.base import unit
from orthoglot.search.exact_or_cells import search
from orthoglot.search.margins import mine
from orthoglot.statistics.weighted import Metric, column
from orthoglot.study.benchmarks.kinds import hard_negatives
from orthoglot.study.benchmarks.kinds.hard_negatives import HardNegativeSet
from orthoglot.study.tasks.base import Result, TaskData
from orthoglot.study.tasks.registry import RETRIEVAL
from orthoglot.text.keys import keys_of
from orthoglot.usable_vectors import usable

TITLE = "Retrieval among hard negatives"
QUESTION = "How many sentences have their translation as best candidate, also among changed ones of the translations?"
BETTER = RETRIEVAL
MEASURES = {"hard-negatives": (Metric("P@1:hard", column(0)), Metric("P@1:without", column(1)))}
NEIGHBOURS = 4


@dataclass(frozen=True)
class HardNegatives:
    """One language's sentences, whose translations are looked for by ratio margin.

    P@1:hard among translations and negatives, which is 100 - xsim++, and P@1:without among translations alone,
    100 - xsim; 0 to 100, chance 100 / (N + M) of the first. Higher is better for the meaning view. Facts count the
    errors by what was changed; "misaligned" is the translation of another sentence, or a negative of one,
    "without-margin" no candidate.

    Source: docs/papers.md#protocol-hard-negatives.
    """

    name: str  # of the task
    texts: HardNegativeSet
    device: str = "cpu"  # of the search
    measure: str = "hard-negatives"

    @property
    def dataset(self) -> str:
        """Benchmark folder."""
        return self.texts.name

    def sides(self) -> dict[str, tuple[Sequence[str], str]]:
        """The sentences, and the candidates: translations before negatives."""
        return {
            side: (sentences, code)
            for side, (code, sentences) in zip(("source", "candidate"), self.texts.sides(), strict=True)
        }

    def keys(self) -> np.ndarray:
        """(N,) uint64 of the translations, which all languages share."""
        return keys_of(self.texts.translations)

    def score(self, vectors: Mapping[str, np.ndarray]) -> Result:
        """(N, 2) hits with and without negatives; NaN where a sentence or its translation has no direction."""
        texts, candidates = self.texts, vectors["candidate"]
        n = len(texts.translations)
        hits = np.full((n, 2), np.nan)
        errors: Counter[str] = Counter()
        written = [*texts.translations, *texts.negatives]
        for place, among in enumerate((candidates, candidates[:n])):
            for row, best in self._best(vectors["source"], among).items():
                # The same text may be there twice.
                hits[row, place] = best >= 0 and written[best] == written[row]
                if place == 0 and not hits[row, place]:
                    changed = best >= n and written[texts.rows[best - n]] == written[row]
                    cause = "misaligned" if best >= 0 else "without-margin"
                    errors[texts.changes[best - n] if changed else cause] += 1
        return Result({f"{texts.source}->{texts.pivot}": hits}, {"errors": dict(sorted(errors.items()))})

    def facts(self, subset: str) -> dict[str, object]:
        """Margin, sizes, chance."""
        candidates = len(self.texts.translations) + len(self.texts.negatives)
        return {
            "margin": "ratio",
            "k": NEIGHBOURS,
            "direction": subset,
            "candidates": candidates,
            "negatives": len(self.texts.negatives),
            "chance": round(100 / candidates, 6),
        }

    def _best(self, x: np.ndarray, y: np.ndarray) -> dict[int, int]:
        """{sentence: the candidate that it proposes, -1 if none has a margin}, of those that have a direction."""
        there = usable(y)
        queries, candidates = np.flatnonzero(usable(x) & there[: len(x)]), np.flatnonzero(there)
        if not len(queries):
            return {}
        left, right = unit(x[queries]), unit(y[candidates])
        nearest, _ = search(left, right, NEIGHBOURS, device=self.device)
        pairs = mine(left, right, nearest, strategy="forward")
        proposed = zip(queries[pairs.sources].tolist(), candidates[pairs.targets].tolist(), strict=True)
        return dict.fromkeys(queries.tolist(), -1) | dict(proposed)


def make(name: str, data: TaskData) -> list[HardNegatives]:
    """A task for each language of each benchmark of hard negatives but its pivot."""
    return [HardNegatives(name, texts, data.device) for texts in data.sets(hard_negatives.read)]
