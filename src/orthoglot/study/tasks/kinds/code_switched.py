"""Retrieval by sentences whose words are of two languages, which query their pivot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from orthoglot.random_streams import derive
from orthoglot.study.benchmarks.kinds import code_switched
from orthoglot.study.tasks.base import Result, TaskData
from orthoglot.study.tasks.registry import RETRIEVAL
from orthoglot.study.tasks.retrieval import Retrieval

TITLE = "Code-switched retrieval"
QUESTION = "How many sentences whose words are of two languages have their translation as nearest neighbour?"
BETTER = RETRIEVAL
EXAMPLES = "Examples of code-switched sentences", "Drawn at random. *Swapped* words stand between asterisks."
# How many sentences of a language pair are shown.
SHOWN = 3


@dataclass(frozen=True)
class CodeSwitched(Retrieval):
    """Retrieval that shows some of its mixed sentences."""

    seed: int = 1  # of the draw

    def score(self, vectors: Mapping[str, np.ndarray]) -> Result:
        pairs = self.pairs
        generator = np.random.default_rng(derive(self.seed, "examples", self.dataset, pairs.pair))
        drawn = sorted(generator.permutation(len(pairs.originals))[:SHOWN].tolist())
        rows = [
            {
                "Sentence": pairs.originals[n],
                "Code-switched": code_switched.marked(pairs.originals[n], pairs.source_sentences[n]),
                "Translation": pairs.target_sentences[n],
            }
            for n in drawn
        ]
        return super().score(vectors)._replace(examples=rows)


def make(name: str, data: TaskData) -> list[CodeSwitched]:
    """A task for each language pair of each benchmark of mixed sentences."""
    return [
        CodeSwitched(name, pairs, pivot="target", both=False, device=data.device, seed=data.settings.seed)
        for pairs in data.sets(code_switched.read)
    ]
