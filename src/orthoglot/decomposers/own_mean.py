"""The mean of a text in place of the training text's: what all sentences share does not help to tell them apart.

PLDA's meaning part subtracts the mean of its training text. A text of another kind, or in another language, has another
mean, which all its sentences then have in common. Only the text's sentences are needed for it, no translation.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from orthoglot.decomposers.base import Decomposer, unit
from orthoglot.errors import ConfigError, DataError

# Sentences that weigh as much as the mean of the training text.
WEIGHT = 30
BLOCK = 4096


def adaptable(decomposer: Decomposer | None, part: str) -> Decomposer | None:
    """The decomposer if this part of its vectors can have a text's own mean, as the meaning of PLDA; else None."""
    meaning = decomposer is not None and part == "meaning" and decomposer.architecture == "plda"
    return decomposer if meaning else None


def sums(meanings: np.ndarray, decomposer: Decomposer) -> np.ndarray:
    """Sums of the meaning parts (N, M) of a text, and how many vectors, of each 4,096 in order: (B, M + 1) float64.

    The vectors may have any length. A row of NaN, which is a blank sentence's, does not count.
    """
    rows = []
    for start in range(0, len(meanings), BLOCK):
        block = meanings[start : start + BLOCK]
        scaled = _at_length(block[~np.isnan(block[:, 0])], decomposer).astype(np.float64)
        rows.append(np.append(scaled.sum(axis=0), len(scaled)))
    return np.array(rows).reshape(len(rows), meanings.shape[1] + 1)


def mean_shift(sums: np.ndarray, decomposer: Decomposer) -> np.ndarray:
    """What is added to the meaning parts of a text, (M,) float64.

    -n / (n + 30) m, with the mean m of the text's n meaning parts beyond what those of the training text have. The
    constant does not change. If the decomposer is adapted already, its shift is taken back.

    Args:
        sums: As `sums` gives them, of all parts of the text.
    Source: docs/papers.md#own-mean.
    """
    total = sums.sum(axis=0)
    count = total[-1]
    mean = total[:-1] / max(count, 1)
    earlier = decomposer.weights["offset"].astype(np.float64)
    shift: np.ndarray = -count / (count + WEIGHT) * (mean - earlier) - earlier
    shift[0] = 0
    return shift


def shifted(meanings: np.ndarray, decomposer: Decomposer, shift: np.ndarray) -> np.ndarray:
    """Meaning parts (N, M) with a `mean_shift` added, float32 of length 1."""
    return unit(_at_length(meanings, decomposer) + shift.astype(np.float32))


def centred(meanings: np.ndarray, decomposer: Decomposer) -> np.ndarray:
    """The meaning parts (N, M) of a text with its own mean, float32 of length 1."""
    return shifted(meanings, decomposer, mean_shift(sums(meanings, decomposer), decomposer))


def shift_of(vectors: np.ndarray, decomposer: Decomposer) -> np.ndarray:
    """The `mean_shift` (M,) of vectors (N, D) of the encoder, of one text or of one language; rows of NaN do not count.

    Raises:
        ConfigError: The decomposer is not of PLDA.
    """
    _check(decomposer)
    return mean_shift(sums(decomposer.transform(vectors, "").meaning, decomposer), decomposer)


def with_shift(decomposer: Decomposer, shift: np.ndarray) -> Decomposer:
    """The decomposer whose meaning part has a `mean_shift` (M,) added.

    Raises:
        ConfigError: The decomposer is not of PLDA.
        DataError: The shift has another dimension, or is not finite.
    """
    _check(decomposer)
    offset = decomposer.weights["offset"]
    if np.shape(shift) != offset.shape or not np.isfinite(shift).all():
        raise DataError(f"own mean: {np.shape(shift)}, expected {offset.shape} finite numbers")
    return replace(decomposer, weights={**decomposer.weights, "offset": (offset + shift).astype(np.float32)})


def adapted(decomposer: Decomposer, vectors: np.ndarray) -> Decomposer:
    """The decomposer for texts of the kind of these vectors: its meaning part has their mean, see `shift_of`."""
    return with_shift(decomposer, shift_of(vectors, decomposer))


def _check(decomposer: Decomposer) -> None:
    if adaptable(decomposer, "meaning") is None:
        raise ConfigError(f"own mean: {decomposer.method} has no meaning part that can have it; plda has")


def _at_length(meanings: np.ndarray, decomposer: Decomposer) -> np.ndarray:
    """Meaning parts that were scaled, at the length that `transform` gives: their first number is the constant."""
    return meanings * (decomposer.weights["offset"][0] / meanings[:, :1])
