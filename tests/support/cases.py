"""Batches for tests of terms, written down side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from orthoglot.decomposers.base import Decomposition
from orthoglot.objectives.base import Pairs


@dataclass(frozen=True)
class Side:
    """One side's B rows: parts (B, D) each, language ids, and partners as row numbers of this side or -1."""

    parts: Decomposition
    language_id: Tensor
    other: Tensor
    peer: Tensor


@dataclass(frozen=True)
class Case(Pairs):
    """`Pairs` that remember the two sides they were made of."""

    source: Side
    target: Side

    def __iter__(self) -> Iterator[Side]:
        return iter((self.source, self.target))


def case_of(source: Side, target: Side, active: Tensor, n_languages: int) -> Case:
    n = len(active)

    def both(name: str) -> Tensor:
        mine, theirs = getattr(source, name), getattr(target, name)
        return torch.cat([mine, torch.where(theirs >= 0, theirs + n, -1)])

    names = ("sentence", "meaning", "language")
    parts = (torch.cat([getattr(one.parts, name) for one in (source, target)]) for name in names)
    return Case(
        Decomposition(*parts),
        torch.cat([source.language_id, target.language_id]),
        both("other"),
        both("peer"),
        active,
        n_languages,
        source,
        target,
    )
