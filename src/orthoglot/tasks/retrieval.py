"""Retrieval of translations by nearest neighbour: held-out pairs and Tatoeba-style benchmarks alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Literal

import numpy as np

from orthoglot.corpora.benchmarks import RetrievalSet, read_benchmark, read_code_switched, read_nway
from orthoglot.errors import DataError
from orthoglot.languages import parse_pair
from orthoglot.statistics.records import LEFT_OUT, P_AT_1
from orthoglot.tasks.base import Result, Task, TaskData, keys_of, unit, usable
from orthoglot.tasks.neighbours import nearest

if TYPE_CHECKING:
    from orthoglot.tasks.settings import EvaluationSettings


@dataclass(frozen=True)
class Retrieval:
    """One language pair's aligned sentences; either side queries the other.

    P@1, scale 0 to 100, chance 100 / N. Higher is better for the meaning view, lower for the language view, whose
    ideal is chance.

    Attributes:
        name: of the task.
        dataset: benchmark folder, or "test".
        source: language code.
        target: language code.
        source_sentences: N sentences.
        target_sentences: their translations.
        pivot: which side identifies an item; "line" where the same lines exist in many languages.
        dropped: by reason, how many pairs were left out.
        both: whether the target side queries too.

    Source: docs/papers.md#protocol-retrieval, docs/papers.md#protocol-code-switching.
    """

    name: str
    dataset: str
    source: str
    target: str
    source_sentences: Sequence[str]
    target_sentences: Sequence[str]
    pivot: Literal["source", "target", "line"] = "source"
    dropped: Mapping[str, int] = field(default_factory=dict)
    both: bool = True
    measure: str = P_AT_1

    def __post_init__(self) -> None:
        """Both sides must be aligned and not empty."""
        n, m = len(self.source_sentences), len(self.target_sentences)
        if n != m or n == 0:
            raise DataError(
                f"{self.name} {self.dataset} {self.source}-{self.target}: {n} source and {m} target "
                "sentences, equal and positive counts are needed"
            )

    def sides(self) -> dict[str, tuple[Sequence[str], str]]:
        """The source and the target sentences."""
        return {
            "source": (self.source_sentences, self.source),
            "target": (self.target_sentences, self.target),
        }

    def keys(self) -> np.ndarray:
        """(N,) uint64 of the pivot's side, or of the lines' numbers."""
        if self.pivot == "line":
            return keys_of(map(str, range(len(self.source_sentences))))
        return keys_of(self.source_sentences if self.pivot == "source" else self.target_sentences)

    def score(self, vectors: Mapping[str, np.ndarray]) -> Result:
        """Hits of the source's queries, and of the target's, on {"source": (N, D), "target": (N, D)}."""
        forward, backward = hits(vectors["source"], vectors["target"])
        found = {f"{self.source}->{self.target}": forward}
        if self.both:
            found[f"{self.target}->{self.source}"] = backward
        return Result(found, {})

    def facts(self, subset: str) -> dict[str, object]:
        """Candidates, tie rule, chance."""
        n = len(self.source_sentences)
        return {
            "similarity": "cosine",
            "direction": subset,
            "candidates": n,
            "ties": "lowest-index",
            **self.dropped,
            "chance": round(100 / n, 6),
        }


def heldout(name: str, settings: EvaluationSettings, data: TaskData) -> list[Task]:
    """Held-out pairs of every language pair."""
    tasks: list[Task] = []
    for pair, unseen in data.held_out.items():
        kept, repeated = distinct(unseen.pairs, settings.heldout_pairs)
        sides = [one[0] for one in kept], [one[1] for one in kept]
        dropped = {"duplicates_dropped": repeated, "seen_dropped": unseen.seen_dropped}
        tasks.append(Retrieval(name, "test", *parse_pair(pair), *sides, dropped=dropped))
    return tasks


def tatoeba(name: str, settings: EvaluationSettings, data: TaskData) -> list[Task]:
    """Benchmarks of sentence pairs, both directions."""
    found = [pair for folder in data.benchmarks for pair in read_benchmark(folder)]
    return [_of_benchmark(name, pair, both=True) for pair in found]


def code_switched(name: str, settings: EvaluationSettings, data: TaskData) -> list[Task]:
    """Benchmarks of sentences of two languages, which query their pivot."""
    found = [pair for folder in data.benchmarks for pair in read_code_switched(folder)]
    return [_of_benchmark(name, pair, both=False) for pair in found]


def nway(name: str, settings: EvaluationSettings, data: TaskData) -> list[Task]:
    """Every two languages of the texts that benchmarks have in many languages."""
    texts = [text for folder in data.benchmarks for text in read_nway(folder)]
    return [
        Retrieval(name, text.name, a, b, text.sentences[a], text.sentences[b], pivot="line")
        for text in texts
        for a, b in combinations(text.sentences, 2)
    ]


def _of_benchmark(name: str, pair: RetrievalSet, *, both: bool) -> Retrieval:
    sides = pair.foreign, pair.pivot, pair.foreign_sentences, pair.pivot_sentences
    return Retrieval(name, pair.name, *sides, pivot="target", both=both)


def hits(source: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which rows find their own translation.

    hit_i = [argmax_j cos(x_i, y_j) = i], ties to the lowest j, for x = source and for x = target.

    Args:
        source: (N, D).
        target: (N, D), row i translates row i of `source`.
    Returns:
        Two (N,) int8: 1 hit, 0 miss, -1 left out, as a side of the pair is zero or not finite (such a pair
        is no candidate either).
    Source: docs/papers.md#protocol-retrieval, docs/papers.md#worked-evaluation-1.
    """
    kept = usable(source) & usable(target)
    forward = np.full(len(kept), LEFT_OUT, dtype=np.int8)
    backward = forward.copy()
    if kept.any():
        found = nearest(unit(source[kept]), unit(target[kept]))
        own = np.arange(kept.sum())
        forward[kept] = found.forward == own
        backward[kept] = found.backward == own
    return forward, backward


def distinct(pairs: Iterable[tuple[str, str]], limit: int) -> tuple[list[tuple[str, str]], int]:
    """The first `limit` pairs of which neither side was seen before, and how many were dropped on the way.

    The same text twice on a side would be a tie that no vector can break.
    """
    sources: set[str] = set()
    targets: set[str] = set()
    kept: list[tuple[str, str]] = []
    dropped = 0
    for source, target in pairs:
        if len(kept) == limit:
            break
        if source in sources or target in targets:
            dropped += 1
            continue
        sources.add(source)
        targets.add(target)
        kept.append((source, target))
    return kept, dropped
