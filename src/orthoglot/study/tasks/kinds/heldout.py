"""Retrieval among held-out pairs of every language pair."""

from __future__ import annotations

from orthoglot.study.tasks.base import TaskData
from orthoglot.study.tasks.registry import RETRIEVAL
from orthoglot.study.tasks.retrieval import Retrieval

TITLE = "Held-out retrieval"
QUESTION = (
    "Of translations that no training saw, how many sentences have their translation as nearest neighbour?"
)
BETTER = RETRIEVAL


def make(name: str, data: TaskData) -> list[Retrieval]:
    """A task for each language pair."""
    sets = data.held_out_sets(data.settings.heldout_pairs)
    return [Retrieval(name, pairs, dropped=dropped, device=data.device) for pairs, dropped in sets]
