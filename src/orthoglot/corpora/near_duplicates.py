"""Texts that are nearly the same as an earlier one: MinHash proposes them, and the exact similarity decides."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import compress, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import numpy as np
from rensa import RMinHash

from orthoglot.corpora.spool import ROW, Parts
from orthoglot.text.characters import code_points, lengths

T = TypeVar("T")
PERMUTATIONS = 128
# Probability at least that two texts are compared whose similarity is the threshold.
RECALL = 0.99
SEED = 1
AT_ONCE = 2_000  # texts whose shingles are in memory
# Texts of a band that the next one is compared with, the last that stay. Sentences of one template share bands though
# they are less similar than the threshold: compared with all, they take a time that grows with the square of the text.
COMPARED = 64
# An odd number, for a hash of whole numbers by multiplication.
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@lru_cache(maxsize=1 << 12)
def shingles(text: str) -> frozenset[str]:
    """All sequences of three characters of a text, with a tab before and behind it; of "ab" these are TAB a b, a b TAB.

    No words are needed, so languages without blanks between words are treated like others.
    """
    text = f"\t{text}\t"
    return frozenset([text[start : start + 3] for start in range(len(text) - 2)])


def similarity(first: str, second: str) -> float:
    """Jaccard similarity |A & B| / |A | B| of the shingles A and B of two texts, in [0, 1]; 1 of equal texts."""
    ours, theirs = shingles(first), shingles(second)
    common = len(ours & theirs)
    return common / (len(ours) + len(theirs) - common)


def bands_of(threshold: float) -> tuple[int, int]:
    """Bands of MinHash, and permutations in each: the most of these with which `RECALL` is reached.

    Two texts of similarity s share a band with probability 1 - (1 - s^r)^b, for b bands of r permutations.
    Source: Leskovec, Rajaraman and Ullman, Mining of Massive Datasets, 3.4.
    """
    return max(
        (
            (PERMUTATIONS // size, size)
            for size in range(1, PERMUTATIONS + 1)
            if 1 - (1 - threshold**size) ** (PERMUTATIONS // size) >= RECALL
        ),
        key=lambda bands: bands[1],
    )


class NearDuplicates:
    """Which texts of a stream are near-duplicates, decided after all have been read.

    Text by text in their order, one goes if its similarity with an earlier one that stays is the threshold or more.
    Texts that share no band of MinHash are not compared, see `bands_of`, and of a band the last 64 that stay are;
    nothing else goes. The result depends on nothing but the texts and their order.

    The disk takes 16 bytes for each text and band. Memory holds a 256th of that, and the texts that share a band with
    another one: about 300 bytes for each text of the stream (measurements/speed-of-preparing/README.md).

    Args:
        folder: A new folder.
        threshold: From 0.7 to 1; below that MinHash proposes much of a corpus.
    """

    def __init__(self, folder: Path, threshold: float) -> None:
        self._parts = Parts(folder)
        self._threshold = threshold
        self._count = 0

    def add(self, texts: Sequence[str]) -> None:
        """The next texts of the stream, none empty; of a pair, the keys of its sides with a tab between them."""
        for start in range(0, len(texts), AT_ONCE):
            keys = _bands(texts[start : start + AT_ONCE], *bands_of(self._threshold))
            rows = np.empty(keys.shape, dtype=ROW)
            rows["key"] = keys
            rows["row"] = np.arange(self._count, self._count + len(keys))[:, None]
            self._count += len(keys)
            self._parts.add(keys.ravel(), rows.ravel())

    def clear_similar(self, kept: np.ndarray, lines: Iterable[T], text: Callable[[T], str]) -> None:
        """Set `kept` (N,) to False for each near-duplicate; ends the stream.

        Args:
            kept: Texts for which it is False already do not count.
            lines: N things that the texts are made of, in the order of the stream.
            text: Makes the text that was added.
        """
        bands = self._shared(kept)
        candidates = np.zeros(len(kept), dtype=bool)
        candidates[bands["row"]] = True
        numbers, starts = np.unique(bands["row"], return_index=True)
        places = pairwise([*starts.tolist(), len(bands)])
        stay: defaultdict[int, list[str]] = defaultdict(list)  # by band: the last texts that stay
        chosen = compress(lines, candidates)
        for number, place, line in zip(numbers.tolist(), places, chosen, strict=True):
            keys = bands["key"][slice(*place)].tolist()
            ours = text(line)
            earlier = dict.fromkeys(other for key in keys for other in stay[key])
            if any(similarity(ours, other) >= self._threshold for other in earlier):
                kept[number] = False
            else:
                for key in keys:
                    stay[key] = [*stay[key][1 - COMPARED :], ours]

    def _shared(self, kept: np.ndarray) -> np.ndarray:
        """The bands of two texts or more, by text."""
        parts = []
        for content in self._parts:
            rows = np.frombuffer(content, dtype=ROW)
            rows = rows[kept[rows["row"]]]
            _, places, counts = np.unique(rows["key"], return_inverse=True, return_counts=True)
            parts.append(rows[counts[places] > 1])
        bands = np.concatenate(parts)
        return bands[np.argsort(bands["row"], kind="stable")]


def find_near_duplicates(texts: Sequence[str], threshold: float) -> np.ndarray:
    """Which texts are near-duplicates of an earlier one that is none (N,) bool; see `NearDuplicates`."""
    kept = np.ones(len(texts), dtype=bool)
    with TemporaryDirectory(prefix="orthoglot-") as folder:
        finder = NearDuplicates(Path(folder) / "bands", threshold)
        finder.add(texts)
        finder.clear_similar(kept, texts, str)
    return ~kept


def _bands(texts: Sequence[str], bands: int, size: int) -> np.ndarray:
    """64 bits for each band of each text (n, bands)."""
    padded = [f"\t{text}\t" for text in texts]
    points = code_points("".join(padded)).astype(np.uint64)
    ends = np.cumsum(lengths(padded))
    # 21 bits for each of three characters; the last two characters of a text begin no sequence.
    codes = points << np.uint64(42) | np.roll(points, -1) << np.uint64(21) | np.roll(points, -2)
    codes = np.delete(codes, np.concatenate([ends - 1, ends - 2]))
    bounds = np.append(0, ends - 2 * np.arange(1, len(ends) + 1)).astype(np.uint64)
    signatures = RMinHash.digest_matrix_from_flat_token_hashes(codes, bounds, PERMUTATIONS, SEED)
    numbers = np.array(signatures.to_rows(), dtype=np.uint64)[:, : bands * size].reshape(-1, bands, size)
    keys = np.broadcast_to(np.arange(bands, dtype=np.uint64), numbers.shape[:2])
    for place in range(size):
        keys = (keys ^ numbers[:, :, place]) * _FACTOR
        keys ^= keys >> np.uint64(29)
    return keys
