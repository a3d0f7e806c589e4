"""Stored vectors without their language, in place of encoding the text again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from orthoglot.atomic import replacing, reserve
from orthoglot.decomposers.base import Decomposer
from orthoglot.errors import ConfigError, DataError
from orthoglot.finite import not_finite

# Vectors in memory at once: 16 MiB of float32 with 768 dimensions.
ROWS = 1 << 13


def unbias(
    vectors: Path,
    decomposer: Decomposer,
    output: Path,
    *,
    part: Literal["meaning", "language"] = "meaning",
    languages: str | Sequence[str] = "",
    partner: str | None = None,
    rows: int = ROWS,
) -> int:
    """Write one part of each stored vector, in the same order, size and type.

    The file is read and written `rows` vectors at a time, so that memory does not grow with it. It must hold the
    encoder's own vectors of the model's encoder; their length matters only to methods that do not divide by it.

    Args:
        vectors: .npy file of (N, D) float32 or float16.
        decomposer: of D numbers.
        output: .npy file; may be `vectors` itself, which is replaced when all is written.
        part: which part to keep.
        languages: of all vectors, or of each; needed by methods that have weights for each language.
        partner: the language with which they are compared, for centering per pair.
        rows: vectors at once; changes no result.
    Returns:
        N.
    Raises:
        ConfigError: not one language for each vector.
        DataError: the file is no such array, has another D, or a vector that is not finite; a language is unknown
            or not given, and the method has weights for each.
    """
    try:
        stored = np.load(vectors, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{vectors}: not a .npy array ({error})") from error
    shape: tuple[int, ...] = getattr(stored, "shape", ())
    if len(shape) != 2 or shape[1] != decomposer.dim or stored.dtype not in (np.float32, np.float16):
        raise DataError(
            f"{vectors}: {getattr(stored, 'dtype', 'an archive')} {shape}, expected float32 or float16 "
            f"(N, {decomposer.dim})"
        )
    if not isinstance(languages, str) and len(languages) != shape[0]:
        raise ConfigError(f"{vectors}: {shape[0]} vectors but {len(languages)} languages")
    with replacing(output) as partial:
        edited = np.lib.format.open_memmap(partial, mode="w+", dtype=stored.dtype, shape=shape)
        reserve(partial)
        for start in range(0, shape[0], rows):
            own = np.asarray(stored[start : start + rows], dtype=np.float32)
            if len(wrong := not_finite(own)):
                raise DataError(f"{vectors}: vector {start + int(wrong[0])} (from 0) is not finite")
            names = languages if isinstance(languages, str) else languages[start : start + rows]
            edited[start : start + rows] = getattr(decomposer.transform(own, names, partner), part)
        edited.flush()
        del edited
    return int(shape[0])
