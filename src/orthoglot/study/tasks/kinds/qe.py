"""Quality estimation: how well cosines agree with scores of translations, and what else that may come from.

A cosine compares meanings only if a copy of the source does not pass for a good translation. A correlation with gold
scores may come from what both have to do with length or, over several language pairs, with the pair. All times 100:

- `untranslated:above`: share of translations whose source, put in their place, has a higher cosine with the source; as
  high counts half. Ideal 0. The method takes it for text of the target language, as it would take the output of a
  system that leaves sentences as they are. Without a method its cosine is 1, and the share 100;
- `length:prediction`, `length:gold`: Pearson's correlation with the source's number of characters;
- `length-ratio:prediction`, `length-ratio:gold`: with log(characters of the translation / of the source);
- `pearson:length-removed`: of prediction and gold, after linear regressions of both on length and ratio;
- `pooled:pearson`: over the items of all language pairs at once; `pooled:within`, of the deviations from the pairs'
  means; `pooled:between`, the share of the pooled covariance that lies between pairs, undefined unless that is above 0.

Source: docs/papers.md#protocol-qe.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from orthoglot.search.neighbours import EQUAL
from orthoglot.search.pair_cosines import cosines
from orthoglot.statistics.records import ALL
from orthoglot.statistics.resampling import Scores
from orthoglot.statistics.weighted import Metric, between, column, partial_correlation, pearson
from orthoglot.study.benchmarks.kinds import qe
from orthoglot.study.tasks import registry
from orthoglot.study.tasks.base import Result, Task, TaskData
from orthoglot.study.tasks.graded_pairs import Grading

if TYPE_CHECKING:
    from orthoglot.statistics.summary import Key, Scored

TITLE = "Quality estimation"
QUESTION = "How well do cosines of a sentence and its translation agree with the test set's scores of how good it is?"
BETTER = registry.CORRELATION
CORRELATION, QUALITY, POOLED = "correlation", "quality", "pooled"
# What is measured of each translation, see `Checks.score` and `pooled`.
MEASURES = {
    QUALITY: (
        Metric("untranslated:above", column(2)),
        Metric("length:prediction", pearson(0, 3)),
        Metric("length:gold", pearson(1, 3)),
        Metric("length-ratio:prediction", pearson(0, 4)),
        Metric("length-ratio:gold", pearson(1, 4)),
        Metric("pearson:length-removed", partial_correlation([3, 4])),
    ),
    POOLED: (
        Metric("pooled:pearson", pearson(0, 1)),
        Metric("pooled:within", pearson(2, 3)),
        Metric("pooled:between", between()),
    ),
}
COMPARED = (CORRELATION,)


@dataclass(frozen=True)
class Checks(Grading):
    """One language pair's control and confounds by length, see the module."""

    measure: str = QUALITY

    def sides(self) -> dict[str, tuple[Sequence[str], str]]:
        """The source, its translation, and the source again in the translation's place."""
        sides = super().sides()
        return sides | {"untranslated": sides["source"]}

    @property
    def taken_for(self) -> dict[str, str]:
        """{side: the language that methods take it for}, where that is not its own."""
        return {"untranslated": self.pairs.target}

    def score(self, vectors: Mapping[str, np.ndarray]) -> Result:
        """(N, 5) float64: prediction, gold, whether the source scores above, source's length, log ratio of lengths."""
        ((pair, graded),) = super().score(vectors).scores.items()
        control = cosines(vectors["source"], vectors["untranslated"])
        apart = control - cosines(vectors["source"], vectors["target"])
        above = np.where(np.abs(apart) <= EQUAL, 0.5, apart > 0)
        above[np.isnan(apart)] = np.nan
        source = np.array([max(1, len(text)) for text in self.pairs.source_sentences], dtype=np.float64)
        target = np.array([max(1, len(text)) for text in self.pairs.target_sentences], dtype=np.float64)
        scores = np.column_stack([graded, above, source, np.log(target / source)])
        return Result({pair: scores}, {})

    def facts(self, subset: str) -> dict[str, object]:
        """Prediction, size, unit of length."""
        facts = super().facts(subset) | {"length": "characters"}
        del facts["chance"]
        return facts


def make(name: str, data: TaskData) -> list[Task]:
    """The correlation, then the controls, of each language pair of the benchmarks."""
    return [kind(name, pairs) for pairs in data.sets(qe.read) for kind in (Grading, Checks)]


def pooled(scored: Scored) -> Iterator[tuple[Key, Scores, dict[str, object]]]:
    """Predictions and gold of all language pairs of a data set at once, with their deviations from the pair's mean.

    (N, 4) by data set, view and seed, from the scores (N, 2) of the task "qe", where there are two pairs or more.
    """
    groups: dict[Key, list[Scores]] = defaultdict(list)
    for key, scores in scored.items():
        if (key.task, key.measure) == ("qe", CORRELATION):
            groups[key._replace(subset=ALL, measure=POOLED)].append(scores)
    for key, parts in groups.items():
        if len(parts) > 1:
            values = np.concatenate([_with_deviations(part.values) for part in parts])
            keys = np.concatenate([part.keys for part in parts])
            yield key, Scores(values, keys), {"prediction": "cosine", "means": "fixed"}


def _with_deviations(values: np.ndarray) -> np.ndarray:
    """Values (N, 2) and their deviations from the means of the complete rows, (N, 4)."""
    complete = ~np.isnan(values).any(axis=1)
    return np.column_stack([values, values - values[complete].mean(axis=0)])
