"""Batches of sentence pairs as row indices into one matrix of vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from pkgutil import resolve_name

import torch
from torch import Tensor

from orthoglot.random_streams import Draws
from orthoglot.training import PARTNER_RULES
from orthoglot.training.partners import Partners


@dataclass(frozen=True)
class PairRows:
    """Translations as rows of one matrix of vectors: row `source[i]` and row `target[i]` mean the same."""

    source: Tensor  # (P,), or (n, B) for n batches; and so the others
    target: Tensor
    source_language: Tensor
    target_language: Tensor

    def __len__(self) -> int:
        return self.source.shape[-1]

    def map(self, change: Callable[[Tensor], Tensor]) -> PairRows:
        """The same with every tensor changed."""
        return PairRows(*(change(getattr(self, field.name)) for field in fields(self)))

    def take(self, rows: Tensor | slice) -> PairRows:
        """The pairs at `rows`."""
        return self.map(lambda tensor: tensor[rows])

    def by_languages(self) -> Iterator[tuple[tuple[int, int], PairRows]]:
        """The pairs of each ordered pair of languages, in their order."""
        ids = torch.stack([self.source_language, self.target_language], dim=1)
        for pair in ids.unique(dim=0):
            first, second = pair.tolist()
            yield (first, second), self.take((ids == pair).all(dim=1))


@dataclass(frozen=True)
class Batch:
    """B pairs as `Pairs` arranges them: the source rows first, then the target rows."""

    rows: Tensor  # (2B,) rows of the matrix of vectors; of G trainings (G * 2B,), and so the others
    language_id: Tensor  # (2B,)
    other: Tensor  # (2B,) partners, numbered among these rows; -1 for none
    peer: Tensor  # (2B,) likewise
    active: Tensor  # (B,); of G trainings (G, B)


def make_batches(
    pairs: PairRows, partner_rule: str, *, batch_size: int, drop_last: bool, order: Draws, partners: Draws
) -> list[Batch]:
    """Shuffle the pairs and divide them into batches with partners, on the pairs' device.

    The draws are the same on every device.

    Args:
        partner_rule: A name in `PARTNER_RULES`.
        batch_size: B; fewer pairs make one batch.
        drop_last: Leave out a last batch of fewer than B pairs.
        order, partners: Two streams, so that a rule's draws never change the order.
    """
    size = min(batch_size, len(pairs))
    shuffled = order.permutation(len(pairs), pairs.source.device)
    whole = len(pairs) // max(size, 1) * size
    parts = [shuffled[:whole].view(-1, max(size, 1))]
    if whole < len(pairs) and not drop_last:
        parts.append(shuffled[whole:].view(1, -1))
    return [batch for part in parts for batch in _with_partners(pairs.take(part), partner_rule, partners)]


def _with_partners(pairs: PairRows, partner_rule: str, draws: Draws) -> list[Batch]:
    """Batches of pairs (n, B), whose partners are drawn all at once."""
    rule = resolve_name(f"orthoglot.training.{PARTNER_RULES[partner_rule]}")
    drawn: Partners = rule(pairs.source_language, pairs.target_language, draws)

    def both(sides: tuple[Tensor, Tensor]) -> Tensor:
        source, target = sides
        return torch.cat([source, torch.where(target >= 0, target + len(pairs), -1)], dim=1)

    rows = torch.cat([pairs.source, pairs.target], dim=1)
    languages = torch.cat([pairs.source_language, pairs.target_language], dim=1)
    tensors = zip(rows, languages, both(drawn.other), both(drawn.peer), drawn.active, strict=True)
    return [Batch(*batch) for batch in tensors]


def joined(batches: Sequence[Batch]) -> Batch:
    """Batches of G trainings, of one size, as one: their rows follow each other, and partners are numbered through."""
    size = len(batches[0].rows)
    first = size * torch.arange(len(batches), device=batches[0].rows.device)[:, None]

    def numbered(partners: list[Tensor]) -> Tensor:
        table = torch.stack(partners)
        return torch.where(table >= 0, table + first, -1).flatten()

    return Batch(
        torch.cat([batch.rows for batch in batches]),
        torch.cat([batch.language_id for batch in batches]),
        numbered([batch.other for batch in batches]),
        numbered([batch.peer for batch in batches]),
        torch.stack([batch.active for batch in batches]),
    )
