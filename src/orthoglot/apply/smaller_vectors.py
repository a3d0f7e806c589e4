"""Vectors that take less space: fewer dimensions, or fewer bits for each."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from orthoglot.decomposers.base import WORTH, Decomposer, unit
from orthoglot.embeddings.store import as_stored
from orthoglot.errors import ConfigError, DataError

Dtype = Literal["float32", "float16", "int8"]
# What a number of a vector of length 1 is multiplied with before it is rounded to int8.
SCALE = 127


def check_dim(decomposer: Decomposer | None, part: str, dim: int) -> None:
    """Refuse to cut vectors whose first numbers are not the ones of most worth.

    Raises:
        ConfigError: the part is not the meaning of PLDA, or has fewer dimensions; or one is asked for, the constant.
    """
    if decomposer is None or part != "meaning" or WORTH not in decomposer.weights:
        made = f"the {part} part of {decomposer.method}" if decomposer else "an encoder's own vector"
        raise ConfigError(
            f"dim: {made} has its dimensions in no order of worth; the meaning part of PLDA has"
        )
    if not 2 <= dim <= decomposer.meaning_dim:
        raise ConfigError(
            f"dim {dim}: the vectors have {decomposer.meaning_dim} dimensions, the first of which is a constant"
        )


def check_form(dtype: str, binary: bool) -> None:
    """Refuse an unknown type, and one for vectors of single bits, by a ConfigError."""
    if dtype not in get_args(Dtype):
        raise ConfigError(f"dtype {dtype!r}: unknown; known are {', '.join(get_args(Dtype))}")
    if binary and dtype != "float32":
        raise ConfigError(f"binary vectors have one bit a dimension: give no dtype {dtype}")


def compact(
    vectors: np.ndarray, *, dim: int | None = None, dtype: str = "float32", binary: bool = False
) -> np.ndarray:
    """Vectors as they are stored.

    Args:
        vectors: (n, D) float32.
        dim: keep the first so many numbers of each; what is left is scaled to length 1.
        dtype: "float32"; "float16"; "int8", which is round(127 x) of the vector x of length 1.
        binary: a bit for each number, 1 if it is above 0, packed by `numpy.packbits`; the last byte is filled with 0.
    Returns:
        (n, dim) of this type, or (n, ceil(dim / 8)) uint8.
    Raises:
        ConfigError: see `check_form`.
        DataError: float16 does not hold a vector.
    """
    check_form(dtype, binary)
    shortened = vectors[:, :dim]
    if binary:
        return np.packbits(shortened > 0, axis=1)
    if dim is not None or dtype == "int8":
        shortened = unit(shortened)
    if dtype == "int8":
        return np.rint(SCALE * shortened).astype(np.int8)
    cast, bad = as_stored(shortened, np.dtype(dtype))
    if len(bad):
        largest = np.abs(shortened[bad[0]]).max()
        raise DataError(
            f"float16 does not hold vector {bad[0]} (from 0), whose largest value is {largest:.3g}"
        )
    return cast
