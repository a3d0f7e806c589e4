"""Tokens hidden to be predicted: masked language modelling."""

from __future__ import annotations

import numpy as np

# The label where nothing is predicted.
IGNORED = -100
# The shares of the tokens drawn that become the mask and a random piece; the others stay (BERT's rule).
MASKED, RANDOM = 0.8, 0.1


def hidden_tokens(
    ids: np.ndarray,
    share: float,
    mask: int,
    vocabulary: int,
    generator: np.random.Generator,
    *,
    special: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Hide tokens to be predicted: of those drawn 80 % become the mask, 10 % a random piece, 10 % stay.

    Args:
        ids: Of any shape; at least one token of them is drawn, if any may be.
        share: Probability of being drawn, in [0, 1).
        mask: The id of the mask.
        vocabulary: V.
        generator: It makes the draws.
        special: How many first ids are neither drawn nor used as a random piece.
    Returns:
        The ids as shown, and the labels: the id at positions drawn, -100 elsewhere.
    Source: docs/papers.md#emma-x-mlm.
    """
    chance = np.where(ids >= special, generator.random(ids.shape), 1.0)
    drawn = (chance < share) | ((chance == chance.min()) & (chance < 1))
    fate = generator.random(ids.shape)
    random = generator.integers(special, vocabulary, ids.shape)
    shown = np.where(drawn & (fate < MASKED), mask, np.where(drawn & (fate >= 1 - RANDOM), random, ids))
    return shown, np.where(drawn, ids, IGNORED)
