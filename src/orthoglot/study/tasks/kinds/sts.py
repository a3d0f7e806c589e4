"""Semantic similarity: how well cosines of two sentences agree with human judgements."""

from __future__ import annotations

from orthoglot.study.benchmarks.kinds import sts
from orthoglot.study.tasks.base import TaskData
from orthoglot.study.tasks.graded_pairs import Grading
from orthoglot.study.tasks.registry import CORRELATION

TITLE = "Semantic similarity"
QUESTION = "How well do cosines of two sentences agree with the test set's scores of how similar they are?"
BETTER = CORRELATION


def make(name: str, data: TaskData) -> list[Grading]:
    """A task for each language pair of each benchmark."""
    return [Grading(name, pairs) for pairs in data.sets(sts.read)]
