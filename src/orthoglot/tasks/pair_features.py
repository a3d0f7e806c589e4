"""What a classifier sees of a text, of a pair of texts, and of a choice of two pairs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from orthoglot.decomposers.base import unit


def features(vectors: Sequence[np.ndarray]) -> np.ndarray:
    """One text: its vector u. A pair: u and v with what tells them apart. A choice: the difference of two pairs.

    pair(u, v) = [u, v, |u - v|, sqrt(D) u * v]

    u and v have length 1, so that their entries are about 1 / sqrt(D) and those of their product 1 / D: the factor
    brings all parts to one size, which a perceptron needs and a standardised regression does not notice. Of a choice
    between (u, v) and (u', v') it is pair(u, v) - pair(u', v'), whose sign changes if the alternatives change places.

    Args:
        vectors: of one, two or four texts, (N, D) each, of any length but 0.
    Returns:
        (N, D) or (N, 4 D), float64.
    Source: docs/papers.md#pair-features.
    """
    units = [unit(one.astype(np.float64)) for one in vectors]
    if len(units) == 1:
        return units[0]
    if len(units) == 2:
        return _pair(*units)
    first, second, third, fourth = units
    return _pair(first, second) - _pair(third, fourth)


def _pair(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.concatenate([u, v, abs(u - v), u.shape[1] ** 0.5 * u * v], axis=1)
