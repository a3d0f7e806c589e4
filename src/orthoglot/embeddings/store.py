"""Sentence vectors on disk, found by sentence and language; a store knows the encoder that made it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from orthoglot.errors import DataError

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
    """Vectors of distinct sentences.

    Attributes:
        vectors: (N, D) float32 or float16, memory-mapped, not normalised; read with `take`.
        digests: (N,) sorted digests of (language, sentence).
        places: (N,) row of `vectors` that each digest stands for.
        meta: `encoder`, `identity`, `checkpoint`, `revision`, `pooling`, `prefix`, `max_tokens`, `normalised`
            (false), `dtype` (float32 where none is stated), `precision`, `dim`, `n`, `sentences` by language, `index`,
            `maker` (digest of what decides a vector besides its sentence), `bits` of rounded weights.
        folder: for messages.
    """

    vectors: np.ndarray
    digests: np.ndarray
    places: np.ndarray
    meta: Mapping[str, Any]
    folder: Path

    @classmethod
    def open(cls, folder: Path, identity: str) -> Self:
        """Open a store without reading its vectors.

        Args:
            folder: as `embed` wrote it.
            identity: of the encoder that the caller needs.
        Raises:
            DataError: a file is absent or damaged, sizes or digests disagree, or another encoder made it.
        """
        folder = Path(folder)
        try:
            meta = json.loads((folder / META).read_text(encoding="utf-8"))
            vectors = np.load(folder / VECTORS, mmap_mode="r", allow_pickle=False)
            digests = np.load(folder / DIGESTS, allow_pickle=False)
            places = np.load(folder / ROWS, allow_pickle=False)
            shape, index = (meta["n"], meta["dim"]), meta["index"]
            dtype = meta.get("dtype", "float32")
            maker = meta["identity"]
        except (OSError, ValueError, KeyError, EOFError) as error:
            raise DataError(f"embeddings {folder}: cannot be read ({error!r})") from error
        if dtype not in DTYPES:
            raise DataError(f"embeddings {folder}: stored as {dtype!r}, known are {', '.join(DTYPES)}")
        if vectors.shape != shape or vectors.dtype != dtype:
            raise DataError(f"embeddings {folder}: {vectors.dtype} {vectors.shape}, expected {dtype} {shape}")
        found = index_digest(digests, places)
        if found != index:
            raise DataError(f"embeddings {folder}: index has digest {found}, expected {index}")
        if identity != maker:
            raise DataError(f"embeddings {folder}: made by encoder {maker}, needed is {identity}")
        return cls(vectors, digests, places, meta, folder)

    def rows(self, sentences: Sequence[str], language: str) -> np.ndarray:
        """Row of `vectors` for each sentence (n,), int64.

        Raises:
            DataError: a sentence has no vector; names it.
        """
        found = self.find(sentences, language)
        if len(missing := np.flatnonzero(found < 0)):
            raise DataError(
                f"embeddings {self.folder}: no vector of {language} {sentences[int(missing[0])]!r} "
                f"({len(missing)} of {len(sentences)} sentences are missing)"
            )
        return found

    def find(self, sentences: Sequence[str], language: str) -> np.ndarray:
        """Row of `vectors` for each sentence (n,), int64; -1 where it has none."""
        wanted = digests_of(sentences, language)
        if not len(wanted) or not len(self.digests):
            return np.full(len(wanted), -1, dtype=np.int64)
        found = np.searchsorted(self.digests, wanted).clip(max=len(self.digests) - 1)
        return np.where(self.digests[found] == wanted, self.places[found], -1)

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Vectors of the named rows (n, D) float32, whatever type they are stored as; no others are read."""
        return self.vectors[rows].astype(np.float32, copy=False)


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
