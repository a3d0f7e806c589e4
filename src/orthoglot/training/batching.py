"""Batches of sentence pairs as row numbers, and the named rules that draw partners within a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from orthoglot.decomposers.base import Decomposition
from orthoglot.objectives.base import Pairs
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
        other, peer: source and target side, (n, B) each; see `orthoglot.objectives.base.Pairs`.
        active: (n, B) booleans, the rows that host terms average over.
    """

    other: tuple[Tensor, Tensor]
    peer: tuple[Tensor, Tensor]
    active: Tensor


@dataclass(frozen=True)
class Batches:
    """Batches of B pairs as `Pairs` lays them out: the source's rows first, then the target's.

    Attributes:
        places: rows of the matrix of vectors, (n, 2B); of models trained together (n, S, 2B), and so on.
        language_id: of each row.
        other, peer: partners, counted among the 2B rows, -1 for none.
        active: (n, B).
    """

    places: Tensor
    language_id: Tensor
    other: Tensor
    peer: Tensor
    active: Tensor

    def __len__(self) -> int:
        return self.places.shape[0]

    def __getitem__(self, number: int) -> Batches:
        """One batch: its tensors lack the first dimension."""
        return Batches(*(getattr(self, field.name)[number] for field in fields(self)))

    @property
    def size(self) -> int:
        """B."""
        return self.active.shape[-1]


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
    return [_laid_out(rows.take(part), rule, partners) for part in parts]


def _laid_out(rows: PairRows, rule: str, draws: Draws) -> Batches:
    drawn = RULES[rule](rows, draws)

    def both(sides: tuple[Tensor, Tensor]) -> Tensor:
        source, target = sides
        return torch.cat([source, torch.where(target >= 0, target + len(rows), -1)], dim=-1)

    return Batches(
        places=torch.cat([rows.source, rows.target], dim=-1),
        language_id=torch.cat([rows.source_language, rows.target_language], dim=-1),
        other=both(drawn.other),
        peer=both(drawn.peer),
        active=drawn.active,
    )


def together(of_models: Sequence[Batches]) -> Batches:
    """The batches of S models as one: (n, ...) each to (n, S, ...)."""
    names = [field.name for field in fields(Batches)]
    return Batches(*(torch.stack([getattr(one, name) for one in of_models], dim=1) for name in names))


def pairs_of(
    decompose: Callable[[Tensor], Decomposition], vectors: Tensor, batch: Batches, n_languages: int
) -> Pairs:
    """Decompose both sides of a batch in one pass.

    Args:
        decompose: (..., 2B, D) -> parts.
        vectors: (N, D), the matrix that the batch's places point into.
        batch: one batch, (2B,) or (S, 2B).
        n_languages: K.
    """
    rows = vectors.index_select(0, batch.places.reshape(-1)).view(*batch.places.shape, -1)
    return Pairs(decompose(rows), batch.language_id, batch.other, batch.peer, batch.active, n_languages)
