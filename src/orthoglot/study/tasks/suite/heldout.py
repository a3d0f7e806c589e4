"""Retrieval among held-out pairs of every language pair."""

from __future__ import annotations

from orthoglot.study.tasks.base import TaskData
from orthoglot.study.tasks.heldout import pair_set
from orthoglot.study.tasks.registry import RETRIEVAL
from orthoglot.study.tasks.retrieval import Retrieval

TITLE = "Held-out retrieval"
QUESTION = (
    "Of translations that no training saw, how many sentences have their translation as nearest neighbour?"
)
BETTER = RETRIEVAL


def make(name: str, data: TaskData) -> list[Retrieval]:
    """A task for each language pair."""
    tasks = []
    for pair, unseen in data.held_out.items():
        pairs, repeated = pair_set(pair, unseen, data.settings.heldout_pairs)
        dropped = {"duplicates_dropped": repeated, "seen_dropped": unseen.seen_dropped}
        tasks.append(Retrieval(name, pairs, dropped=dropped, device=data.device))
    return tasks
