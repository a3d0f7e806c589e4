"""Partner rules: for each sentence of a batch another one that the loss compares it with.

A rule takes the language ids (n, B) of the source and of the target side of n batches, and random numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from orthoglot.random_streams import Draws


@dataclass(frozen=True)
class Partners:
    """Row indices within a batch, -1 for none; see `orthoglot.objectives.base.Pairs`."""

    other: tuple[Tensor, Tensor]  # (n, B) each, of the source and of the target side
    peer: tuple[Tensor, Tensor]  # likewise
    active: Tensor  # (n, B) booleans, the rows over which host terms average


def no_partners(source: Tensor, _: Tensor, __: Draws) -> Partners:
    """No row has a partner."""
    none = torch.full_like(source, -1)
    return Partners((none, none), (none, none), torch.ones_like(source, dtype=torch.bool))


def dream(source: Tensor, target: Tensor, draws: Draws) -> Partners:
    """Any other row for meaning, another of the same language for language.

    Source: docs/papers.md#dream-partners, original DREAM.
    """
    other = any_other(source, draws), any_other(target, draws)
    peer = same_language(source, draws), same_language(target, draws)
    return Partners(other, peer, torch.ones_like(source, dtype=torch.bool))


def half_batch(source: Tensor, _: Tensor, __: Draws) -> Partners:
    """Row i + B // 2 for the first B // 2 rows, which alone are active.

    Source: docs/papers.md#dream-partners, ORACLE's release.
    """
    rows, half = torch.arange(source.shape[1], device=source.device), source.shape[1] // 2
    partners = torch.where(rows < half, rows + half, -1).expand_as(source)
    return Partners((partners, partners), (partners, partners), partners >= 0)


def seed(source: Tensor, target: Tensor, draws: Draws) -> Partners:
    """One partner of the same language for all terms (docs/papers.md#seed-partners, SEED)."""
    peer = same_language(source, draws), same_language(target, draws)
    return Partners(peer, peer, torch.ones_like(source, dtype=torch.bool))


def any_other(language: Tensor, draws: Draws) -> Tensor:
    """Draw uniformly another row of its batch for each row of n batches (n, B); -1 if there is none.

    Source: docs/papers.md#dream-partners.
    """
    n, batch = language.shape
    if batch < 2:
        return torch.full_like(language, -1)
    drawn = (draws.uniform(n * batch, language.device).view(n, batch) * (batch - 1)).long()
    return drawn + (drawn >= torch.arange(batch, device=language.device))


def same_language(language: Tensor, draws: Draws) -> Tensor:
    """Draw uniformly another row of its batch and language for each row of n batches (n, B); -1 if there is none.

    Language ids are at least 0; a row takes one draw.
    Source: docs/papers.md#dream-partners, docs/papers.md#seed-partners.
    """
    n, batch = language.shape
    if not language.numel():
        return torch.empty_like(language)
    batches = torch.arange(n, device=language.device)[:, None]
    groups = (language + batches * (language.max() + 1)).reshape(-1)
    order = torch.argsort(groups, stable=True)
    _, group, sizes = torch.unique_consecutive(groups[order], return_inverse=True, return_counts=True)
    size = sizes[group]
    start = (sizes.cumsum(0) - sizes)[group]
    # A shift by 1 .. size - 1 within the group never ends at the row itself and is uniform over the others.
    shift = 1 + (draws.uniform(len(order), language.device) * (size - 1)).long()
    position = start + (torch.arange(len(order), device=language.device) - start + shift) % size
    partners = torch.empty_like(order)
    partners[order] = torch.where(size > 1, order[position] % batch, -1)
    return partners.view(n, batch)
