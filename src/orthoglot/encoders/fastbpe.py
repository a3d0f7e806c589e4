"""Subwords as the program fastBPE cuts them, from its two files.

A word is its characters, the last one with the mark </w>. The neighbours of the earliest merge are joined, from left to
right, until none is left to join. A subword that is not in the vocabulary is then taken apart again into the two that
it was joined of, and so on. Characters stay even if the vocabulary lacks them. Each subword but a word's last ends in
"@@".

Source: https://github.com/glample/fastBPE; docs/papers.md#laser1-text.
"""

from __future__ import annotations

import functools
import sys
from itertools import pairwise
from pathlib import Path

from orthoglot.errors import DataError

END, GOES_ON = "</w>", "@@"
# Words that are remembered: some 30 MB.
WORDS = 100_000


class FastBpe:
    """The merges and the vocabulary of a model of fastBPE."""

    def __init__(self, codes: Path, vocabulary: Path):
        """Read the files that `fastbpe learnbpe` and `getvocab` wrote.

        Args:
            codes: A merge a line, the first one first: two subwords and a count.
            vocabulary: A subword a line, as text has it, and a count.
        Raises:
            DataError: A file cannot be read, or is in another form.
        """
        merges = [(first, second) for first, second, _ in _rows(codes, 3)]
        self._ranks = {pair: rank for rank, pair in enumerate(merges)}
        self._parts = {first + second: (first, second) for first, second in merges}
        if len(self._parts) != len(merges):
            raise DataError(f"{codes}: no codes of fastBPE: two merges make the same subword")
        self.vocabulary = frozenset(subword for subword, _ in _rows(vocabulary, 2))
        self._of_word = functools.lru_cache(WORDS)(self._cut)

    def subwords(self, words: str) -> list[str]:
        """The subwords of a text that is words separated by blanks."""
        return [subword for word in words.split() for subword in self._of_word(word)]

    def _cut(self, word: str) -> list[str]:
        parts = [*word[:-1], word[-1] + END]
        while len(parts) > 1:
            best = min(pairwise(parts), key=lambda pair: self._ranks.get(pair, sys.maxsize))
            if best not in self._ranks:
                break
            parts = _joined(parts, best)
        known = [written for part in parts[:-1] for written in self._known(part)]
        return [*known, *self._known(parts[-1])]

    def _known(self, part: str) -> list[str]:
        """A part of a word as it is written; if the vocabulary lacks it, the two parts that were joined to make it."""
        written = part.removesuffix(END) if part.endswith(END) else part + GOES_ON
        if written in self.vocabulary or part not in self._parts:
            return [written]
        first, second = self._parts[part]
        return [*self._known(first), *self._known(second)]


def _joined(parts: list[str], pair: tuple[str, str]) -> list[str]:
    """Every such pair of neighbours as one part, from left to right; parts of a pair are of no other."""
    joined: list[str] = []
    place = 0
    while place < len(parts):
        width = 2 if tuple(parts[place : place + 2]) == pair else 1
        joined.append("".join(parts[place : place + width]))
        place += width
    return joined


def _rows(path: Path, columns: int) -> list[list[str]]:
    """Lines of so many columns, of which the last is a number, separated by one blank each."""
    try:
        lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error})") from error
    rows = [line.split(" ") for line in lines]
    for number, row in enumerate(rows, 1):
        if len(row) != columns or "" in row or not row[-1].removeprefix("-").isdecimal():
            what = "two subwords" if columns == 3 else "a subword"
            raise DataError(f"{path}: line {number} is not {what} and a count, as fastBPE writes them")
    return rows
