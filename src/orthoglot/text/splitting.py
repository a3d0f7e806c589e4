"""Which split a pair belongs to: decided by its pivot sentence alone, whatever the pair, file or order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self

import numpy as np
from pydantic import model_validator

from orthoglot.settings import Settings, Share, Whole
from orthoglot.text.hashes import hashes_of_bytes
from orthoglot.text.keys import normalised

Split = Literal["train", "valid", "test"]
SPLITS: tuple[Split, ...] = ("train", "valid", "test")


class SplitSettings(Settings):
    """Which sentence pairs are kept for validation and test, by a hash of the pivot sentence."""

    seed: int = 1
    """Seed of the hash."""
    valid: Share = 0.01
    """Share of the pivot sentences for validation."""
    test: Share = 0.02
    """Share of the pivot sentences for the task `heldout`."""
    max_train: Whole = 0
    """Training pairs of each language pair at most; 0 for all."""
    max_valid: Whole = 500
    """Validation pairs of each language pair at most; 0 for all."""
    max_test: Whole = 1000
    """Test pairs of each language pair at most; 0 for all."""

    @model_validator(mode="after")
    def _something_is_left_to_train_on(self) -> Self:
        if self.valid + self.test >= 1:
            raise ValueError(f"valid {self.valid} and test {self.test} leave nothing to train on")
        return self


def split_and_order(keys: Sequence[str], settings: SplitSettings) -> tuple[np.ndarray, np.ndarray]:
    """Where pivot sentences with these keys (`normalised`) belong.

    Returns:
        `split_of` each, as places in `SPLITS` (N,) uint8; and a place in a random but fixed order (N,) uint64,
        independent of the split. Caps take the lowest. A pair added to or taken from a corpus moves no other pair.
    """
    seeded = [f"{settings.seed}/{key}".encode() for key in keys]
    shares = hashes_of_bytes(seeded, b"split") / 2**64
    held_out = np.where(shares < settings.test, SPLITS.index("test"), SPLITS.index("valid"))
    splits = np.where(shares < settings.test + settings.valid, held_out, 0).astype(np.uint8)
    return splits, hashes_of_bytes(seeded, b"order")


def split_of(pivot_sentence: str, settings: SplitSettings) -> Split:
    """The split of every pair with this pivot sentence; case, punctuation and white space do not count.

    u = hash(seed, letters and digits of the sentence) in [0, 1): test below `test`, valid in the next
    `valid`, train above.
    """
    return SPLITS[split_and_order([normalised(pivot_sentence)], settings)[0].item()]
