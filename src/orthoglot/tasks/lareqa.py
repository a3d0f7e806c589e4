"""Questions that query one pool of sentences of many languages, which holds their answer in each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from orthoglot.corpora.pools import PoolSet, read_pool
from orthoglot.decomposers.base import unit
from orthoglot.tasks.base import BLOCK_ENTRIES, Result, Task, TaskData, keys_of, usable
from orthoglot.tasks.ranking import average_precision, ranks

if TYPE_CHECKING:
    from orthoglot.tasks.settings import EvaluationSettings

DEPTH = 20


@dataclass(frozen=True)
class AnswerRetrieval:
    """The questions of one language against the candidates of all.

    mAP@20 and mAP, 0 to 100. A vector that holds the language ranks the answer in the question's own language first and
    the others behind sentences of that language. Higher is better for the meaning view, lower for the language view.

    Attributes:
        name: of the task.
        pool: questions and candidates.
        language: of the questions.

    Source: docs/papers.md#protocol-lareqa.
    """

    name: str
    pool: PoolSet
    language: str
    measure: str = "lareqa"

    @property
    def dataset(self) -> str:
        """Benchmark folder."""
        return self.pool.name

    def sides(self) -> dict[str, tuple[Sequence[str], str]]:
        """The questions, and the candidates by language."""
        candidates = {code: (sentences, code) for code, sentences in self.pool.candidates.items()}
        return {"question": (self.pool.questions[self.language], self.language), **candidates}

    def keys(self) -> np.ndarray:
        """(Q,) uint64 of the questions' ids, which translations share."""
        return keys_of(self.pool.numbers[self.language])

    def score(self, vectors: Mapping[str, np.ndarray]) -> Result:
        """(Q, 2) AP@20 and AP of each question; NaN where it, or one of its answers, has no direction."""
        pool = np.concatenate([vectors[code] for code in self.pool.candidates])
        ids = np.array([name for code in self.pool.candidates for name in self.pool.ids[code]])
        there, asked = usable(pool), usable(vectors["question"])
        kept = np.flatnonzero(there)
        order = np.argsort(ids, kind="stable")
        found = np.full((len(asked), 2), np.nan)
        candidates = unit(pool[kept].astype(np.float64))
        place = np.cumsum(there) - 1  # of a candidate among those kept
        questions = np.flatnonzero(asked)
        step = max(1, BLOCK_ENTRIES // max(1, len(kept)))
        for start in range(0, len(questions), step):
            rows = questions[start : start + step]
            similarity = unit(vectors["question"][rows].astype(np.float64)) @ candidates.T
            for row, own in zip(rows.tolist(), similarity, strict=True):
                answer = self.pool.answers[self.language][row]
                first, last = (
                    np.searchsorted(ids, answer, side=side, sorter=order) for side in ("left", "right")
                )
                relevant = order[first:last]
                if there[relevant].all():
                    at = ranks(own, place[relevant])
                    found[row] = average_precision(at, DEPTH), average_precision(at)
        return Result({self.language: found}, {})

    def facts(self, subset: str) -> dict[str, object]:
        """Sizes; the chance of mAP is near 0."""
        candidates = sum(map(len, self.pool.candidates.values()))
        return {
            "similarity": "cosine",
            "question_language": subset,
            "pool_languages": len(self.pool.candidates),
            "candidates": candidates,
            "ties": "mean-rank",
            "chance": 0,
        }


def make(name: str, settings: EvaluationSettings, data: TaskData) -> list[Task]:
    """A task for each language of the questions of each pool."""
    pools = [pool for folder in data.benchmarks for pool in read_pool(folder)]
    return [AnswerRetrieval(name, pool, language) for pool in pools for language in pool.questions]
