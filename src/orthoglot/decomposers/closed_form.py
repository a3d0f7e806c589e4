"""Decomposers that are computed, not trained."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from orthoglot.errors import DataError


def language_means(vectors: np.ndarray, language_ids: np.ndarray, languages: Sequence[str]) -> np.ndarray:
    """Mean centering's weights: one mean vector per language, (K, D) float32.

    meaning = e - mean_of_its_language, language = that mean (methods 4.5).

    Args:
        vectors: (N, D) training sentence vectors.
        language_ids: (N,) integers in [0, K).
        languages: the K names, for messages.
    Raises:
        DataError: a language has no sentence.
    """
    counts = np.bincount(language_ids, minlength=len(languages))
    empty = [name for name, count in zip(languages, counts, strict=True) if count == 0]
    if empty:
        raise DataError(f"mean centering: no training sentence in {', '.join(empty)}")
    # Summed in float64: a million float32 additions would lose digits.
    means = [vectors[language_ids == k].mean(axis=0, dtype=np.float64) for k in range(len(languages))]
    return np.stack(means).astype(np.float32)
