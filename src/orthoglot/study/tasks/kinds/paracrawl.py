"""Retrieval by margin of few queries among many candidates: the protocol of EMS on ParaCrawl."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from orthoglot.decomposers.base import unit
from orthoglot.random_streams import derive
from orthoglot.search.exact_or_cells import search
from orthoglot.search.margins import mine
from orthoglot.statistics.records import LEFT_OUT, P_AT_1
from orthoglot.study.benchmarks.base import PairSet
from orthoglot.study.benchmarks.kinds import local, opus
from orthoglot.study.tasks.base import PairTask, Result, Task, TaskData
from orthoglot.study.tasks.registry import RETRIEVAL
from orthoglot.text.keys import keys_of
from orthoglot.usable_vectors import usable

TITLE = "Retrieval by margin among many"
QUESTION = "How many of some sentences have their translation as best candidate among very many?"
BETTER = RETRIEVAL
NEIGHBOURS = 4
# At most, as in EMS.
QUERIES, CANDIDATES = 2000, 200_000


@dataclass(frozen=True)
class MarginRetrieval(PairTask):
    """Sentence pairs of which the first `queries` are searched for, by ratio margin, among all of the other side.

    P@1, scale 0 to 100, chance 100 / N. A query proposes one of its 4 nearest candidates; the neighbours of a
    candidate are queries. Higher is better for the meaning view, lower for the language view.

    Source: docs/papers.md#protocol-paracrawl.
    """

    queries: int  # how many; the same sentence pairs in both directions
    dropped: Mapping[str, int] = field(default_factory=dict)  # by reason, how many pairs were left out
    device: str = "cpu"  # of the search
    measure: str = P_AT_1

    def keys(self) -> np.ndarray:
        """(Q,) uint64 of the source side's queries."""
        return keys_of(self.pairs.source_sentences[: self.queries])

    def score(self, vectors: Mapping[str, np.ndarray]) -> Result:
        """(Q,) hits of either direction; -1 for a query that, or whose translation, has no direction."""
        source, target = vectors["source"], vectors["target"]
        forward, facts = self._hits(source, target)
        backward, _ = self._hits(target, source)
        a, b = self.pairs.source, self.pairs.target
        return Result({f"{a}->{b}": forward, f"{b}->{a}": backward}, facts)

    def facts(self, subset: str) -> dict[str, object]:
        """Margin, sizes, chance."""
        n = len(self.pairs.source_sentences)
        return {
            "margin": "ratio",
            "k": NEIGHBOURS,
            "direction": subset,
            "queries": self.queries,
            "candidates": n,
            **self.dropped,
            "chance": round(100 / n, 6),
        }

    def _hits(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, dict[str, object]]:
        there = usable(y)
        asked = usable(x[: self.queries]) & there[: self.queries]
        hits = np.full(len(asked), LEFT_OUT, dtype=np.int8)
        if not asked.any():
            return hits, {"search": "none"}
        queries, candidates = np.flatnonzero(asked), np.flatnonzero(there)
        left, right = unit(x[queries]), unit(y[candidates])
        nearest, facts = search(left, right, NEIGHBOURS, device=self.device)
        pairs = mine(left, right, nearest, strategy="forward")
        hits[queries] = 0
        hits[queries[pairs.sources]] = candidates[pairs.targets] == queries[pairs.sources]
        return hits, facts


def make(name: str, data: TaskData) -> list[Task]:
    """Held-out pairs, and benchmarks of sentence pairs, those drawn from OPUS among them; 2,000 are drawn to query."""
    sets = data.held_out_sets()
    sets += [(pairs, {}) for pairs in data.sets(local.read, opus.read)]
    tasks: list[Task] = []
    for pairs, dropped in sets:
        draws = np.random.default_rng(derive(data.settings.seed, "paracrawl", pairs.pair))
        chosen = draws.permutation(len(pairs.source_sentences))[:CANDIDATES].tolist()
        sides = [[side[row] for row in chosen] for side in (pairs.source_sentences, pairs.target_sentences)]
        drawn = PairSet(pairs.name, pairs.source, pairs.target, *sides)
        tasks.append(MarginRetrieval(name, drawn, min(QUERIES, len(chosen)), dropped, data.device))
    return tasks
