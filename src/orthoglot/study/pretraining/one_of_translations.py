"""One sentence of each source sentence and its translations in all pair folders, drawn by a hash."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from orthoglot.languages import parse_pair
from orthoglot.text.bitext import SentencePair, blocks
from orthoglot.text.hashes import hashes
from orthoglot.text.prepared import stream_split

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]  # digest of the source sentence, hash, number of the place


class Apart:
    """Where each source sentence of the training pairs is kept: 18 bytes for each, about 80 while they are gathered."""

    def __init__(self, bitext: Sequence[Path]):
        """Read the pair folders; of a sentence's candidates the greatest hash wins, whatever the folders' order."""
        self._places = sorted({"", *(folder.name for folder in bitext)})
        best, parts, waiting = _best([]), [], 0
        for folder in bitext:
            for block in blocks(stream_split(folder, "train")):
                parts.append(self._drawn(block, folder.name))
                waiting += len(parts[-1][0])
                # Merging seldom keeps the time in proportion to the sentences.
                if waiting >= len(best[0]) // 2:
                    best, parts, waiting = _best([best, *parts]), [], 0
        self._keys, _, self._kept = _best([best, *parts])

    def here(self, pairs: Sequence[SentencePair], folder: str, side: int) -> np.ndarray:
        """Which pairs (N,) bool have the kept sentence on this side, in the folder of this name."""
        keys = _hashes("", folder, pairs)
        return self._kept[np.searchsorted(self._keys, keys)] == self._places.index(folder if side else "")

    def _drawn(self, pairs: Sequence[SentencePair], folder: str) -> Rows:
        """The side of each pair that has the greater hash."""
        keys = _hashes("", folder, pairs)
        candidates = []
        for place in ("", folder):
            number = np.full(len(keys), self._places.index(place), np.int16)
            candidates.append((keys, _hashes(f"{place}/", folder, pairs), number))
        return _best(candidates)


def _hashes(start: str, folder: str, pairs: Sequence[SentencePair]) -> np.ndarray:
    """The hash of each source sentence, with its language and `start` before it."""
    start += f"{parse_pair(folder)[0]}/"
    return hashes(start + pair.source for pair in pairs)


def _best(parts: Sequence[Rows]) -> Rows:
    """The row with the greatest hash of all rows with the same digest, sorted by digest."""
    if not parts:
        return np.empty(0, np.uint64), np.empty(0, np.uint64), np.empty(0, np.int16)
    keys, hashes, places = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((places, hashes, keys))
    ordered = keys[order]
    order = order[np.append(ordered[1:] != ordered[:-1], True)[: len(order)]]
    return keys[order], hashes[order], places[order]
