"""Questions that query one pool of sentences of many languages, which holds their answer in each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from orthoglot.decomposers.base import unit
from orthoglot.search.neighbours import EQUAL
from orthoglot.statistics.records import MAP
from orthoglot.statistics.weighted import Metric, column
from orthoglot.study.benchmarks.kinds import pool
from orthoglot.study.benchmarks.kinds.pool import PoolSet
from orthoglot.study.tasks.base import BLOCK_ENTRIES, Result, Task, TaskData
from orthoglot.study.tasks.registry import RETRIEVAL
from orthoglot.text.keys import keys_of
from orthoglot.usable_vectors import usable

TITLE = "Answers in a pool of all languages"
QUESTION = (
    "How high does a pool of all languages rank the sentences that answer a question, in whatever language?"
)
BETTER = RETRIEVAL
# What is measured of each question: average precision among 20 and among all.
MEASURES = {"lareqa": (Metric(MAP, column(0)), Metric("mAP", column(1)))}
DEPTH = 20


@dataclass(frozen=True)
class AnswerRetrieval:
    """The questions of one language against the candidates of all.

    mAP@20 and mAP, 0 to 100. A vector that holds the language ranks the answer in the question's own language first and
    the others behind sentences of that language. Higher is better for the meaning view, lower for the language view.

    Source: docs/papers.md#protocol-lareqa.
    """

    name: str  # of the task
    pool: PoolSet  # questions and candidates
    language: str  # of the questions
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
        """(Q, 2) what is `measured` of each question; NaN where it, or one of its answers, has no direction."""
        pool = np.concatenate([vectors[code] for code in self.pool.candidates])
        there, asked = usable(pool), usable(vectors["question"])
        answering = self.pool.relevant(self.language)
        measures = np.full((len(asked), 2), np.nan)
        candidates = unit(pool[there].astype(np.float64))
        place = np.cumsum(there) - 1  # of a sentence among the candidates
        questions = np.flatnonzero(asked)
        step = max(1, BLOCK_ENTRIES // max(1, len(candidates)))
        for start in range(0, len(questions), step):
            rows = questions[start : start + step]
            similarity = unit(vectors["question"][rows].astype(np.float64)) @ candidates.T
            for row, row_cosines in zip(rows.tolist(), similarity, strict=True):
                relevant = answering[row]
                if there[relevant].all():
                    measures[row] = self.measured(row_cosines, place, relevant)
        return Result({self.language: measures}, {})

    def measured(
        self, cosines: np.ndarray, place: np.ndarray, relevant: Sequence[int]
    ) -> tuple[float, float]:
        """AP@20 and AP of a question.

        Args:
            cosines: Of the question with each candidate that has a direction (M,).
            place: Of each candidate among these (N,).
            relevant: Which of the N candidates answer it.
        """
        at = ranks(cosines, place[relevant])
        return average_precision(at, DEPTH), average_precision(at)

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


def make(name: str, data: TaskData) -> list[Task]:
    """A task for each language of the questions of each pool."""
    return [
        AnswerRetrieval(name, answers, language)
        for answers in data.sets(pool.read)
        for language in answers.questions
    ]


def average_precision(ranks: np.ndarray, k: int | None = None) -> float:
    """AP@k of one query: the mean of the precision at the rank of each relevant candidate.

    AP@k = sum_(i, r_i <= k) i / r_i / min(k, R), r_1 <= ... <= r_R the ranks of the R relevant candidates

    In [0, 1]; 1 / r for one relevant candidate at rank r; a ValueError without any.

    Args:
        ranks: Of the relevant candidates (R,), from 1 on, in any order.
        k: Candidates that count; None for all.
    Source: docs/papers.md#protocol-lareqa.
    """
    if not len(ranks):
        raise ValueError("no candidate is relevant: average precision is undefined")
    ordered = np.sort(ranks)
    limit = np.inf if k is None else k
    precision = np.arange(1, len(ordered) + 1) / ordered
    return float(precision[ordered <= limit].sum() / min(limit, len(ordered)))


def ranks(similarity: np.ndarray, relevant: np.ndarray) -> np.ndarray:
    """Ranks of the relevant candidates of one query (R,), from 1 on, the best first.

    Candidates whose cosines differ by at most 1e-6 are equal. Half of the equal ones that are not relevant
    count as better: the rank that chance gives on average.

    Args:
        similarity: Of all candidates (N,).
        relevant: Numbers of the relevant ones (R,).
    """
    best_first = np.sort(similarity[relevant])[::-1]
    all_sorted = np.sort(similarity)

    def above(values: np.ndarray) -> np.ndarray:
        """How many irrelevant candidates are above each value."""
        all_above = len(similarity) - np.searchsorted(all_sorted, values, side="right")
        return all_above - (len(best_first) - np.searchsorted(best_first[::-1], values, side="right"))

    better, equal_or_better = above(best_first + EQUAL), above(best_first - EQUAL)
    return np.arange(1, len(best_first) + 1) + (better + equal_or_better) / 2
