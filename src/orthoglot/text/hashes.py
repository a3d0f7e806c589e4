"""Hashes of sentences, which decide what is the same, what is drawn and in which order it comes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from hashlib import blake2b

import numpy as np

# Hashes are counted by their first two bytes, to know where the lowest of them end.
BINS = 1 << 16


def hashes(texts: Iterable[str], person: bytes = b"") -> np.ndarray:
    """64 bits of BLAKE2b of each text (N,) uint64."""
    return hashes_of_bytes((text.encode() for text in texts), person)


def hashes_of_bytes(texts: Iterable[bytes], person: bytes = b"") -> np.ndarray:
    """The same of texts in UTF-8."""
    digests = b"".join([blake2b(text, digest_size=8, person=person).digest() for text in texts])
    return np.frombuffer(digests, dtype=">u8").astype(np.uint64)


def passing_hashes(values: Iterable[Hashable], count: int) -> np.ndarray:
    """Python's own 64-bit hash of `count` values (N,) uint64: it differs between processes, so no file may keep it.

    Nothing is encoded, so it is several times as fast as `hashes`, and faster than xxh3.
    """
    return np.fromiter(map(hash, values), np.int64, count).view(np.uint64)


def bins_of(values: np.ndarray) -> np.ndarray:
    """The bin of each hash (N,) int64, in their order."""
    return (values >> np.uint64(48)).astype(np.int64)
