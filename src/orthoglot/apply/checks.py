"""Checks of pairs that no vector is needed for: do the numbers of both sides agree, and their lengths?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from orthoglot.corpora.filters import LengthRatio, Numbers

NUMBERS, LENGTHS = "numbers", "lengths"
# A side is too long if it is so many times as long as the other, after both are divided by their means.
TIMES = 3.0


def disagreements(pairs: Sequence[tuple[str, str]]) -> dict[str, np.ndarray]:
    """Which pairs disagree in what, (N,) bool each.

    `numbers`: the sides do not have the same numbers, each as often; see `orthoglot.corpora.filters.Numbers`.
    `lengths`: one side is more than three times as long as the other, after the characters of both are divided by
    their means over the pairs; see `LengthRatio`. A pair with a blank side disagrees in nothing.
    """
    rows = np.array([row for row, pair in enumerate(pairs) if all(map(str.strip, pair))], dtype=np.int64)
    flags = {name: np.zeros(len(pairs), dtype=bool) for name in (NUMBERS, LENGTHS)}
    if not len(rows):
        return flags
    sides = [pairs[row][0] for row in rows], [pairs[row][1] for row in rows]
    means = [float(np.mean([len(text) for text in side])) for side in sides]
    for name, rule in ((NUMBERS, Numbers(1.0)), (LENGTHS, LengthRatio(TIMES, means))):
        flags[name][rows] = ~rule.accepts(rule.scores(sides))
    return flags
