"""The characters of many texts as one array, so that a property of each is looked up for all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

PAGE_BITS = 8  # characters whose values are computed together: 256
CODE_POINTS = 0x110000


class CharacterTable:
    """A number for each character, computed when a character of its page is first met.

    Args:
        number: the number of a character.
        dtype: of the numbers.
    """

    def __init__(self, number: Callable[[str], int], dtype: type[np.generic]) -> None:
        self._number = number
        self._values = np.zeros(CODE_POINTS, dtype=dtype)
        self._known = np.zeros(CODE_POINTS >> PAGE_BITS, dtype=bool)

    def __getitem__(self, codes: np.ndarray) -> np.ndarray:
        """The numbers of characters with these code points, in the same shape."""
        met = np.zeros_like(self._known)
        met[codes >> PAGE_BITS] = True
        for page in np.flatnonzero(met & ~self._known).tolist():
            rows = range(page << PAGE_BITS, (page + 1) << PAGE_BITS)
            self._values[rows.start : rows.stop] = [self._number(chr(code)) for code in rows]
            self._known[page] = True
        found: np.ndarray = self._values[codes]
        return found


def lengths(texts: Sequence[str]) -> np.ndarray:
    """Characters of each text (N,) int64."""
    return np.fromiter(map(len, texts), np.int64, len(texts))


def code_points(texts: Sequence[str]) -> np.ndarray:
    """The code points of all texts one after another (C,) uint32."""
    return np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype="<u4")


def counts(marked: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """How many characters of each text are marked (N,) int64.

    Args:
        marked: (C,) bool, for the characters of all texts one after another.
        sizes: characters of each text (N,).
    """
    before = np.concatenate([[0], np.cumsum(marked)])
    ends = np.cumsum(sizes)
    found: np.ndarray = before[ends] - before[ends - sizes]
    return found
