"""The distinct sentences of a preset in shards on disk, and the finished shards of their vectors.

Memory stays the same however many sentences there are. A file of vectors proves that it is whole and what it was made
of.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path

import numpy as np

from orthoglot.atomic import check_no_folder

SENTENCES = 4096
SEAL = hashlib.sha256().digest_size


@dataclass(frozen=True)
class Shard:
    """Distinct sentences of one language and similar length, encoded and saved together."""

    number: int  # its position among all shards
    language: str  # of all its sentences
    count: int  # how many sentences it has
    longest: int  # characters of its longest sentence
    digest: str  # of language and sentences
    path: Path  # where the sentences are

    @property
    def mean_bytes(self) -> float:
        """Bytes of a sentence in the file, where two quotes and a comma belong to it."""
        return self.path.stat().st_size / self.count

    def sentences(self) -> list[str]:
        """Read them, longest first."""
        return json.loads(self.path.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class ShardFiles:
    """Files of vectors, each followed by the SHA-256 of what it was made of and of its own bytes."""

    folder: Path  # where they are
    maker: str  # digest of all that determines a vector besides its sentence
    dim: int  # D
    dtype: np.dtype  # of the stored vectors

    def save(self, shard: Shard, vectors: np.ndarray) -> None:
        """Write (shard.count, D) vectors; a kill at any moment leaves no file or a whole one."""
        content = np.ascontiguousarray(vectors, dtype=self.dtype).tobytes()
        path = self._path(shard)
        # A process of a killed run may still be writing the same shard: each has a file of its own until then.
        partial = path.with_suffix(f".{os.getpid()}")
        partial.write_bytes(content + self._seal(shard, content))
        os.replace(partial, path)

    def read(self, shard: Shard) -> bytes | None:
        """The vectors row by row; None if there is no file, or one that is damaged or was made of something else."""
        check_no_folder(self._path(shard))
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


def make_shards(texts: Iterable[tuple[str, str]], folder: Path) -> list[Shard]:
    """Shards of at most 4096 sentences, by language, longest first, each sentence once.

    Sentences of similar length waste little padding. The order of the shards does not depend on the order of `texts`.
    The folder is emptied; then it holds a file per shard.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shards: list[Shard] = []
    for language, sentences in _distinct(texts, folder / "distinct.db"):
        while shard := list(islice(sentences, SENTENCES)):
            path = folder / f"{len(shards):06d}.json"
            text = json.dumps(shard, ensure_ascii=False)
            path.write_text(text, encoding="utf-8")
            digest = hashlib.sha256(f"{language}\n{text}".encode()).hexdigest()
            shards.append(Shard(len(shards), language, len(shard), len(shard[0]), digest, path))
    return shards


def _distinct(texts: Iterable[tuple[str, str]], path: Path) -> Iterator[tuple[str, Iterator[str]]]:
    """Languages in order, and the distinct sentences of each, longest first; sorted on disk."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        # A killed run starts again from the text: nothing here has to survive it.
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("PRAGMA synchronous = OFF")
        database.execute(
            "CREATE TABLE sentence (language TEXT, characters INTEGER, sentence TEXT,"
            " PRIMARY KEY (language, characters DESC, sentence)) WITHOUT ROWID"
        )
        rows = ((language, len(sentence), sentence) for language, sentence in texts)
        database.execute("BEGIN")
        database.executemany("INSERT OR IGNORE INTO sentence VALUES (?, ?, ?)", rows)
        database.execute("COMMIT")
        records = database.execute(
            "SELECT language, sentence FROM sentence ORDER BY language, characters DESC, sentence"
        )
        for language, group in groupby(records, key=lambda row: row[0]):
            yield language, (sentence for _, sentence in group)
    path.unlink()
