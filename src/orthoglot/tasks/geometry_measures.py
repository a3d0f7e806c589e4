"""The geometry of sentence vectors of one text in many languages: invariance, canonical form, isotropy.

Input is (L, n, D): n sentences in L languages, sentence by sentence translations, each vector of length 1. All is
computed in float64. Source: Emma-X 2023, section 5; methods 7.12.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.covariance import ledoit_wolf

# Of a variance: below it a dimension is as good as constant.
FLOOR = 1e-8


class CanonicalForm(NamedTuple):
    """CH-I, higher is better: translations lie close together, different sentences apart.

    Attributes:
        ratio: L sum_k |c_k - c|^2 / sum_k sum_(s in k) |s - c_k|^2, as the paper prints it; k runs over sentences.
        standard: Calinski and Harabasz's index, ratio (n L - n) / (n - 1), which the paper's numbers are.
    """

    ratio: float
    standard: float


class Isotropy(NamedTuple):
    """PR in (0, 1], 1 where no direction is preferred: min Z(v) / max Z(v), Z(v) = sum_e exp(v e).

    v runs over the eigenvectors of E^T E, whose signs mean nothing.

    Attributes:
        one_sign: each v as the solver returned it. Vectors that are all one give 1 / e or less.
        both_signs: over v and -v; e^-2 for vectors that are all one.
    """

    one_sign: float
    both_signs: float


def diagonal_divergence(vectors: np.ndarray) -> float:
    """KL-D: how differently the languages' vectors are spread; nats, at least 0, lower is more alike.

    The mean over pairs of languages of (KL(a, b) + KL(b, a)) / 2 of Gaussians with diagonal covariance,
    KL(a, b) = (tr(S_b^-1 S_a) + (m_b - m_a)^T S_b^-1 (m_b - m_a) - D + ln |S_b| / |S_a|) / 2; the logarithms cancel.
    """
    whole = np.asarray(vectors, dtype=np.float64)
    means = whole.mean(axis=1)
    variances = np.maximum(whole.var(axis=1), FLOOR)
    distances = [((means - mean) ** 2 / own).sum(axis=1) for mean, own in zip(means, variances, strict=True)]
    return _symmetric(variances @ (1 / variances).T, np.stack(distances, axis=1), whole.shape[-1])


def full_divergence(vectors: np.ndarray) -> float:
    """The same of Gaussians with a full covariance, shrunk towards a multiple of the identity (Ledoit and Wolf 2004).

    Two samples of one distribution are apart as well, by more the larger D is beside n.
    """
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


def canonical_form(vectors: np.ndarray) -> CanonicalForm:
    """How much further sentences are from each other than from their translations."""
    whole = np.asarray(vectors, dtype=np.float64)
    languages, sentences, _ = whole.shape
    centres = whole.mean(axis=0)
    between = languages * ((centres - centres.mean(axis=0)) ** 2).sum()
    apart = whole - centres
    within = np.vdot(apart, apart)
    ratio = float(between / within) if within else float("inf")
    return CanonicalForm(ratio, ratio * (languages * sentences - sentences) / (sentences - 1))


def isotropy(vectors: np.ndarray) -> Isotropy:
    """How evenly the vectors of all languages together point in all directions."""
    rows = np.asarray(vectors, dtype=np.float64).reshape(-1, vectors.shape[-1])
    projected = rows @ np.linalg.eigh(rows.T @ rows)[1]
    grown = np.exp(projected)
    plus, minus = grown.sum(axis=0), (1 / grown).sum(axis=0)
    both = np.concatenate([plus, minus])
    return Isotropy(float(plus.min() / plus.max()), float(both.min() / both.max()))
