"""Which split a pair belongs to: decided by its pivot sentence alone, whatever the pair, file or order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from orthoglot.corpora.cleaning import normalised
from orthoglot.corpora.preparation_settings import SplitSettings
from orthoglot.corpora.spool import hashes

Split = Literal["train", "valid", "test"]
SPLITS: tuple[Split, ...] = ("train", "valid", "test")


def split_numbers(keys: Sequence[str], settings: SplitSettings) -> np.ndarray:
    """`split_of` of pivot sentences with these keys (`normalised`), as places in `SPLITS` (N,) uint8."""
    shares = hashes((f"{settings.seed}/{key}" for key in keys), b"split") / 2**64
    held_out = np.where(shares < settings.test, SPLITS.index("test"), SPLITS.index("valid"))
    return np.where(shares < settings.test + settings.valid, held_out, 0).astype(np.uint8)


def order_keys(keys: Sequence[str], settings: SplitSettings) -> np.ndarray:
    """A place in a random but fixed order of each pivot sentence with these keys, independent of the split (N,) uint64.

    Caps take the lowest. A pair added to or taken from a corpus moves no other pair.
    """
    return hashes((f"{settings.seed}/{key}" for key in keys), b"order")


def split_of(pivot_sentence: str, settings: SplitSettings) -> Split:
    """The split of every pair with this pivot sentence; case, punctuation and white space do not count.

    u = hash(seed, letters and digits of the sentence) in [0, 1): test below `test`, valid in the next
    `valid`, train above.
    """
    return SPLITS[int(split_numbers([normalised(pivot_sentence)], settings)[0])]
