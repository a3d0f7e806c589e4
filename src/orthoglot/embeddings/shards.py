"""The distinct sentences of a preset in shards on disk, and the finished shards of their vectors.

Ten million sentences are sorted in 1.3 GB (measurements/many-jobs/README.md). A file of vectors proves that it is whole
and what it was made of.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, groupby, islice
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from orthoglot.atomic import check_no_folder
from orthoglot.errors import ConfigError
from orthoglot.text.bitext import blocks

SENTENCES = 4096
IN_MEMORY = 1_000_000  # texts that are sorted in memory; more are sorted on disk
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
    The folder is emptied; then it holds a file per shard. While many texts are sorted, it holds them twice more.

    Raises:
        ConfigError: There are a million texts or more, and DuckDB is not installed.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shards: list[Shard] = []
    for language, group in groupby(_distinct(iter(texts), folder), key=itemgetter(0)):
        while shard := [sentence for _, sentence in islice(group, SENTENCES)]:
            path = folder / f"{len(shards):06d}.json"
            text = json.dumps(shard, ensure_ascii=False)
            path.write_text(text, encoding="utf-8")
            digest = hashlib.sha256(f"{language}\n{text}".encode()).hexdigest()
            shards.append(Shard(len(shards), language, len(shard), len(shard[0]), digest, path))
    return shards


def _distinct(texts: Iterator[tuple[str, str]], folder: Path) -> Iterator[tuple[str, str]]:
    """Each (language, sentence) once, by language, longest first, equally long ones by their characters."""
    first = list(islice(texts, IN_MEMORY))
    if len(first) < IN_MEMORY:
        return _distinct_in_memory(first)
    return _distinct_on_disk(chain(first, texts), folder)


def _distinct_in_memory(texts: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    distinct: defaultdict[str, set[str]] = defaultdict(set)
    for language, sentence in texts:
        distinct[language].add(sentence)
    for language in sorted(distinct):
        for sentence in sorted(sorted(distinct[language]), key=len, reverse=True):
            yield language, sentence


def _distinct_on_disk(texts: Iterator[tuple[str, str]], folder: Path) -> Iterator[tuple[str, str]]:
    """By DuckDB, which sorts parts in 1 GB of memory and merges them."""
    try:
        import duckdb
    except ImportError as error:
        raise ConfigError(
            f"{IN_MEMORY:,} sentences or more are sorted by DuckDB: pip install duckdb"
        ) from error
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    columns = pyarrow.schema({"language": pyarrow.string(), "sentence": pyarrow.large_string()})
    with TemporaryDirectory(dir=folder, prefix="sort-") as place:
        path = Path(place, "texts.parquet")
        with ParquetWriter(path, columns) as file:
            for rows in blocks(texts):
                file.write_batch(pyarrow.record_batch([*map(list, zip(*rows, strict=True))], schema=columns))
        with duckdb.connect(
            config={"memory_limit": "1GB", "threads": 4, "temp_directory": place}
        ) as database:
            # Equal rows are neighbours then; dropping them takes less than a DISTINCT before the sort.
            ordered = database.sql(
                "SELECT language, sentence FROM read_parquet($texts)"
                " ORDER BY language, length(sentence) DESC, sentence",
                params={"texts": str(path)},
            )
            batches = (batch.to_pydict().values() for batch in ordered.to_arrow_reader(SENTENCES))
            for row, _ in groupby(row for batch in batches for row in zip(*batch, strict=True)):
                yield row
