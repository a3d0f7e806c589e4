"""Sentence vectors on disk, found by sentence and language; a store knows the encoder that made it."""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from orthoglot.errors import DataError
from orthoglot.usable_vectors import not_finite

VECTORS, DIGESTS, ROWS, META = "vectors.npy", "digests.npy", "rows.npy", "meta.json"
WIDTH = 16
DTYPES = ("float32", "float16")
# Rounding to float16 moves a value in its normal range (6.1e-5 to 65504) by at most 2^-11 of itself.
MOST = 2.0**-10


def digests_of(sentences: Sequence[str], language: str) -> np.ndarray:
    """128-bit digest per (language, sentence), (n,) of 16 bytes each; equal text has an equal digest."""
    # A code never holds a zero byte, so no two (language, sentence) give the same text.
    start = hashlib.blake2b(language.encode() + b"\0", digest_size=WIDTH)
    joined = bytearray()
    for sentence in sentences:
        digest = start.copy()
        digest.update(sentence.encode())
        joined += digest.digest()
    return np.frombuffer(bytes(joined), dtype=f"S{WIDTH}")


@dataclass(frozen=True)
class EmbeddingStore:
    """Vectors of distinct sentences."""

    vectors: np.ndarray  # (N, D) float32 or float16, memory-mapped, not normalised; read with `take`
    digests: np.ndarray  # (N,) sorted digests of (language, sentence)
    places: np.ndarray  # (N,) row of `vectors` that each digest stands for
    # `encoder`, `identity`, `checkpoint`, `revision`, `pooling`, `prefix`, `max_tokens`, `normalised` (false), `dtype`
    # (float32 where none is stated), `precision`, `dim`, `n`, `sentences` by language, `index`, `maker` (digest of what
    # decides a vector besides its sentence), `bits` of rounded weights
    meta: Mapping[str, Any]
    folder: Path  # for messages

    @classmethod
    def open(cls, folder: Path, identity: str) -> Self:
        """Open a store of the encoder with this identity, without reading its vectors.

        Raises:
            DataError: A file is absent or damaged, sizes or digests disagree, or another encoder made it.
        """
        folder = Path(folder)
        try:
            meta = json.loads((folder / META).read_text(encoding="utf-8"))
            shape, dtype = (meta["n"], meta["dim"]), meta.get("dtype", "float32")
            index, maker = meta["index"], meta["identity"]
            if not all(type(length) is int for length in shape) or shape[0] < 0 or shape[1] < 1:
                raise ValueError(f"n and dim are {shape}")
            if dtype not in DTYPES:
                raise ValueError(f"stored as {dtype!r}, known are {', '.join(DTYPES)}")
            if not isinstance(meta.get("encoder", ""), str):
                raise ValueError(f"encoder is {meta['encoder']!r}")
            vectors = _array(folder / VECTORS, np.dtype(dtype), shape)
            digests = _array(folder / DIGESTS, np.dtype(f"S{WIDTH}"), shape[:1])
            places = _array(folder / ROWS, np.dtype(np.int64), shape[:1])
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise DataError(f"embeddings {folder}: cannot be read ({error!r})") from error
        actual = index_digest(digests, places)
        if actual != index:
            raise DataError(f"embeddings {folder}: index has digest {actual}, expected {index}")
        if identity != maker:
            raise DataError(f"embeddings {folder}: made by encoder {maker}, needed is {identity}")
        return cls(vectors, digests, places, meta, folder)

    def rows(self, sentences: Sequence[str], language: str) -> np.ndarray:
        """Row of `vectors` for each sentence (n,), int64; a DataError names one that has no vector."""
        numbers = self.find(sentences, language)
        if len(missing := np.flatnonzero(numbers < 0)):
            raise DataError(
                f"embeddings {self.folder}: no vector of {language} {sentences[int(missing[0])]!r} "
                f"({len(missing)} of {len(sentences)} sentences are missing)"
            )
        return numbers

    def find(self, sentences: Sequence[str], language: str) -> np.ndarray:
        """Row of `vectors` for each sentence (n,), int64; -1 where it has none."""
        wanted = digests_of(sentences, language)
        if not len(wanted) or not len(self.digests):
            return np.full(len(wanted), -1, dtype=np.int64)
        positions = np.searchsorted(self.digests, wanted).clip(max=len(self.digests) - 1)
        return np.where(self.digests[positions] == wanted, self.places[positions], -1)

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Vectors of some rows (n, D) float32, whatever type they are stored as; no others are read.

        Raises:
            DataError: A vector is not finite.
        """
        vectors = self.vectors[rows].astype(np.float32, copy=False)
        if len(wrong := not_finite(vectors)):
            raise DataError(f"embeddings {self.folder}: vector {rows[wrong[0]]} (from 0) is not finite")
        return vectors


def _array(path: Path, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """Map a .npy file; OSError or ValueError unless it holds exactly an array of this type and shape, row by row."""
    with path.open("rb") as file, warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            if np.lib.format.read_magic(file) != (1, 0):
                raise ValueError("not a .npy file of version 1.0")
            stored_shape, by_column, stored = np.lib.format.read_array_header_1_0(file)
        except Exception as error:  # a damaged header makes NumPy's parser fail in many ways
            raise ValueError(f"{path.name}: {error}") from error
        start = file.tell()
    size = path.stat().st_size - start
    if (stored_shape, stored) != (shape, dtype):
        raise ValueError(f"{path.name}: {stored} {stored_shape}, expected {dtype} {shape}")
    if (by_column and len(shape) > 1) or size != dtype.itemsize * math.prod(shape):
        raise ValueError(f"{path.name}: {size} bytes, not {dtype} {shape} row by row")
    if size == 0:  # nothing to map
        return np.empty(shape, dtype)
    return np.memmap(path, dtype, "r", start, shape)


def index_digest(digests: np.ndarray, places: np.ndarray) -> str:
    """sha256 of which sentences a store holds and where."""
    return hashlib.sha256(digests.tobytes() + places.tobytes()).hexdigest()


def as_stored(vectors: np.ndarray, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Finite float32 vectors (n, D) as they are stored, and the rows whose error is above 2^-10 of their length.

    Such a row has values beyond 65504, or values so small that their digits are lost. float32 holds every row.
    """
    if dtype == np.float32:
        return vectors.astype(dtype, copy=False), np.empty(0, dtype=np.int64)
    with np.errstate(over="ignore"):
        cast = vectors.astype(dtype)
    exact = vectors.astype(np.float64)
    held = np.linalg.norm(cast - exact, axis=1) <= MOST * np.linalg.norm(exact, axis=1)
    return cast, np.flatnonzero(~held)
