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
    """What belongs to each first byte of a hash, in files of a new folder but for the last 8 MiB.

    Args:
        folder: The folder; one that `save` has filled is read.
        keep: Whether files stay after `take`.
    """

    def __init__(self, folder: Path, *, keep: bool = False) -> None:
        self._folder, self._keep = folder, keep
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
            self.save()

    def save(self) -> None:
        """Write what is in memory."""
        self._folder.mkdir(exist_ok=True)
        for path, waiting in zip(self._paths, self._waiting, strict=True):
            with path.open("ab") as file:
                file.writelines(waiting)
            waiting.clear()
        self._size = 0

    def read(self, part: int) -> bytes:
        """The content of a part."""
        written = self._paths[part].read_bytes() if self._folder.exists() else b""
        return written + b"".join(self._waiting[part])

    def take(self, part: int) -> bytes:
        """The content of a part, which is removed from disk."""
        content = self.read(part)
        if not self._keep:
            self._paths[part].unlink(missing_ok=True)
        return content

    def __iter__(self) -> Iterator[bytes]:
        """`take` of each part."""
        return map(self.take, range(PARTS))


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
    """Compressed files of lines, NAME-00000.SUFFIX.zst and so on. Equal lines give equal bytes.

    `count` is how many lines there are, with those before the `first` one, which other processes write.
    """

    def __init__(self, folder: Path, name: str, suffix: str, first: int = 0) -> None:
        self.count = first
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
