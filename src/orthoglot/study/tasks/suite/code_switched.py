"""Retrieval by sentences whose words are of two languages, which query their pivot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from orthoglot.streams import derive
from orthoglot.study.benchmarks.kinds import code_switched
from orthoglot.study.tasks.base import Examples, Result, TaskData
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
        """See `Retrieval.score`."""
        mixed, translations, originals = (
            self.pairs.source_sentences,
            self.pairs.target_sentences,
            self.pairs.originals,
        )
        generator = np.random.default_rng(derive(self.seed, "examples", self.dataset, self.pairs.pair))
        drawn = sorted(generator.permutation(len(mixed))[:SHOWN].tolist())
        rows = [
            {
                "Sentence": originals[n],
                "Code-switched": code_switched.marked(originals[n], mixed[n]),
                "Translation": translations[n],
            }
            for n in drawn
        ]
        return super().score(vectors)._replace(examples=Examples(rows))


def make(name: str, data: TaskData) -> list[CodeSwitched]:
    """A task for each language pair of each benchmark of mixed sentences."""
    sets = [pairs for folder in data.benchmarks for pairs in code_switched.read(folder)]
    seed, device = data.settings.seed, data.device
    return [CodeSwitched(name, pairs, pivot="target", both=False, device=device, seed=seed) for pairs in sets]
