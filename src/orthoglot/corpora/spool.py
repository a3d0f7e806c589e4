"""Large corpora on disk between the passes that preparing them takes: which texts are new, and shards of lines.

What is here keeps a small part of a corpus in memory, whatever its size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import numpy as np
import zstandard

from orthoglot.text.hashes import passing_hashes

SHARD = 1_000_000  # lines of a shard
# Parts that a corpus is divided into by the first byte of a hash; one of them is in memory at a time.
PARTS = 256
WAITING = 1 << 23  # bytes that parts keep in memory before they write them: small corpora need no files
# 64 bits of something, and the number of the text that has it.
ROW = np.dtype([("key", "<u8"), ("row", "<i8")])
LEVEL = 2  # twice as fast as 3, for files 6 % larger


class Parts:
    """What belongs to each first byte of a hash, in files of a new folder but for the last 8 MiB."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._paths = [folder / f"{number:02x}" for number in range(PARTS)]
        self._waiting: list[list[bytes]] = [[] for _ in self._paths]
        self._size = 0

    def add(self, keys: np.ndarray, content: np.ndarray | Sequence[str]) -> None:
        """Append what belongs to each hash (N,) uint64 to its part, in order."""
        part = (keys >> np.uint64(56)).astype(np.uint8)
        order = np.argsort(part, kind="stable")
        ends = np.cumsum(np.bincount(part, minlength=PARTS)).tolist()
        rows = content[order] if isinstance(content, np.ndarray) else [content[row] for row in order.tolist()]
        for waiting, (start, end) in zip(self._waiting, pairwise([0, *ends]), strict=True):
            part_rows = rows[start:end]
            waiting.append(
                part_rows.tobytes() if isinstance(part_rows, np.ndarray) else "".join(part_rows).encode()
            )
            self._size += len(waiting[-1])
        if self._size > WAITING:
            self._folder.mkdir(exist_ok=True)
            for path, waiting in zip(self._paths, self._waiting, strict=True):
                with path.open("ab") as file:
                    file.writelines(waiting)
                waiting.clear()
            self._size = 0

    def contents(self) -> Iterator[bytes]:
        """The content of each part."""
        written = self._folder.exists()
        for path, waiting in zip(self._paths, self._waiting, strict=True):
            yield (path.read_bytes() if written else b"") + b"".join(waiting)

    def __iter__(self) -> Iterator[bytes]:
        """The content of each part, which is removed from disk when the next one is asked for."""
        for path, content in zip(self._paths, self.contents(), strict=True):
            yield content
            path.unlink(missing_ok=True)


class Column:
    """Rows of a file, read when a slice of them is asked for; unlike a memory map, they take no memory afterwards."""

    def __init__(self, path: Path, dtype: np.dtype, field: str = "") -> None:
        self._path, self._dtype, self._field = path, dtype, field

    def __getitem__(self, rows: slice) -> np.ndarray:
        """The rows from `start` to `stop`, or their field."""
        with self._path.open("rb") as file:
            file.seek(rows.start * self._dtype.itemsize)
            values = np.fromfile(file, self._dtype, rows.stop - rows.start)
        return values[self._field] if self._field else values


def repeated(keys: np.ndarray) -> np.ndarray:
    """The places of those keys (N,) that have an equal one before them."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    return order[1:][ordered[1:] == ordered[:-1]]


def counted(
    reason: str, kept: np.ndarray, before: int, dropped: Counter[str], *, always: bool = False
) -> int:
    """How many stay; those that went since `before` are counted."""
    left = int(np.count_nonzero(kept))
    if always or left < before:
        dropped[reason] += before - left
    return left


class Firsts:
    """Which texts of a stream are the first of their kind, decided after all have been read.

    Texts are compared by 64 bits: among n different ones, one is taken for another with a probability of about
    n^2 / 2^65, 3e-4 for a hundred million. Each takes 16 bytes of disk; memory holds a 256th of them.
    """

    def __init__(self, folder: Path) -> None:
        self._parts = Parts(folder)
        self._count = 0

    def add(self, texts: Sequence[str]) -> None:
        """The next texts of the stream."""
        rows = np.empty(len(texts), dtype=ROW)
        rows["key"] = passing_hashes(texts, len(texts))
        rows["row"] = np.arange(self._count, self._count + len(texts))
        self._count += len(texts)
        self._parts.add(rows["key"], rows)

    def clear_repeated(self, kept: np.ndarray) -> None:
        """Set `kept` (N,) to False for each text that has an equal one before it; ends the stream."""
        for content in self._parts:
            rows = np.frombuffer(content, dtype=ROW)
            kept[rows["row"][repeated(rows["key"])]] = False


class Shards:
    """Compressed files of lines, NAME-00000.SUFFIX.zst and so on. Equal lines give equal bytes."""

    def __init__(self, folder: Path, name: str, suffix: str) -> None:
        self.count = 0
        self._folder, self._name, self._suffix = folder, name, suffix
        self._open = ExitStack()

    def close(self) -> None:
        """Finish the last file."""
        self._open.close()

    def write(self, lines: Sequence[bytes]) -> None:
        """Add lines, each without its line feed."""
        while lines:
            if self.count % SHARD == 0:
                self.close()
                path = self._folder / f"{self._name}-{self.count // SHARD:05d}.{self._suffix}.zst"
                self._file = self._open.enter_context(
                    zstandard.open(path, "wb", zstandard.ZstdCompressor(level=LEVEL, write_checksum=True))
                )
            shard_lines, lines = lines[: (room := SHARD - self.count % SHARD)], lines[room:]
            self._file.write(b"\n".join(shard_lines) + b"\n")
            self.count += len(shard_lines)


def shards(folder: Path, name: str) -> list[Path]:
    """The files that `Shards` wrote, in order."""
    return sorted(folder.glob(f"{name}-[0-9]*.zst"))
