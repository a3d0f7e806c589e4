"""Which sentences of a stream are new, and a text's distinct sentences, without holding them in memory.

Sentences are compared by a digest of 64 bits: among n distinct ones, one is taken for another with a probability of
about n^2 / 2^65 (3e-4 for a hundred million).
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, compress
from tempfile import TemporaryFile

import numpy as np

from orthoglot.text.hashes import hashes


class Seen:
    """Digests seen so far: 8 bytes each, 24 while they are merged.

    Sorted arrays, each at least twice as long as the next, so that a digest is merged once per doubling.
    """

    def __init__(self) -> None:
        self._levels: list[np.ndarray] = []

    def new(self, values: np.ndarray) -> np.ndarray:
        """Which values (N,) occur for the first time (N,) bool; they count as seen from then on."""
        added, places = np.unique(values, return_index=True)
        known = np.zeros(len(added), dtype=bool)
        for level in self._levels:
            near = np.searchsorted(level, added)
            known |= level[np.minimum(near, len(level) - 1)] == added
        first = np.zeros(len(values), dtype=bool)
        first[places[~known]] = True
        added = added[~known]
        while self._levels and len(self._levels[-1]) < 2 * len(added):
            added = np.concatenate([self._levels.pop(), added])
            added.sort()
        if len(added):
            self._levels.append(added)
        return first


def distinct(text: Iterable[Sequence[str]]) -> Iterator[str]:
    """The distinct sentences of blocks, in order of first appearance."""
    seen = Seen()
    for block in text:
        yield from compress(block, seen.new(hashes(block)))


class DistinctText:
    """The distinct sentences of a text in order of first appearance, read from disk each time.

    Counting them takes one pass and, during it, 8 to 24 bytes of memory for each (`Seen`). From then on a bit for each
    sentence read says whether it was new.
    """

    def __init__(self, read: Callable[[], Iterable[Sequence[str]]]):
        """Take what reads the text from its beginning, block by block, always the same."""
        self._read = read

    @cached_property
    def _first(self) -> list[np.ndarray]:
        seen = Seen()
        return [np.packbits(seen.new(hashes(block))) for block in self._read()]

    def __len__(self) -> int:
        return sum(int(np.bitwise_count(bits).sum()) for bits in self._first)

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(self._blocks())

    def at(self, rows: np.ndarray) -> Iterator[str]:
        """The sentences of these numbers (N,), all different, in their order, from one pass and a temporary file.

        Memory holds 32 bytes for each.
        """
        order = np.argsort(rows)
        wanted, spans = rows[order], np.empty((len(rows), 2), dtype=np.int64)
        with TemporaryFile() as file:
            read = done = 0
            for block in self._blocks():
                while done < len(wanted) and wanted[done] < read + len(block):
                    start = file.tell()
                    file.write(block[wanted[done] - read].encode())
                    spans[order[done]] = start, file.tell()
                    done += 1
                read += len(block)
                if done == len(wanted):
                    break
            file.write(b"\n")  # an empty file cannot be mapped
            file.flush()
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
                for start, end in spans:
                    yield text[start:end].decode()

    def _blocks(self) -> Iterator[list[str]]:
        for block, bits in zip(self._read(), self._first, strict=True):
            yield list(compress(block, np.unpackbits(bits, count=len(block))))
