"""Whether a pool of all languages ranks what answers a question by what it says, or by the language it is in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from orthoglot.statistics.weighted import Metric, column
from orthoglot.study.benchmarks.kinds import pool
from orthoglot.study.tasks.base import Task, TaskData
from orthoglot.study.tasks.kinds.lareqa import AnswerRetrieval, ranks
from orthoglot.study.tasks.registry import RETRIEVAL

TITLE = "Language bias of rankings"
QUESTION = "How high does a pool of all languages rank answers that are not in the question's language?"
BETTER = RETRIEVAL
MEASURES = {"language-bias": (Metric("TLR@20", column(0)), Metric("Max@R-norm", column(1)))}
DEPTH = 20


@dataclass(frozen=True)
class LanguageBias(AnswerRetrieval):
    """The questions of one language against the candidates of all, as in LAReQA.

    TLR@20 and the normalised Max@R, 0 to 100, chance 2000 / |D| of the first, whose highest value is 2000 / |R_q^tgt|
    for a question with more than 20 answers in other languages. Higher is better for the meaning view. A question
    whose answers are all in its own language is left out.

    Source: docs/papers.md#protocol-language-bias.
    """

    measure: str = "language-bias"

    def measured(
        self, cosines: np.ndarray, place: np.ndarray, relevant: Sequence[int]
    ) -> tuple[float, float]:
        """TLR@20 and normalised Max@R of a question, see the functions; NaN without an answer in another language."""
        ends = np.cumsum([len(sentences) for sentences in self.pool.candidates.values()])
        spoken = np.array([*self.pool.candidates])[np.searchsorted(ends, relevant, side="right")]
        foreign = np.asarray(relevant)[spoken != self.language]
        if not len(foreign):
            return np.nan, np.nan
        recall = target_recall(ranks(cosines, place[foreign]), DEPTH)
        return recall, last_rank(ranks(cosines, place[relevant]), len(cosines))

    def facts(self, subset: str) -> dict[str, object]:
        """Sizes; the chance is that of TLR@20."""
        facts = super().facts(subset)
        candidates = sum(map(len, self.pool.candidates.values()))
        return facts | {"depth": DEPTH, "chance": round(100 * min(DEPTH / candidates, 1), 6)}


def make(name: str, data: TaskData) -> list[Task]:
    """A task for each language of the questions of each pool."""
    return [
        LanguageBias(name, answers, language)
        for answers in data.sets(pool.read)
        for language in answers.questions
    ]


def target_recall(ranks: np.ndarray, k: int) -> float:
    """Target-languages recall of one query: the share of its relevant candidates in other languages among the first k.

    TLR@k = |top_k(q) ∩ R_q^tgt| / |R_q^tgt|,  R_q^tgt = {d relevant to q, L(d) != L_q}

    In [0, min(1, k / |R_q^tgt|)]. SHIFT takes k = 20.

    Args:
        ranks: Of these candidates (R,) among all, from 1 on.
        k: How many count.
    Source: docs/papers.md#protocol-language-bias.
    """
    return float((ranks <= k).mean())


def last_rank(ranks: np.ndarray, candidates: int) -> float:
    """Max@R of one query, normalised: how far down a ranking the last of its R relevant candidates is.

    Max@R      = max {i : d_i in R_q}
    normalised = (log2 |D| - log2 Max@R) / (log2 |D| - log2 R)

    In [0, 1]: 1 if the first R candidates are the relevant ones, also if there are no others, 0 if one is the last.

    Args:
        ranks: Of the relevant candidates (R,), from 1 on.
        candidates: How many are ranked, |D|.
    Source: docs/papers.md#protocol-language-bias.
    """
    if candidates == len(ranks):
        return 1.0
    return float(np.log2(candidates / ranks.max()) / np.log2(candidates / len(ranks)))
