"""Large corpora on disk between the passes that preparing them takes: which texts are new, and shards of lines.

What is here keeps a small part of a corpus in memory, whatever its size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import numpy as np
import zstandard

from orthoglot.text.hashes import hashes

SHARD = 1_000_000  # lines of a shard
# Parts that a corpus is divided into by the first byte of a hash; one of them is in memory at a time.
PARTS = 256
LEVEL = 2  # twice as fast as 3, for files 6 % larger


class Parts:
    """Files in a new folder, one for each first byte of a hash; a context manager while they are written."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._paths = [folder / f"{number:02x}" for number in range(PARTS)]
        self._open = ExitStack()
        self._files: list[BinaryIO] = [self._open.enter_context(path.open("wb")) for path in self._paths]

    def __enter__(self) -> Parts:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def add(self, keys: np.ndarray, content: Sequence[bytes] | np.ndarray) -> None:
        """Append what belongs to each hash (N,) uint64 to its part, in order."""
        part = (keys >> np.uint64(56)).astype(np.int64)
        order = np.argsort(part, kind="stable")
        bounds = np.searchsorted(part[order], np.arange(PARTS + 1))
        for number in np.flatnonzero(np.diff(bounds)):
            rows = order[bounds[number] : bounds[number + 1]]
            if isinstance(content, np.ndarray):
                self._files[number].write(content[rows].tobytes())
            else:
                self._files[number].writelines(content[row] for row in rows)

    def __iter__(self) -> Iterator[bytes]:
        """The content of each part, which is removed from disk when the next one is asked for."""
        for path in self._paths:
            yield path.read_bytes()
            path.unlink()


class Column:
    """Rows of a file, read when a slice of them is asked for; unlike a memory map, they take no memory afterwards."""

    def __init__(self, path: Path, dtype: np.dtype, width: int = 1) -> None:
        self._path, self._dtype, self._width = path, dtype, width

    def __getitem__(self, rows: slice) -> np.ndarray:
        """The rows from `start` to `stop`, (n,) or (n, width)."""
        size, count = self._dtype.itemsize * self._width, rows.stop - rows.start
        with self._path.open("rb") as file:
            file.seek(rows.start * size)
            found = np.fromfile(file, self._dtype, count * self._width)
        return found if self._width == 1 else found.reshape(-1, self._width)


class Firsts:
    """Which texts of a stream are the first of their kind, decided after all have been read.

    Texts are compared by 64 bits: among n different ones, one is taken for another with a probability of about
    n^2 / 2^65, 3e-4 for a hundred million. Each takes 16 bytes of disk; memory holds a 256th of them.
    """

    _ROW = np.dtype([("key", "<u8"), ("row", "<i8")])

    def __init__(self, folder: Path) -> None:
        self._parts = Parts(folder)
        self._count = 0

    def add(self, texts: Sequence[str]) -> None:
        """The next texts of the stream."""
        rows = np.empty(len(texts), dtype=self._ROW)
        rows["key"] = hashes(texts)
        rows["row"] = np.arange(self._count, self._count + len(texts))
        self._count += len(texts)
        self._parts.add(rows["key"], rows)

    def clear_repeated(self, kept: np.ndarray) -> None:
        """Set `kept` (N,) to False for each text that has an equal one before it; ends the stream."""
        with self._parts:
            pass
        for content in self._parts:
            rows = np.frombuffer(content, dtype=self._ROW)
            rows = rows[np.argsort(rows["key"], kind="stable")]
            repeated = rows["key"][1:] == rows["key"][:-1]
            kept[rows["row"][1:][repeated]] = False


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
            some, lines = lines[: (room := SHARD - self.count % SHARD)], lines[room:]
            self._file.write(b"\n".join(some) + b"\n")
            self.count += len(some)


def shards(folder: Path, name: str) -> list[Path]:
    """The files that `Shards` wrote, in order."""
    return sorted(folder.glob(f"{name}-[0-9]*.zst"))
