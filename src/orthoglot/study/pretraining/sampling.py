"""Which rows each step of a training reads: languages by temperature, rows in turn, batches of similar length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from orthoglot.random_streams import derive

# Batches sorted by length at once: more waste less padding, fewer mix lengths better.
BATCHES_PER_POOL = 64


@dataclass(frozen=True)
class RowSampler:
    """Rows of every epoch: a function of the epoch number alone, so that a resumed run needs no state.

    A group (a language pair, or a language) with n rows is drawn with probability n^(1/T) / sum n^(1/T);
    within a group no row comes twice before every row has come once.
    """

    sizes: Sequence[int]  # rows of each group; groups lie one after the other
    batch_size: int  # B
    steps: int  # batches in all
    steps_per_epoch: int  # batches between two validations; the last epoch has what is left
    temperature: float  # T; 1 keeps the sizes' shares, more favours small groups
    seed: int  # of the orders

    def steps_of(self, epoch: int) -> int:
        """Batches of this epoch."""
        return min(self.steps_per_epoch, self.steps - epoch * self.steps_per_epoch)

    def rows(self, epoch: int) -> np.ndarray:
        """Row numbers of this epoch's batches, grouped; up to one per group fewer than B times its steps."""
        first = epoch * self.steps_per_epoch * self.batch_size
        last = first + self.steps_of(epoch) * self.batch_size
        weights = np.asarray(self.sizes, dtype=np.float64) ** (1 / self.temperature)
        shares = weights / weights.sum()
        starts = np.cumsum([0, *self.sizes[:-1]])
        drawn = [
            start + self._turns(group, int(share * first), int(share * last))
            for group, (start, share) in enumerate(zip(starts, shares, strict=True))
        ]
        return np.concatenate(drawn)

    def _turns(self, group: int, first: int, last: int) -> np.ndarray:
        """Draws `first` to `last` of a group: one order after the other."""
        size = self.sizes[group]
        if first == last:
            return np.empty(0, np.int64)
        orders = range(first // size, (last - 1) // size + 1)
        drawn = [
            np.random.default_rng(derive(self.seed, "order", group, turn)).permutation(size)
            for turn in orders
        ]
        start = orders[0] * size
        return np.concatenate(drawn)[first - start : last - start]

    def numbered(self, epoch: int, first: int) -> Iterator[tuple[int, np.ndarray]]:
        """This epoch's steps from the step `first` on, each with its number in the whole training and its rows.

        Rows are drawn whatever their lengths; the sizes of steps differ by at most one. Groups are mixed at random and
        each group's rows stay in their order, so that a row comes twice in one step only where its group has begun anew
        in between.
        """
        rows = self.rows(epoch)
        groups = np.searchsorted(np.cumsum(self.sizes), rows, side="right")
        generator = np.random.default_rng(derive(self.seed, "batches", epoch))
        mixed = np.empty_like(rows)
        # `rows` has the groups one after the other, so a stable sort of the mixed groups gives their positions.
        mixed[np.argsort(generator.permutation(groups), kind="stable")] = rows
        steps = np.array_split(mixed, self.steps_of(epoch))
        return enumerate(steps[first:], start=epoch * self.steps_per_epoch + first)

    def batches(self, epoch: int, lengths: np.ndarray) -> list[np.ndarray]:
        """This epoch's rows in batches of similar length, in random order."""
        generator = np.random.default_rng(derive(self.seed, "batches", epoch))
        return length_batches(self.rows(epoch), lengths, self.steps_of(epoch), generator)


def length_batches(
    rows: np.ndarray, lengths: np.ndarray, count: int, generator: np.random.Generator
) -> list[np.ndarray]:
    """Split shuffled rows (n,) into `count` batches of rows with similar lengths; their sizes differ by at most one.

    Lengths are those of every row of the corpus.
    """
    pools = np.array_split(generator.permutation(rows), max(1, count // BATCHES_PER_POOL))
    order = [pool[np.argsort(lengths[pool], kind="stable")] for pool in pools]
    batches = np.array_split(np.concatenate(order), count)
    return [batches[number] for number in generator.permutation(count) if batches[number].size]
