"""Sentence pairs drawn from a corpus of any size, so that no sentence is there twice on a side.

Every distinct pair has a place in an order of chance, the 64 bits of a hash of its text and of a seed. A pair is taken
unless one before it has its source or its target, until there are enough. So each set of pairs without repeated
sentences is drawn alike however often, and wherever, a pair stands in the corpus; the same text and seed give the same
pairs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from orthoglot.random_streams import derive
from orthoglot.text.bitext import SentencePair, blocks
from orthoglot.text.hashes import hashes
from orthoglot.text.keys import normalised

# The pairs that are kept on the way over those that are wanted: some repeat a sentence.
SPARE = 1.5
LAST = np.uint64(2**64 - 1)


def sample(
    read: Callable[[], Iterator[SentencePair]], most: int, seed: int
) -> tuple[list[SentencePair], Counter[str]]:
    """At most so many pairs, in an order of chance.

    The text is read once; again where more than a third of the first pairs repeat a sentence. Memory holds three times
    as many pairs as are wanted.

    Args:
        read: Gives the pairs from their beginning.
        most: How many pairs, at least 1.
        seed: Seed of the order.
    Returns:
        The pairs, and counts: `read`; of the first pairs in that order those that are left out, as a side is
        `repeated`, without a letter or digit (`empty`), or the same as the other (`copy`).
    """
    room = int(most * SPARE) + 1
    while True:
        first, count, more = lowest(read(), room, seed)
        chosen, counts = _distinct(first, most)
        if len(chosen) == most or not more:
            counts["read"] = count
            return chosen, counts
        room *= 2


def lowest(pairs: Iterable[SentencePair], room: int, seed: int) -> tuple[list[SentencePair], int, bool]:
    """The first `room` distinct pairs in the order of chance; how many were read; whether there are more."""
    person = derive(seed, "distinct sample").to_bytes(8, "big")
    places, held = np.empty(0, dtype=np.uint64), list[SentencePair]()
    count, edge, more = 0, LAST, False
    for block in blocks(iter(pairs)):
        count += len(block)
        digests = hashes(("\t".join(pair) for pair in block), person)
        rows = np.flatnonzero(digests <= edge)
        more |= len(rows) < len(block)
        places = np.concatenate([places, digests[rows]])
        held += [block[row] for row in rows.tolist()]
        if len(held) > 2 * room:
            places, held, cut = _first(places, held, room)
            more |= cut
            edge = places[-1] if cut else edge
    _, held, cut = _first(places, held, room)
    return held, count, more or cut


def _first(
    places: np.ndarray, pairs: Sequence[SentencePair], room: int
) -> tuple[np.ndarray, list[SentencePair], bool]:
    """The first `room` distinct pairs in the order of their places (N,) uint64, and whether others are left out."""
    distinct, rows = np.unique(places, return_index=True)
    return distinct[:room], [pairs[row] for row in rows[:room].tolist()], len(distinct) > room


def _distinct(pairs: Iterable[SentencePair], most: int) -> tuple[list[SentencePair], Counter[str]]:
    """Pairs of which no side came before, equal ones being those with one key; and what was left out on the way."""
    chosen: list[SentencePair] = []
    seen: tuple[set[str], set[str]] = set(), set()
    counts: Counter[str] = Counter(repeated=0, empty=0, copy=0)
    for pair in pairs:
        if len(chosen) == most:
            break
        keys = [normalised(side) for side in pair]
        if not all(keys):
            counts["empty"] += 1
        elif keys[0] == keys[1]:
            counts["copy"] += 1
        elif any(key in keys_before for key, keys_before in zip(keys, seen, strict=True)):
            counts["repeated"] += 1
        else:
            chosen.append(pair)
            for key, keys_before in zip(keys, seen, strict=True):
                keys_before.add(key)
    return chosen, counts
