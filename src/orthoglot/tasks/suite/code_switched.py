"""Retrieval by sentences whose words are of two languages, which query their pivot."""

from __future__ import annotations

from orthoglot.benchmarks.kinds import code_switched
from orthoglot.tasks.base import TaskData
from orthoglot.tasks.registry import RETRIEVAL
from orthoglot.tasks.retrieval import Retrieval

TITLE = "Code-switched retrieval"
QUESTION = "How many sentences whose words are of two languages have their translation as nearest neighbour?"
BETTER = RETRIEVAL


def make(name: str, data: TaskData) -> list[Retrieval]:
    """A task for each language pair of each benchmark of mixed sentences."""
    sets = [pairs for folder in data.benchmarks for pairs in code_switched.read(folder)]
    return [Retrieval(name, pairs, pivot="target", both=False, device=data.device) for pairs in sets]
