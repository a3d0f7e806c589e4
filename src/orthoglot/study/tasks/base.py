"""What every task shares: the task protocol and the three views of a sentence vector.

Letters: N rows of a corpus, D embedding size, K languages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np

from orthoglot.decomposers.views import view
from orthoglot.languages import parse_pair
from orthoglot.statistics.records import VIEWS, View
from orthoglot.statistics.resampling import Scores
from orthoglot.study.benchmarks.base import PairSet
from orthoglot.text.held_out import UnseenPairs, distinct

if TYPE_CHECKING:
    from orthoglot.decomposers.base import Decomposer
    from orthoglot.embeddings.store import EmbeddingStore
    from orthoglot.statistics.summary import Blocks
    from orthoglot.study.benchmarks.kinds.nway import NwaySet
    from orthoglot.study.tasks.projections import TextMap
    from orthoglot.study.tasks.settings import EvaluationSettings

# Similarities held at once: 64 MiB of float64.
BLOCK_ENTRIES = 1 << 23
Set = TypeVar("Set")


class TaskData(NamedTuple):
    """What tasks are made from."""

    settings: EvaluationSettings  # of the evaluation, with what the task adds to them
    held_out: Mapping[str, UnseenPairs]  # the unseen held-out pairs by language pair
    benchmarks: Sequence[Path]  # folders
    device: str = "cpu"  # of searches, which changes no result

    def sets(self, *reads: Callable[[Path], Iterable[Set]]) -> list[Set]:
        """The sets of all benchmarks that these functions read: `read` of one kind of benchmark, or of several."""
        return [texts for folder in self.benchmarks for read in reads for texts in read(folder)]

    def held_out_sets(self, limit: int | None = None) -> list[tuple[PairSet, dict[str, int]]]:
        """The first `limit` distinct held-out pairs of each language pair, and how many were left out, by reason."""
        sets = []
        for pair, unseen in self.held_out.items():
            sources, targets, repeated = distinct(unseen.pairs, len(unseen.pairs) if limit is None else limit)
            left_out = {"duplicates_dropped": repeated, "seen_dropped": unseen.seen_dropped}
            sets.append((PairSet("test", *parse_pair(pair), sources, targets), left_out))
        return sets


# Sentences that show what a task scores: a row each, its texts by what they are.
Examples = list[dict[str, str]]


class Result(NamedTuple):
    """What a task finds in one set of vectors."""

    # per item, by subset: hits, (N,) int8 of 1 hit, 0 miss, -1 left out; or (N, C) floats of which the task's measure
    # makes statistics, NaN for left out
    scores: dict[str, np.ndarray]
    facts: dict[str, object]  # for the records of this scoring alone, e.g. whether a classifier converged.
    examples: Examples = []  # of a subset


class AnyTask(Protocol):
    """What all tasks have."""

    @property
    def name(self) -> str:
        """A name of `orthoglot.study.tasks.registry`."""

    @property
    def dataset(self) -> str:
        """Benchmark folder, or "test"."""

    def sides(self) -> dict[str, tuple[Sequence[str], str]]:
        """{side: (sentences, language)}: the texts whose vectors the task wants."""


class Task(AnyTask, Protocol):
    """Scores the vectors of one view; it does not know encoder, method or view."""

    @property
    def measure(self) -> str:
        """What is kept of each item: a key of `orthoglot.study.tasks.registry.measures`."""

    def keys(self) -> np.ndarray:
        """(N,) uint64: `keys_of` the pivot sentence of each item, in the order of the scores."""

    def score(self, vectors: Mapping[str, np.ndarray]) -> Result:
        """Scores of the items of {side: (N, D)}."""

    def facts(self, subset: str) -> dict[str, object]:
        """Facts for the records of a subset, chance level (0 to 100) included."""


class Finding(NamedTuple):
    """What a task finds in one subset of one view with one seed."""

    subset: str
    view: View
    seed: int
    measure: str  # see `Task`
    # per item; or metrics with and without each block of items; or a map of a text; or examples
    scores: Scores | Blocks | TextMap | Examples
    facts: dict[str, object]  # for the records


@runtime_checkable
class WholeTask(AnyTask, Protocol):
    """Looks at several views or seeds at once."""

    def findings(self, vectors: Vectors) -> Iterator[Finding]:
        """Everything that it finds."""


class Vectors:
    """The vectors of a task's texts in every view and with every seed's decomposer."""

    def __init__(self, task: AnyTask, store: EmbeddingStore, models: Mapping[int, Decomposer | None]) -> None:
        sides = task.sides()
        self._stored = {side: store.take(store.rows(*text)) for side, text in sides.items()}
        # A task may have a side that methods take for text of another language: `orthoglot.study.tasks.kinds.qe`.
        self._languages = {side: language for side, (_, language) in sides.items()}
        self._languages |= getattr(task, "taken_for", {})
        self._models = models
        self.seeds = list(models)  # of the decomposers; 0 where there is none
        # without a decomposer there is only the sentence
        self.views: tuple[View, ...] = VIEWS if all(models.values()) else ("sentence",)
        self.parts: tuple[View, ...] = ("meaning", "language") if all(models.values()) else ("sentence",)

    def seen(self, name: View, seed: int, *, paired: bool = True) -> dict[str, np.ndarray]:
        """{side: (N, D)} of one view; `paired`: of two languages, each is the other's partner."""
        model, seen = self._models[seed], {}
        for side, code in self._languages.items():
            partner = other(self._languages.values(), code) if paired else None
            seen[side] = view(self._stored[side], model, code, name, partner)
        return seen


def by_view(task: Task, vectors: Vectors) -> Iterator[Finding]:
    """What a task that knows one view at a time finds in each, with every seed.

    Examples are those of the meaning view with the first seed, or of the vectors of an encoder without decomposer.
    """
    keys = task.keys()
    whole = task.score(vectors.seen("sentence", vectors.seeds[0]))  # the same for every seed
    for seed in vectors.seeds:
        for name in vectors.views:
            result = whole if name == "sentence" else task.score(vectors.seen(name, seed))
            for subset, values in result.scores.items():
                facts = task.facts(subset) | result.facts
                yield Finding(subset, name, seed, task.measure, Scores(values, keys), facts)
                if result.examples and (name, seed) == (vectors.views[0], vectors.seeds[0]):
                    yield Finding(subset, name, seed, task.measure, result.examples, {})


@dataclass(frozen=True)
class PairTask:
    """What the tasks on aligned sentences of one language pair share."""

    name: str  # of the task
    pairs: PairSet  # N sentence pairs

    @property
    def dataset(self) -> str:
        """Benchmark folder, or "test"."""
        return self.pairs.name

    def sides(self) -> dict[str, tuple[Sequence[str], str]]:
        """The source and the target sentences."""
        pairs = self.pairs
        return {
            "source": (pairs.source_sentences, pairs.source),
            "target": (pairs.target_sentences, pairs.target),
        }


@dataclass(frozen=True)
class TextTask:
    """What the tasks on one text in many languages share."""

    name: str  # of the task
    text: NwaySet  # n sentences in L languages

    @property
    def dataset(self) -> str:
        """Name of the text."""
        return self.text.name

    def sides(self) -> dict[str, tuple[Sequence[str], str]]:
        """One side per language."""
        return {code: (rows, code) for code, rows in self.text.sentences.items()}


def other(languages: Iterable[str], language: str) -> str | None:
    """The other of two languages; None if there are more."""
    others = set(languages) - {language}
    return others.pop() if len(others) == 1 else None
