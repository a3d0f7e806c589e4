"""How many mined pairs are right, and a threshold for them, as the texts themselves show without known translations.

A sentence has one translation at most. So the best neighbour of a paired sentence other than its partner is a wrong
one, and shows what a sentence proposes that has no translation in the other text.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import NamedTuple, Self

import numpy as np

from orthoglot.search.margins import MARGINS, Margin, Mined
from orthoglot.search.neighbours import Nearest

# The share that counts of what both texts propose: a pair may be proposed by both. How much more than by chance the
# number of wrong pairs varies. Both were chosen on thirty sets, measurements/mining/README.md#what-calibrate-promises.
COUNTED, MORE = 0.75, 1.0
# Logarithm of the true share of translations over the estimated one: mean and standard deviation, of the same sets.
SHARE_OFF, SHARE_SPREAD = -0.15, 0.2
# Share of wrong pairs, on average, above which the pairs say nothing: many wrong ones look like few among themselves.
MOST_WRONG = 0.2
# Pairs that a promise needs; pairs that are looked at, and thresholds that are tried, evenly by rank; draws, and their
# quantiles.
FEWEST, PAIRS, TRIED, DRAWS, QUANTILES = 10, 100_000, 400, 20_000, (0.025, 0.975)
# Of a suggested threshold: the share of wrong pairs above it, and thresholds that are tried.
SUGGESTED_WRONG, SUGGESTED_TRIED = 0.05, 200


class Expected(NamedTuple):
    """What to expect of the pairs at or above a threshold."""

    pairs: int  # how many there are
    # share of right ones, in [0, 1]: mean, and 95 % of the draws; 0 to 1 where more than 20 % are wrong on average, as
    # the neighbours of wrong pairs are no measure of others
    precision: list[float]
    # share of the translations that they hold, likewise; None if no share was given
    recall: list[float] | None


class Decoys:
    """The pairs of two texts, and of each sentence in them the margin with its best neighbour that is no partner.

    Args:
        near: The k neighbours of each sentence, k above 1.
        cosine: The cosines with them.
        pairs: What was mined among them, by falling margin, one pair a sentence.
        margin: Which margin.
    """

    def __init__(self, near: Nearest, cosine: Nearest, pairs: Mined, margin: Margin) -> None:
        self.margins = pairs.margins
        self.sizes = len(near.forward), len(near.backward)
        total = len(pairs.margins)
        self._ranks = np.unique(np.linspace(0, total - 1, min(total, PAIRS)).round().astype(np.int64))
        sources, targets = (column[self._ranks] for column in pairs[:2])
        ours = _margins_of_others(near.forward, cosine.forward, cosine.backward, sources, targets, margin)
        theirs = _margins_of_others(near.backward, cosine.backward, cosine.forward, targets, sources, margin)
        self._sides = [*zip(self.sizes, (ours, theirs), strict=True)]

    @classmethod
    def of(cls, near: Nearest, cosine: Nearest, pairs: Mined, margin: Margin) -> Self | None:
        """The decoys of such pairs; None if there are fewer than 10 pairs, or no other neighbours than partners."""
        several = min(near.forward.shape[1], near.backward.shape[1]) > 1
        return cls(near, cosine, pairs, margin) if several and len(pairs.margins) >= FEWEST else None

    def suggested(self) -> float | None:
        """The lowest threshold above which about 5 % of the pairs are wrong; None if there is none.

        Let u_i be the margin of the source of pair i with its best neighbour other than its partner; the partner is
        left out of the mean of its neighbours. Let v_i be the same margin of the target, n and m the numbers of
        sentences, and C(t) the number of pairs with a margin of t or more. The sentences outside these pairs propose
        wrong pairs as often as the sentences in them would without their translation: expected are

            W(t) = (n - C(t)) mean_i [u_i >= t] + (m - C(t)) mean_i [v_i >= t]

        wrong pairs, i over the C(t) pairs. The threshold is the lowest t with W(t) <= 0.05 C(t) and C(t) >= 10.

        It is no promise. On FLORES-200 in four languages, 94 to 100 % of the pairs were right where 30 % of the
        sentences or more had a translation, and 76 to 93 % where 10 % had one (measurements/mining/README.md).
        """
        lowest = None
        for last in np.unique(np.linspace(0, len(self._ranks) - 1, SUGGESTED_TRIED).round().astype(np.int64)):
            count = self._ranks[last] + 1
            value = self.margins[count - 1]
            wrong = sum(
                max(0, size - count) * (others[: last + 1] >= value).mean() for size, others in self._sides
            )
            if count >= FEWEST and wrong <= SUGGESTED_WRONG * count:
                lowest = float(value)
        return lowest

    def threshold(self, precision: float) -> float | None:
        """The lowest threshold with 10 pairs or more of which so many are right on average; None if there is none.

        Also None where only thresholds have it of whose pairs more than 20 % are wrong.
        """
        most = min(1 - precision, MOST_WRONG)
        return min((value for value, wrong in self._tried() if wrong <= most), default=None)

    def most_precise(self) -> float:
        """The threshold with 10 pairs or more of which most are right on average."""
        return min(self._tried(), key=itemgetter(1))[0]

    def expected(self, threshold: float, share: float | None = None) -> Expected:
        """What to expect of the pairs at or above a threshold.

        There are C pairs, of n and m sentences, and S of them are looked at, at most 100,000. k_x and k_y of these have
        other neighbours whose margins reach the threshold. The number of wrong ones is drawn:

            q ~ Beta(k + 1/2, S - k + 1/2) of each text,   L = 0.75 ((n - C) q_x + (m - C) q_y),
            w ~ Poisson(Gamma(L, 1)), of which mean and variance are L and 2 L,

        which gives the precision 1 - w / C. The translations are as many as a share of the sentences, times a factor
        whose logarithm has the mean -0.15 and the deviation 0.2, and at least C - w.

        Args:
            threshold: The least margin.
            share: The share of the sentences that have a translation, see `translated_share.joint_share`.
        Source: docs/papers.md#expected-precision.
        """
        count = int((self.margins >= threshold).sum())
        if not count:
            return Expected(0, [0.0, 0.0, 1.0], None if share is None else [0.0, 0.0, 1.0])
        rng = np.random.default_rng(1)
        proposed = np.zeros(DRAWS)
        for size, reached, seen in self._reached(count, threshold):
            proposed += max(0, size - count) * rng.beta(reached + 0.5, seen - reached + 0.5, DRAWS)
        proposed *= COUNTED
        wrong = np.minimum(rng.poisson(rng.gamma(np.maximum(proposed, 1e-9) / MORE, MORE)), count)
        right = count - wrong
        known = self._wrong(count, threshold) <= MOST_WRONG * count
        recall = None
        if share is not None:
            gold = share * sum(self.sizes) / 2 * np.exp(rng.normal(SHARE_OFF, SHARE_SPREAD, DRAWS))
            recall = _summary(right / np.maximum(np.maximum(gold, right), 1), known)
        return Expected(count, _summary(right / count, known), recall)

    def _wrong(self, count: int, threshold: float) -> float:
        """The mean of the wrong ones of so many pairs at or above a threshold."""
        return COUNTED * sum(
            max(0, size - count) * (reached + 0.5) / (seen + 1)
            for size, reached, seen in self._reached(count, threshold)
        )

    def _reached(self, count: int, threshold: float) -> list[tuple[int, int, int]]:
        """How many sentences each proposing text has, how many pairs looked at others reach, how many are looked at."""
        seen = int(np.searchsorted(self._ranks, count))
        return [(size, int((others[:seen] >= threshold).sum()), seen) for size, others in self._sides]

    def _tried(self) -> Iterator[tuple[float, float]]:
        """Thresholds, and the mean share of wrong pairs at or above each; with all pairs of the same margin."""
        counts = np.unique(
            np.linspace(FEWEST, len(self.margins), min(TRIED, len(self.margins))).round().astype(int)
        )
        for count in np.unique(np.searchsorted(-self.margins, -self.margins[counts - 1], side="right")):
            threshold = float(self.margins[count - 1])
            yield threshold, self._wrong(count, threshold) / count


def _summary(values: np.ndarray, known: bool) -> list[float]:
    low, high = np.quantile(values, QUANTILES) if known else (0.0, 1.0)
    return [float(values.mean()), float(low), float(high)]


def _margins_of_others(
    near: np.ndarray,
    cosine: np.ndarray,
    of_others: np.ndarray,
    rows: np.ndarray,
    partners: np.ndarray,
    margin: Margin,
) -> np.ndarray:
    """The highest margin of each row with a neighbour other than its partner, which is left out of the row's mean."""
    neighbours, cosines = near[rows], cosine[rows]
    others = neighbours != partners[:, None]
    mean = np.where(others, cosines, 0).sum(axis=1) / np.maximum(others.sum(axis=1), 1)
    means = (mean[:, None] + of_others.mean(axis=1)[neighbours]) / 2
    return np.where(others, MARGINS[margin](cosines, means), -np.inf).max(axis=1)
