"""The geometry of the sentence vectors of one text in many languages: invariance, canonical form, isotropy.

Groups are the head, the long tail (`EvaluationSettings.long_tail`) and all languages of a text; one with fewer than
two languages has no record. Vectors have length 1. A sentence that has no direction in one language, or with one of
the seeds, is left out in all languages and with all seeds, so that every number of a view is of the same sentences.
Metrics, their other readings after a colon:

- `kl-d`: nats, at least 0, lower is better; `kl-d:full` and `kl-d:full/d` of full, shrunk covariances;
- `ch-i`: from 0 up, higher is better; `ch-i:ratio` without the factor of the sizes;
- `pr`: in (0, 1], higher is better; `pr:both-signs`.

Intervals are delete-a-tenth jackknifes over sentences: a bootstrap would draw copies of sentences, which have no
distance and raise CH-I. Full covariances have none: they depend on the number of sentences.

The measures take (L, n, D), n sentences in L languages, row by row translations, and compute in float64.
Source: Emma-X 2023, section 5; docs/papers.md#protocol-geometry.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from orthoglot import settings
from orthoglot.decomposers.base import unit
from orthoglot.errors import DataError
from orthoglot.random_streams import derive
from orthoglot.statistics.records import ALL, HEAD, LONG_TAIL
from orthoglot.study.benchmarks.kinds import nway
from orthoglot.study.tasks.base import Finding, TaskData, TextTask, Vectors
from orthoglot.study.tasks.registry import Direction
from orthoglot.usable_vectors import usable

if TYPE_CHECKING:
    from orthoglot.statistics.summary import Blocks

TITLE = "Geometry"
QUESTION = "Do languages occupy the same space, and is all of it used?"
BETTER: dict[str, Direction] = {}
BLOCKS = 10
# A block of fewer sentences has one or none.
FEWEST = 2 * BLOCKS
# The least variance: a dimension with less is constant up to rounding.
FLOOR = 1e-8


class Settings(settings.Settings):
    """What geometry adds to the settings of an evaluation."""

    long_tail: list[settings.Language] = []
    """Languages with few training pairs; geometry reports them apart from the others (the head)."""


def diagonal_divergence(vectors: np.ndarray) -> float:
    """KL-D: how differently the languages' vectors are spread; nats, at least 0, lower is more alike.

    The mean over pairs of languages of (KL(a, b) + KL(b, a)) / 2 of Gaussians with diagonal covariance,
    KL(a, b) = (tr(S_b^-1 S_a) + (m_b - m_a)^T S_b^-1 (m_b - m_a) - D + ln |S_b| / |S_a|) / 2; the logarithms cancel.
    Source: docs/papers.md#emma-x-kl-d.
    """
    whole = np.asarray(vectors, dtype=np.float64)
    means = whole.mean(axis=1)
    variances = np.maximum(whole.var(axis=1), FLOOR)
    distances = [
        ((means - mean) ** 2 / variance).sum(axis=1) for mean, variance in zip(means, variances, strict=True)
    ]
    return _symmetric(variances @ (1 / variances).T, np.stack(distances, axis=1), whole.shape[-1])


def full_divergence(vectors: np.ndarray) -> float:
    """KL-D of Gaussians with a full covariance, shrunk towards a multiple of the identity (Ledoit and Wolf 2004).

    Two samples of one distribution are apart as well, by more the larger D is relative to n.
    Source: docs/papers.md#emma-x-kl-d.
    """
    from sklearn.covariance import ledoit_wolf

    whole = np.asarray(vectors, dtype=np.float64)
    languages, _, width = whole.shape
    means = whole.mean(axis=1)
    covariances = np.stack([ledoit_wolf(rows)[0] + FLOOR * np.eye(width) for rows in whole])
    traces, distances = np.empty((languages, languages)), np.empty((languages, languages))
    for b, covariance in enumerate(covariances):
        precision = np.linalg.inv(covariance)
        traces[:, b] = covariances.reshape(languages, -1) @ precision.T.ravel()
        moved = means - means[b]
        distances[:, b] = np.einsum("ak,kl,al->a", moved, precision, moved)
    return _symmetric(traces, distances, width)


def _symmetric(traces: np.ndarray, distances: np.ndarray, width: int) -> float:
    """Mean over pairs of languages of (KL(a, b) + KL(b, a)) / 2, from tr(S_b^-1 S_a) and the distances of means."""
    both = (traces + traces.T - 2 * width + distances + distances.T) / 4
    return float(both[np.triu_indices(len(both), k=1)].mean())


def canonical_form(vectors: np.ndarray) -> dict[str, float]:
    """CH-I: how much further sentences are from each other than from their translations, from 0 up, higher is better.

    Returns:
        "ch-i:ratio": L sum_k |c_k - c|^2 / sum_k sum_(s in k) |s - c_k|^2, as the paper prints it; k runs over
        sentences. "ch-i": Calinski and Harabasz's index, ratio (n L - n) / (n - 1), which the paper's numbers are.
    Source: docs/papers.md#emma-x-ch-i.
    """
    whole = np.asarray(vectors, dtype=np.float64)
    languages, sentences, _ = whole.shape
    centres = whole.mean(axis=0)
    between = languages * ((centres - centres.mean(axis=0)) ** 2).sum()
    apart = whole - centres
    within = np.vdot(apart, apart)
    ratio = float(between / within) if within else float("inf")
    standard = ratio * (languages * sentences - sentences) / (sentences - 1)
    return {"ch-i": standard, "ch-i:ratio": ratio}


def isotropy(vectors: np.ndarray) -> dict[str, float]:
    """PR: how evenly the vectors of all languages together point in all directions, in (0, 1], 1 if evenly.

    min Z(v) / max Z(v), Z(v) = sum_e exp(v e), where v runs over the eigenvectors of E^T E, whose signs mean nothing.

    Returns:
        "pr": each v as the solver returned it; 1 / e or less for vectors that are all one. "pr:both-signs": over v and
        -v; e^-2 for vectors that are all one.
    Source: docs/papers.md#emma-x-pr.
    """
    rows = np.asarray(vectors, dtype=np.float64).reshape(-1, vectors.shape[-1])
    projected = rows @ np.linalg.eigh(rows.T @ rows)[1]
    grown = np.exp(projected)
    plus, minus = grown.sum(axis=0), (1 / grown).sum(axis=0)
    both = np.concatenate([plus, minus])
    return {"pr": float(plus.min() / plus.max()), "pr:both-signs": float(both.min() / both.max())}


@dataclass(frozen=True)
class Geometry(TextTask):
    """One text in many languages, of which all seeds are scored together."""

    long_tail: Sequence[str]
    seed: int

    def findings(self, vectors: Vectors) -> Iterator[Finding]:
        """The metrics of each group of languages, and a map of the text, of the parts or of undivided vectors.

        Raises:
            DataError: fewer than 20 sentences have a direction in all languages.
        """
        from orthoglot.study.tasks.projections import project_text

        for view in vectors.parts:
            by_seed = [vectors.seen(view, seed, paired=False) for seed in vectors.seeds]
            there = np.all([usable(rows) for texts in by_seed for rows in texts.values()], axis=0)
            if there.sum() < FEWEST:
                raise DataError(
                    f"geometry of {self.dataset}, {view} view: {there.sum()} sentences have a direction in all "
                    f"languages; it needs {FEWEST}, or leave the task out"
                )
            directions = [
                {code: unit(rows[there].astype(np.float64)) for code, rows in texts.items()}
                for texts in by_seed
            ]
            if view != "language":
                drawn = project_text(directions[0], self.seed)
                yield Finding(ALL, view, vectors.seeds[0], self.name, drawn, {})
            blocks = blocks_of(there.sum(), self.seed)
            for group, languages in groups(list(self.text.sentences), self.long_tail).items():
                facts = {
                    "languages": ",".join(languages),
                    "vectors": "length-1",
                    "dropped": int((~there).sum()),
                }
                for seed, rows in zip(vectors.seeds, directions, strict=True):
                    measured = metrics(np.stack([rows[code] for code in languages]), blocks)
                    yield Finding(group, view, seed, self.name, measured, facts)


def make(name: str, data: TaskData) -> list[Geometry]:
    """The texts that benchmarks have in many languages."""
    long_tail, seed = data.settings.long_tail, data.settings.seed
    return [Geometry(name, text, long_tail, seed) for text in data.sets(nway.read)]


def groups(languages: Sequence[str], long_tail: Sequence[str]) -> dict[str, list[str]]:
    """{group: its languages}, those with two or more; head and long tail where there are both."""
    tail = [code for code in languages if code in long_tail]
    head = [code for code in languages if code not in long_tail]
    by_group = {HEAD: head, LONG_TAIL: tail} if head and tail else {}
    return {name: codes for name, codes in (by_group | {ALL: list(languages)}).items() if len(codes) > 1}


def blocks_of(sentences: int, seed: int) -> np.ndarray:
    """(sentences,) the block of each, 0 to 9, in equal numbers up to one."""
    return np.random.default_rng(derive(seed, "geometry", "blocks")).permutation(sentences) % BLOCKS


def metrics(vectors: np.ndarray, blocks: np.ndarray) -> Blocks:
    """The metrics of (L, n, D), and those with an interval without each block of `blocks` (n,)."""
    from orthoglot.statistics.summary import Blocks

    parts = [_with_interval(vectors[:, blocks != block]) for block in range(BLOCKS)]
    without = {metric: np.array([part[metric] for part in parts]) for metric in parts[0]}
    ends = {metric: (0.0, 1.0 if metric.startswith("pr") else math.inf) for metric in without}
    full = full_divergence(vectors)
    values = {**_with_interval(vectors), "kl-d:full": full, "kl-d:full/d": full / vectors.shape[-1]}
    return Blocks(values, without, ends, vectors.shape[1])


def _with_interval(vectors: np.ndarray) -> dict[str, float]:
    return {"kl-d": diagonal_divergence(vectors), **canonical_form(vectors), **isotropy(vectors)}
