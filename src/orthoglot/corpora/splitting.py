"""Which split a pair belongs to: decided by its pivot sentence alone, whatever the pair, file or order."""

from __future__ import annotations

import hashlib
from typing import Literal

from orthoglot.corpora.cleaning import normalised
from orthoglot.corpora.preparation_settings import SplitSettings

Split = Literal["train", "valid", "test"]
SPLITS: tuple[Split, ...] = ("train", "valid", "test")


def split_of(pivot_sentence: str, settings: SplitSettings) -> Split:
    """The split of every pair with this pivot sentence; case, punctuation and white space do not count.

    u = hash(seed, letters and digits of the sentence) in [0, 1): test below `test`, valid in the next
    `valid`, train above.
    """
    share = _hash(normalised(pivot_sentence), settings.seed, b"split") / 2**64
    if share < settings.test:
        return "test"
    return "valid" if share < settings.test + settings.valid else "train"


def order_key(pivot_sentence: str, settings: SplitSettings) -> int:
    """A place in a random but fixed order, independent of the split: caps take the lowest.

    A pair added to or taken from a corpus moves no other pair.
    """
    return _hash(normalised(pivot_sentence), settings.seed, b"order")


def _hash(key: str, seed: int, purpose: bytes) -> int:
    digest = hashlib.blake2b(f"{seed}/{key}".encode(), digest_size=8, person=purpose).digest()
    return int.from_bytes(digest, "big")
