"""An encoder that looks up what it has encoded before in a file, for measurements that see the same text many times."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from orthoglot.encoders.folder import identity, load_encoder
from orthoglot.encoders.settings import Precision
from orthoglot.progress import Done

BLOCK = 1024


class Remembered:
    """Vectors of an encoder folder, computed without a language, one computation per sentence.

    Args:
        folder: of the encoder.
        file: SQLite; vectors of another encoder or precision are not found in it.
        precision: what the encoder computes in.
    """

    def __init__(self, folder: Path, file: Path, precision: Precision = "bfloat16") -> None:
        self.inner = load_encoder(folder, "cpu", precision)
        self.name, self.dim, self.languages = self.inner.name, self.inner.dim, ()
        made_by = identity(folder) if precision == "bfloat16" else f"{identity(folder)} {precision}"
        self.start = hashlib.blake2b(made_by.encode(), digest_size=16)
        self.file = sqlite3.connect(file, timeout=600)
        self.file.execute("CREATE TABLE IF NOT EXISTS vectors (digest BLOB PRIMARY KEY, vector BLOB)")
        self.known: dict[bytes, np.ndarray] = {}

    def encode(
        self, sentences: Sequence[str], language: str, batch_tokens: int = 2048, done: Done | None = None
    ) -> np.ndarray:
        """As `Encoder.encode`; the language is not looked at."""
        digests = [self.digest(sentence) for sentence in sentences]
        wanted = {key: text for key, text in zip(digests, sentences, strict=True) if key not in self.known}
        for key in list(wanted):
            if row := self.file.execute("SELECT vector FROM vectors WHERE digest = ?", (key,)).fetchone():
                self.known[key] = np.frombuffer(row[0], dtype=np.float32)
                del wanted[key]
        keys = list(wanted)
        for first in range(0, len(keys), BLOCK):
            block = keys[first : first + BLOCK]
            self.add(block, self.inner.encode([wanted[key] for key in block], "", batch_tokens))
        return np.stack([self.known[key] for key in digests])

    def digest(self, sentence: str) -> bytes:
        """The key of a sentence."""
        key = self.start.copy()
        key.update(sentence.encode())
        return key.digest()

    def add(self, keys: Sequence[bytes], vectors: np.ndarray) -> None:
        """Remember vectors (n, D) float32."""
        rows = [(key, vector.tobytes()) for key, vector in zip(keys, vectors, strict=True)]
        with self.file:
            self.file.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
        self.known.update(zip(keys, vectors, strict=True))


@cache
def remembered(folder: Path, file: Path) -> Remembered:
    """One for each folder and file."""
    return Remembered(folder, file)
