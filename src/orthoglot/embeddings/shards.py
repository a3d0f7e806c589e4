"""Finished shards of vectors on disk; a file proves that it is whole and what it was made of."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from orthoglot.embeddings.sentences import Shard

SEAL = hashlib.sha256().digest_size


@dataclass(frozen=True)
class ShardFiles:
    """Files of vectors, each followed by the SHA-256 of what it was made of and of its own bytes.

    Attributes:
        folder: where they are.
        maker: digest of all that decides a vector besides its sentence.
        dim: D.
        dtype: of the stored vectors.
    """

    folder: Path
    maker: str
    dim: int
    dtype: np.dtype

    def save(self, shard: Shard, vectors: np.ndarray) -> None:
        """Write (shard.count, D) vectors; a kill at any moment leaves no file or a whole one."""
        content = np.ascontiguousarray(vectors, dtype=self.dtype).tobytes()
        path = self._path(shard)
        # Of a killed run one process may still be writing the same shard: each has a file of its own until then.
        partial = path.with_suffix(f".{os.getpid()}")
        partial.write_bytes(content + self._seal(shard, content))
        os.replace(partial, path)

    def read(self, shard: Shard) -> bytes | None:
        """The vectors row by row; None if there is no file, or one that is damaged or was made of something else."""
        try:
            whole = self._path(shard).read_bytes()
        except FileNotFoundError:
            return None
        content, seal = whole[:-SEAL], whole[-SEAL:]
        size = shard.count * self.dim * self.dtype.itemsize
        return content if len(content) == size and seal == self._seal(shard, content) else None

    def _path(self, shard: Shard) -> Path:
        return self.folder / f"{shard.number:06d}.shard"

    def _seal(self, shard: Shard, content: bytes) -> bytes:
        made_of = f"{self.maker} {shard.digest} {self.dim} {self.dtype.str}\n".encode()
        return hashlib.sha256(made_of + content).digest()
