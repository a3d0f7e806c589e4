"""Batches of sentence pairs as row numbers, and the named rules that draw partners within a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from orthoglot.decomposers.base import Decomposition
from orthoglot.objectives.base import Pairs, Side
from orthoglot.streams import Draws


@dataclass(frozen=True)
class PairRows:
    """Translations as rows of one matrix of vectors: row `source[i]` and row `target[i]` mean the same.

    Attributes:
        source, target: (P,) row numbers, or (..., B) where they are cut into batches.
        source_language, target_language: language ids, likewise.
    """

    source: Tensor
    target: Tensor
    source_language: Tensor
    target_language: Tensor

    def __len__(self) -> int:
        return self.source.shape[-1]

    def each(self, change: Callable[[Tensor], Tensor]) -> PairRows:
        """The same with every tensor changed."""
        return PairRows(*(change(getattr(self, field.name)) for field in fields(self)))

    def take(self, rows: Tensor | slice) -> PairRows:
        """The pairs at `rows`."""
        return self.each(lambda tensor: tensor[rows])


@dataclass(frozen=True)
class Partners:
    """Row indices within a batch, -1 for none.

    Attributes:
        other, peer: source and target side, (..., B) each; see `orthoglot.objectives.base.Side`.
        active: (..., B) booleans, the rows that host terms average over.
    """

    other: tuple[Tensor, Tensor]
    peer: tuple[Tensor, Tensor]
    active: Tensor

    def each(self, change: Callable[[Tensor], Tensor]) -> Partners:
        """The same with every tensor changed."""
        other, peer = ((change(source), change(target)) for source, target in (self.other, self.peer))
        return Partners(other, peer, change(self.active))


@dataclass(frozen=True)
class Batches:
    """Batches of one size with their partners, all tensors (n, B); of models trained together (n, S, B)."""

    rows: PairRows
    partners: Partners

    def __len__(self) -> int:
        return self.rows.source.shape[0]

    def __getitem__(self, number: int) -> Batches:
        """One batch, (B,) or (S, B)."""
        return Batches(self.rows.each(lambda t: t[number]), self.partners.each(lambda t: t[number]))


def any_other(n: int, batch: int, draws: Draws, device: torch.device | str = "cpu") -> Tensor:
    """For each row of n batches of `batch` rows a uniformly drawn other row (n, batch); -1 if there is none."""
    if batch < 2:
        return torch.full((n, batch), -1, device=device)
    drawn = (draws.uniform(n * batch, device).view(n, batch) * (batch - 1)).long()
    return drawn + (drawn >= torch.arange(batch, device=device))


def same_language(language: Tensor, draws: Draws) -> Tensor:
    """For each row of n batches a uniformly drawn other row of its batch and language id; -1 if there is none.

    Args:
        language: (n, B) language ids, at least 0.
        draws: one number for each row.
    Returns:
        (n, B) places within the batch.
    """
    n, batch = language.shape
    if not language.numel():
        return torch.empty_like(language)
    starts = torch.arange(n, device=language.device)[:, None]
    groups = (language + starts * (language.max() + 1)).reshape(-1)
    order = torch.argsort(groups, stable=True)
    _, group, sizes = torch.unique_consecutive(groups[order], return_inverse=True, return_counts=True)
    size = sizes[group]
    start = (sizes.cumsum(0) - sizes)[group]
    # A shift by 1 .. size - 1 within the group never lands on the row itself and is uniform over the rest.
    shift = 1 + (draws.uniform(len(order), language.device) * (size - 1)).long()
    place = start + (torch.arange(len(order), device=language.device) - start + shift) % size
    partners = torch.empty_like(order)
    partners[order] = torch.where(size > 1, order[place] % batch, -1)
    return partners.view(n, batch)


def half_batch(n: int, batch: int, device: torch.device | str = "cpu") -> Tensor:
    """Row i + B // 2 for the first B // 2 rows, -1 for the others (n, B): the ORACLE release's rule."""
    rows = torch.arange(batch, device=device)
    return torch.where(rows < batch // 2, rows + batch // 2, -1).expand(n, batch)


def _everybody(rows: PairRows) -> Tensor:
    return torch.ones_like(rows.source, dtype=torch.bool)


def _none(rows: PairRows, _: Draws) -> Partners:
    nobody = torch.full_like(rows.source, -1)
    return Partners((nobody, nobody), (nobody, nobody), _everybody(rows))


def _dream(rows: PairRows, draws: Draws) -> Partners:
    """Any other row for meaning, another of the language for language (methods 3.2, original DREAM)."""
    n, batch = rows.source.shape
    other = (any_other(n, batch, draws, rows.source.device), any_other(n, batch, draws, rows.source.device))
    return Partners(other, _peers(rows, draws), _everybody(rows))


def _half_batch(rows: PairRows, _: Draws) -> Partners:
    """The second half of the batch serves the first; only that one is active (methods 3.2, release)."""
    n, batch = rows.source.shape
    partners = half_batch(n, batch, rows.source.device)
    return Partners((partners, partners), (partners, partners), partners >= 0)


def _same_language(rows: PairRows, draws: Draws) -> Partners:
    """One partner of the same language for everything (methods 4.2, SEED)."""
    peers = _peers(rows, draws)
    return Partners(peers, peers, _everybody(rows))


def _peers(rows: PairRows, draws: Draws) -> tuple[Tensor, Tensor]:
    return same_language(rows.source_language, draws), same_language(rows.target_language, draws)


RULES: dict[str, Callable[[PairRows, Draws], Partners]] = {
    "none": _none,
    "dream": _dream,
    "half_batch": _half_batch,
    "same_language": _same_language,
}


def cut(
    rows: PairRows, rule: str, *, batch_size: int, drop_last: bool, order: Draws, partners: Draws
) -> list[Batches]:
    """Shuffle the pairs and cut them into batches with partners, all at once and where the rows lie.

    Args:
        rows: (P,), on any device: the draws are the same on every one.
        rule: name in `RULES`.
        batch_size: B; data with fewer pairs makes one batch.
        drop_last: leave out a last batch of fewer than B pairs.
        order, partners: two streams, so that a rule's draws never change the order.
    Returns:
        The batches of B pairs, and the one of fewer if there is one and it is kept.
    """
    size = min(batch_size, len(rows))
    shuffled = order.permutation(len(rows), rows.source.device)
    whole = len(rows) // max(size, 1) * size
    parts = [shuffled[:whole].view(-1, max(size, 1))]
    if whole < len(rows) and not drop_last:
        parts.append(shuffled[whole:].view(1, -1))
    chosen = [rows.take(part) for part in parts]
    return [Batches(part, RULES[rule](part, partners)) for part in chosen]


def together(of_models: Sequence[Batches]) -> Batches:
    """The batches of S models as one: (n, B) each to (n, S, B)."""

    def stacked(*tensors: Tensor) -> Tensor:
        return torch.stack(tensors, dim=1)

    names = [field.name for field in fields(PairRows)]
    rows = PairRows(*(stacked(*(getattr(one.rows, name) for one in of_models)) for name in names))
    drawn = [one.partners for one in of_models]
    other, peer = (
        (stacked(*(kind[0] for kind in kinds)), stacked(*(kind[1] for kind in kinds)))
        for kinds in ([one.other for one in drawn], [one.peer for one in drawn])
    )
    return Batches(rows, Partners(other, peer, stacked(*(one.active for one in drawn))))


def pairs_of(
    decompose: Callable[[Tensor], Decomposition], vectors: Tensor, batch: Batches, n_languages: int
) -> Pairs:
    """Decompose both sides of a batch in one pass and lay them out for the objective.

    Args:
        decompose: (..., 2B, D) -> parts.
        vectors: (N, D), the matrix that the batch's row numbers point into.
        batch: one batch, (B,) or (S, B).
        n_languages: K.
    """
    rows, partners = batch.rows, batch.partners
    places = torch.cat([rows.source, rows.target], dim=-1)
    both = decompose(vectors.index_select(0, places.reshape(-1)).view(*places.shape, -1))
    # chunk, not slices: its gradient is one concatenation, a slice's is a padded copy each.
    halves = zip(
        both.sentence.chunk(2, -2), both.meaning.chunk(2, -2), both.language.chunk(2, -2), strict=True
    )
    source, target = (Decomposition(*parts) for parts in halves)
    return Pairs(
        Side(source, rows.source_language, partners.other[0], partners.peer[0]),
        Side(target, rows.target_language, partners.other[1], partners.peer[1]),
        partners.active,
        n_languages,
    )
