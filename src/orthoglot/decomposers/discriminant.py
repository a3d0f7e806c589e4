"""Fisher's discriminant with each translation pair as a class: directions in which translations agree."""

from __future__ import annotations

import numpy as np

from orthoglot.decomposers.base import ClosedForm, Languages, Split, Weights
from orthoglot.decomposers.moments import Moments, PairMoments
from orthoglot.errors import DataError


def fit(moments: Moments, pairs: PairMoments, shrinkage: float, power: float) -> dict[str, np.ndarray]:
    """meaning = (x - mean) W U diag((w / (1 + w))^power), x = e / |e|.

    Over the N training translations (a, b), unit vectors less their common mean,

        S_w = E[(a - b) (a - b)^T] / 2      what differs between translations: language, style, noise
        S_b = E[a b^T + b a^T] / 2          what translations share: meaning
        W = ((1 - s) S_w + s (tr S_w / D) I)^(-1/2),    W S_b W = U diag(w) U^T, negative w are taken as 0.

    w is a direction's ratio of meaning to difference, and w / (1 + w) its share of meaning (a Wiener filter). One mean
    for all languages makes their offsets a part of S_w, so that applying it needs no language. The language part is
    what no linear map predicts from the directions with meaning:

        language = (x - mean) (I - A B),   A = (W U) of the directions with w > 0,   B = (A^T C A)^(-1) A^T C

    with C the covariance of all training vectors: it is uncorrelated with the meaning of its own sentence.

    Args:
        moments: of unit vectors, with products.
        pairs: of unit vectors, with products.
        shrinkage: s in [0, 1]; 1 leaves the metric of the encoder.
        power: of the filter, at least 0; 0 keeps all directions alike.
    Returns:
        mean: (D,), meaning and language: (D, D), each part = (x - mean) @ map.
    Raises:
        DataError: no translation, or S_w has no inverse.
    Source: Fisher 1936; as probabilistic linear discriminant analysis Ioffe, "Probabilistic Linear Discriminant
    Analysis", ECCV 2006; docs/papers.md#discriminant.
    """
    n = sum(pairs.counts.values())
    if not n or moments.products is None:
        raise DataError("discriminant: needs translations")
    mean = moments.sums.sum(axis=0) / moments.counts.sum()
    dim = len(mean)
    squares = moments.products.sum(axis=0) / moments.counts.sum()
    shared = sum(pairs.products.values()) / n
    shared = (shared + shared.T) / 2
    within = squares - shared
    between = shared - np.outer(mean, mean)
    sizes, axes = np.linalg.eigh(within)
    sizes = (1 - shrinkage) * sizes + shrinkage * np.trace(within) / dim
    if sizes[0] <= np.trace(squares) * np.finfo(np.float32).eps ** 2:
        raise DataError(
            f"discriminant: the differences of translations do not fill their {dim} dimensions; more sentences or a "
            "shrinkage above 0 would"
        )
    whiten = axes / np.sqrt(sizes) @ axes.T
    ratio, directions = np.linalg.eigh(whiten @ between @ whiten)
    ratio = np.maximum(ratio, 0)
    project = whiten @ directions
    kept = project[:, ratio > 0]
    covariance = squares - np.outer(mean, mean)
    predicted = kept @ np.linalg.solve(kept.T @ covariance @ kept, kept.T @ covariance)
    return {
        "mean": mean,
        "meaning": project * (ratio / (1 + ratio)) ** power,
        "language": np.eye(dim) - predicted,
    }


def apply(weights: Weights, vectors: np.ndarray, _: Languages) -> Split:
    """Meaning and language of vectors (N, D) of any language."""
    centred = vectors / np.linalg.norm(vectors, axis=1, keepdims=True) - weights["mean"]
    return centred @ weights["meaning"], centred @ weights["language"]
