"""LEACE (2023): the smallest change after which no linear probe can tell the languages apart."""

from __future__ import annotations

import numpy as np

from orthoglot.decomposers.base import ClosedForm, Languages, Split, Weights
from orthoglot.decomposers.moments import Moments
from orthoglot.errors import DataError


def fit(moments: Moments) -> dict[str, np.ndarray]:
    """meaning = e - W^+ P W (e - mean), with W the whitening of all vectors, P onto the whitened class means.

    W = C^(-1/2), C the covariance of all training vectors whatever their language; P projects onto the span of
    W (mean of language k - mean). It moves the vectors least, in every quadratic norm, of all affine maps after which
    the languages have one mean. At most K - 1 directions change; applying it needs no language.

    Returns:
        mean: (D,), left and right: (R, D) with W^+ P W = left^T right, R at most K - 1.
    Raises:
        DataError: There is only one language.
    Source: Belrose et al., "LEACE: Perfect linear concept erasure in closed form", NeurIPS 2023, Theorem 4.3;
    docs/papers.md#leace.
    """
    means, squares = moments.means(), moments.squares()
    if len(means) < 2:
        raise DataError(f"leace: needs two languages or more, has {', '.join(moments.languages)}")
    share = moments.counts / moments.counts.sum()
    mean = share @ means
    covariance = np.tensordot(share, squares, axes=1) - np.outer(mean, mean)
    sizes, directions = np.linalg.eigh(covariance)
    # A direction without variance holds no language either: pseudo-inverse.
    varying = sizes > max(sizes[-1], 0) * len(sizes) * np.finfo(np.float64).eps
    spread, axes = np.sqrt(sizes[varying]), directions[:, varying]
    # W divides by the spread, in the coordinates of `axes`, and W^+ multiplies by it.
    whitened = np.sqrt(share)[:, None] * (means - mean) @ axes / spread
    _, lengths, basis = np.linalg.svd(whitened, full_matrices=False)
    # A length is the root of the variance that language explains in a whitened direction, so at most 1.
    basis = basis[lengths > len(sizes) * np.sqrt(np.finfo(np.float64).eps)]
    return {"mean": mean, "left": basis * spread @ axes.T, "right": basis / spread @ axes.T}


def apply(weights: Weights, vectors: np.ndarray, _: Languages) -> Split:
    """Meaning and language of vectors (N, D) of any language."""
    meaning = vectors - (vectors - weights["mean"]) @ weights["right"].T @ weights["left"]
    return meaning, vectors - meaning


ARCHITECTURE = ClosedForm(fit, apply, {"mean": "D", "left": "R D", "right": "R D"}, products=True)
