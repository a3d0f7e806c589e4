"""The characters of many texts as one array, so that a property of each is looked up for all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

PAGE_BITS = 8  # characters whose values are computed together: 256
CODE_POINTS = 0x110000


class CharacterTable:
    """A number for each character, computed when a character of its page is first met.

    Args:
        number: the number of a character, below the greatest of the type.
        dtype: an unsigned type.
    """

    def __init__(self, number: Callable[[str], int], dtype: type[np.unsignedinteger[Any]]) -> None:
        self._number = number
        self._unknown = np.iinfo(dtype).max
        self._values = np.full(CODE_POINTS, self._unknown, dtype=dtype)

    def __getitem__(self, codes: np.ndarray) -> np.ndarray:
        """The numbers of characters with these code points, in the same shape."""
        numbers: np.ndarray = self._values[codes]
        if numbers.size and numbers.max() == self._unknown:
            for page in np.unique(codes[numbers == self._unknown] >> PAGE_BITS).tolist():
                rows = range(page << PAGE_BITS, (page + 1) << PAGE_BITS)
                self._values[rows.start : rows.stop] = [self._number(chr(code)) for code in rows]
            numbers = self._values[codes]
        return numbers


def lengths(texts: Sequence[str]) -> np.ndarray:
    """Characters of each text (N,) int64."""
    return np.fromiter(map(len, texts), np.int64, len(texts))


def code_points(text: str) -> np.ndarray:
    """The code points of a text (C,) uint32."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


def counts(marked: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """How many characters of each text are marked (N,) int64.

    Args:
        marked: (C,) bool, for the characters of all texts one after another.
        sizes: characters of each text (N,).
    """
    before = np.concatenate([[0], np.cumsum(marked)])
    ends = np.cumsum(sizes)
    sums: np.ndarray = before[ends] - before[ends - sizes]
    return sums


def texts_with(marked: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The numbers of the texts that have a marked character (n,) int64, ascending; arguments as of `counts`."""
    return np.unique(np.searchsorted(np.cumsum(sizes), np.flatnonzero(marked), side="right"))
