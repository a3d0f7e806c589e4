"""One text in many languages as one pool: does a sentence find its translations, or sentences of its own language?

Each of the n L sentences of a text in L languages queries all others. Per sentence:

- `same-language`: share of its 10 nearest neighbours in its own language, chance (n - 1) / (n L - 1);
- `coverage`: number of languages among these, over the most there can be;
- `reciprocal-rank`: 1 / rank of the nearest of its translations; ties count half;
- `R-precision`: share of its L - 1 translations among as many nearest neighbours;
- `hubness`: skewness of how often sentences are among the 10 nearest of others: 0 if evenly, above 0 with hubs.

The first four are means, 0 to 100. The meaning view should have the first and the last low and the others high.
Source: docs/papers.md#protocol-mixed-pool.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from orthoglot.decomposers.base import unit
from orthoglot.search.neighbours import EQUAL, nearest
from orthoglot.statistics.records import SAME_LANGUAGE
from orthoglot.statistics.weighted import Metric, column, skewness
from orthoglot.study.benchmarks.kinds import nway
from orthoglot.study.tasks.base import BLOCK_ENTRIES, Result, Task, TaskData, TextTask
from orthoglot.study.tasks.registry import PROBE
from orthoglot.text.keys import keys_of
from orthoglot.usable_vectors import usable

TITLE = "Neighbours in a pool of all languages"
QUESTION = (
    "In a pool of all languages, does a sentence find its translations or sentences of its own language?"
)
BETTER = PROBE
MEASURES = {
    "mixed-pool": (
        Metric(SAME_LANGUAGE, column(0)),
        Metric("coverage", column(1)),
        Metric("reciprocal-rank", column(2)),
        Metric("R-precision", column(3)),
        Metric("hubness", skewness(4), scale=1),
    )
}
NEIGHBOURS = 10
POOL = "pool"


@dataclass(frozen=True)
class MixedPool(TextTask):
    """All sentences of a text in many languages, each of which queries the others; see the module."""

    device: str = "cpu"  # of the search
    measure: str = "mixed-pool"

    def keys(self) -> np.ndarray:
        """(L n,) uint64 of the lines' numbers, language by language."""
        lines = len(next(iter(self.text.sentences.values())))
        return np.tile(keys_of(map(str, range(lines))), len(self.text.sentences))

    def score(self, vectors: Mapping[str, np.ndarray]) -> Result:
        """(L n, 5) of each sentence; NaN for a line that has no direction in one of the languages."""
        whole = [vectors[code] for code in self.text.sentences]
        directed = np.all([usable(rows) for rows in whole], axis=0)
        scores = np.full((len(whole), len(directed), 5), np.nan)
        if directed.any():
            directions = unit(np.concatenate([rows[directed] for rows in whole]))
            measured = in_pool(directions, len(whole), self.device)
            scores[:, directed] = measured.reshape(len(whole), -1, 5)
        return Result({POOL: scores.reshape(-1, 5)}, {})

    def facts(self, subset: str) -> dict[str, object]:
        """Sizes; the chance is that of `same-language`."""
        languages, lines = len(self.text.sentences), len(next(iter(self.text.sentences.values())))
        return {
            "similarity": "cosine",
            "pool_languages": languages,
            "candidates": languages * lines - 1,
            "neighbours": NEIGHBOURS,
            "chance": round(100 * (lines - 1) / max(1, languages * lines - 1), 6),
        }


def make(name: str, data: TaskData) -> list[Task]:
    """The texts that benchmarks have in many languages."""
    return [MixedPool(name, text, data.device) for text in data.sets(nway.read)]


def in_pool(vectors: np.ndarray, languages: int, device: str = "cpu") -> np.ndarray:
    """The five numbers of each sentence, (L n, 5) float64, see the module.

    Args:
        vectors: (L n, D), rows of length 1, n of each of the L languages, in one order of lines.
    """
    total = len(vectors)
    lines = total // languages
    language, line = np.divmod(np.arange(total), lines)
    wanted = min(max(NEIGHBOURS, languages - 1), total - 1)
    near = others(nearest(vectors, vectors, wanted + 1, device=device).forward)
    first = near[:, :NEIGHBOURS]
    numbers = np.empty((total, 5))
    numbers[:, 0] = (language[first] == language[:, None]).mean(axis=1)
    among = np.sort(language[first], axis=1)
    distinct = 1 + (np.diff(among, axis=1) > 0).sum(axis=1)
    numbers[:, 1] = distinct / min(first.shape[1], languages)
    numbers[:, 2] = 1 / _first_ranks(vectors, near, languages)
    numbers[:, 3] = (line[near[:, : languages - 1]] == line[:, None]).mean(axis=1)
    numbers[:, 4] = np.bincount(first.ravel(), minlength=total)
    return numbers


def others(rows: np.ndarray) -> np.ndarray:
    """Neighbours (N, k + 1) without the sentence itself, or without the last one where it is not among them."""
    same = rows == np.arange(len(rows))[:, None]
    same[~same.any(axis=1), -1] = True
    return rows[~same].reshape(len(rows), -1)


def _first_ranks(vectors: np.ndarray, near: np.ndarray, languages: int) -> np.ndarray:
    """The rank of the nearest translation of each sentence among all others; of equal cosines, half count as better.

    Where a translation is among the nearest, and clearly above the last of them, their cosines are all that count.
    """
    exact = vectors.astype(np.float64)
    total = len(exact)
    lines = total // languages
    ranks = np.full(total, np.nan)
    step = max(1, BLOCK_ENTRIES // (near.shape[1] * exact.shape[1]))
    for start in range(0, total, step):
        queries = np.arange(start, min(start + step, total))
        rows = near[queries]
        similarity = np.einsum("nd,nkd->nk", exact[queries], exact[rows])
        translations = rows % lines == (queries % lines)[:, None]
        best = np.where(translations, similarity, -np.inf).max(axis=1, keepdims=True)
        # A sentence that is not among them may be above the last by `EQUAL`, and by the rounding of `nearest`.
        known = similarity.min(axis=1) < best[:, 0] - 3 * EQUAL
        similarity[translations] = -np.inf
        ranks[queries[known]] = _rank(similarity, best)[known]
    rest = np.flatnonzero(np.isnan(ranks))
    step = max(1, BLOCK_ENTRIES // total)
    for start in range(0, len(rest), step):
        queries = rest[start : start + step]
        similarity = exact[queries] @ exact.T
        similarity[np.arange(len(queries)), queries] = -np.inf
        translations = (queries % lines)[:, None] + lines * np.arange(languages)
        best = np.take_along_axis(similarity, translations, axis=1).max(axis=1, keepdims=True)
        np.put_along_axis(similarity, translations, -np.inf, axis=1)
        ranks[queries] = _rank(similarity, best)
    return ranks


def _rank(similarity: np.ndarray, best: np.ndarray) -> np.ndarray:
    """1, and one for each of a row's cosines above its best (n, 1), half for each that is equal."""
    better, as_good = ((similarity > best + off).sum(axis=1) for off in (EQUAL, -EQUAL))
    return 1 + (better + as_good) / 2
