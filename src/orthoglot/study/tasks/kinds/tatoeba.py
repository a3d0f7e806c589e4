"""Retrieval in benchmarks of sentence pairs, both directions."""

from __future__ import annotations

from orthoglot.study.benchmarks.kinds import local
from orthoglot.study.tasks.base import TaskData
from orthoglot.study.tasks.registry import RETRIEVAL
from orthoglot.study.tasks.retrieval import Retrieval

TITLE = "Tatoeba retrieval"
QUESTION = "Of the pairs of a test set, how many sentences have their translation as nearest neighbour?"
BETTER = RETRIEVAL


def make(name: str, data: TaskData) -> list[Retrieval]:
    """A task for each language pair of each benchmark."""
    device = data.device
    return [Retrieval(name, pairs, pivot="target", device=device) for pairs in data.sets(local.read)]
