"""Batches of sentence pairs as row numbers, and the named rules that draw partners within a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields

import torch
from torch import Generator, Tensor

from orthoglot.decomposers.base import Decomposition
from orthoglot.objectives.base import Pairs, Side


@dataclass(frozen=True)
class PairRows:
    """Translations as rows of one matrix of vectors: row `source[i]` and row `target[i]` mean the same.

    Attributes:
        source, target: (P,) row numbers.
        source_language, target_language: (P,) language ids.
    """

    source: Tensor
    target: Tensor
    source_language: Tensor
    target_language: Tensor

    def __len__(self) -> int:
        return len(self.source)

    def take(self, rows: Tensor | slice) -> PairRows:
        """The pairs at `rows`."""
        return PairRows(*(getattr(self, field.name)[rows] for field in fields(self)))

    def to(self, device: torch.device) -> PairRows:
        """The same on another device."""
        return PairRows(*(getattr(self, field.name).to(device) for field in fields(self)))


@dataclass(frozen=True)
class Partners:
    """Row indices within a batch, -1 for none.

    Attributes:
        other, peer: (2, B) for the source and the target side; see `orthoglot.objectives.base.Side`.
        active: (B,) booleans, the rows that host terms average over.
    """

    other: Tensor
    peer: Tensor
    active: Tensor


@dataclass(frozen=True)
class Batch:
    """Some pairs and their partners."""

    rows: PairRows
    partners: Partners


def any_other(n: int, generator: Generator) -> Tensor:
    """For each of n rows a uniformly drawn other row (n,); -1 if there is none."""
    if n < 2:
        return torch.full((n,), -1)
    drawn = torch.randint(n - 1, (n,), generator=generator)
    return drawn + (drawn >= torch.arange(n))


def same_language(language: Tensor, generator: Generator) -> Tensor:
    """For each row a uniformly drawn other row of the same language id (B,) -> (B,); -1 if there is none."""
    order = torch.argsort(language, stable=True)
    _, group, sizes = torch.unique_consecutive(language[order], return_inverse=True, return_counts=True)
    size = sizes[group]
    start = (sizes.cumsum(0) - sizes)[group]
    # A shift by 1 .. size - 1 within the group never lands on the row itself and is uniform over the rest.
    draw = torch.rand(len(language), generator=generator, dtype=torch.float64)
    shift = 1 + (draw * (size - 1)).long()
    place = start + (torch.arange(len(language)) - start + shift) % size
    partners = torch.empty_like(order)
    partners[order] = torch.where(size > 1, order[place], -1)
    return partners


def half_batch(n: int) -> Tensor:
    """Row i + n // 2 for the first n // 2 rows, -1 for the others (n,): the ORACLE release's rule."""
    half = n // 2
    partners = torch.full((n,), -1)
    partners[:half] = torch.arange(half) + half
    return partners


def _none(rows: PairRows, _: Generator) -> Partners:
    nobody = torch.full((2, len(rows)), -1)
    return Partners(nobody, nobody, torch.ones(len(rows), dtype=torch.bool))


def _dream(rows: PairRows, generator: Generator) -> Partners:
    """Any other row for meaning, another of the language for language (methods 3.2, original DREAM)."""
    n = len(rows)
    other = torch.stack([any_other(n, generator), any_other(n, generator)])
    return Partners(other, _peers(rows, generator), torch.ones(n, dtype=torch.bool))


def _half_batch(rows: PairRows, _: Generator) -> Partners:
    """The second half of the batch serves the first; only that one is active (methods 3.2, release)."""
    partners = half_batch(len(rows)).expand(2, -1)
    return Partners(partners, partners, partners[0] >= 0)


def _same_language(rows: PairRows, generator: Generator) -> Partners:
    """One partner of the same language for everything (methods 4.2, SEED)."""
    peers = _peers(rows, generator)
    return Partners(peers, peers, torch.ones(len(rows), dtype=torch.bool))


def _peers(rows: PairRows, generator: Generator) -> Tensor:
    return torch.stack(
        [same_language(ids, generator) for ids in (rows.source_language, rows.target_language)]
    )


RULES: dict[str, Callable[[PairRows, Generator], Partners]] = {
    "none": _none,
    "dream": _dream,
    "half_batch": _half_batch,
    "same_language": _same_language,
}


def batches(
    rows: PairRows,
    rule: str,
    *,
    batch_size: int,
    drop_last: bool,
    order: Generator,
    partners: Generator,
    device: torch.device,
) -> Iterator[Batch]:
    """Shuffle the pairs and cut them into batches with partners.

    Args:
        rows: on the CPU.
        rule: name in `RULES`.
        batch_size: B; data with fewer pairs makes one batch.
        drop_last: leave out a last batch of fewer than B pairs.
        order, partners: two streams, so that a rule's draws never change the order.
        device: where the batches go.
    """
    size = min(batch_size, len(rows))
    shuffled = rows.take(torch.randperm(len(rows), generator=order))
    end = len(rows) - size + 1 if drop_last else len(rows)
    for start in range(0, end, max(size, 1)):
        batch = shuffled.take(slice(start, start + size))
        drawn = RULES[rule](batch, partners)
        moved = Partners(drawn.other.to(device), drawn.peer.to(device), drawn.active.to(device))
        yield Batch(batch.to(device), moved)


def pairs_of(
    decompose: Callable[[Tensor], Decomposition], vectors: Tensor, batch: Batch, n_languages: int
) -> Pairs:
    """Decompose both sides of a batch in one pass and lay them out for the objective.

    Args:
        decompose: (2B, D) -> parts.
        vectors: (N, D), the matrix that the batch's row numbers point into.
        batch: which rows, with partners.
        n_languages: K.
    """
    rows, partners = batch.rows, batch.partners
    both = decompose(vectors.index_select(0, torch.cat([rows.source, rows.target])))
    # chunk, not slices: its gradient is one concatenation, a slice's is a padded copy each.
    halves = zip(both.sentence.chunk(2), both.meaning.chunk(2), both.language.chunk(2), strict=True)
    source, target = (Decomposition(*parts) for parts in halves)
    return Pairs(
        Side(source, rows.source_language, partners.other[0], partners.peer[0]),
        Side(target, rows.target_language, partners.other[1], partners.peer[1]),
        partners.active,
        n_languages,
    )
