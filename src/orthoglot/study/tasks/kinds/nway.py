"""Retrieval between every two languages of texts that benchmarks have in many languages."""

from __future__ import annotations

from itertools import combinations

from orthoglot.study.benchmarks.base import PairSet
from orthoglot.study.benchmarks.kinds import nway
from orthoglot.study.tasks.base import TaskData
from orthoglot.study.tasks.registry import RETRIEVAL
from orthoglot.study.tasks.retrieval import Retrieval

TITLE = "Retrieval between any two languages"
QUESTION = "One text in many languages: how many sentences have their translation in another as neighbour?"
BETTER = RETRIEVAL


def make(name: str, data: TaskData) -> list[Retrieval]:
    """A task for each two languages of each text."""
    sets = [
        PairSet(text.name, a, b, text.sentences[a], text.sentences[b])
        for text in data.sets(nway.read)
        for a, b in combinations(text.sentences, 2)
    ]
    return [Retrieval(name, pairs, pivot="line", device=data.device) for pairs in sets]
