"""The three views of a sentence vector: the vector itself, its meaning part and its language part."""

from __future__ import annotations

import numpy as np

from orthoglot.decomposers.base import Decomposer
from orthoglot.errors import DataError
from orthoglot.statistics.records import View


def view(
    vectors: np.ndarray,
    decomposer: Decomposer | None,
    language: str,
    name: View,
    partner: str | None = None,
) -> np.ndarray:
    """One view of sentence vectors (N, D) of one language, (N, D) float32.

    Args:
        decomposer: None gives the sentence view only; other views are then a DataError.
        partner: The other language of the pair, if there is a pair.
    """
    if name == "sentence":
        return np.asarray(vectors, dtype=np.float32)
    if decomposer is None:
        raise DataError(f"the {name} view needs a decomposer, and this evaluation has none")
    parts = decomposer.transform(vectors, language, partner)
    return np.asarray(getattr(parts, name), dtype=np.float32)
