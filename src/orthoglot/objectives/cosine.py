"""Cosines of rows: the two elementary losses of all papers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor

T = TypeVar("T")


class lazy(Generic[T]):  # noqa: N801 (a decorator)
    """Does as `functools.cached_property`, whose lock in Python 3.11 `torch.compile` cannot trace."""

    def __init__(self, function: Callable[[Any], T]) -> None:
        self.function = function

    def __get__(self, owner: Any, kind: type) -> T:
        value = owner.__dict__[self.function.__name__] = self.function(owner)
        return value


class Vectors:
    """Rows of a batch. Lengths and gathered rows are computed once and shared by all terms."""

    def __init__(self, rows: Tensor) -> None:
        self.rows = rows  # (R, D), not normalised
        self._gathered: dict[int, Vectors] = {}

    @lazy
    def inverse_length(self) -> Tensor:
        """1 / |row| (R,). A zero row has 0, so that its cosines are 0 and their gradients are finite."""
        length = torch.linalg.vector_norm(self.rows, dim=1)
        return torch.where(length > 0, length, 1.0).reciprocal() * (length > 0)

    def __getitem__(self, index: Tensor) -> Vectors:
        """The rows at `index` (R,). The result is kept as long as these vectors are."""
        if id(index) not in self._gathered:
            gathered = self._gathered[id(index)] = Vectors(self.rows.index_select(0, index))
            gathered.inverse_length = self.inverse_length.index_select(0, index)
        return self._gathered[id(index)]

    def __add__(self, other: Vectors) -> Vectors:
        return Vectors(self.rows + other.rows)


def cosine(a: Vectors, b: Vectors) -> Tensor:
    """Cosine of matching rows (R,), in [-1, 1] up to rounding; 0 where a row is zero."""
    return torch.linalg.vecdot(a.rows, b.rows) * a.inverse_length * b.inverse_length


def pull(a: Vectors, b: Vectors) -> Tensor:
    """D+ = 1 - cos(a, b), (R,) in [0, 2]: attraction (docs/papers.md#cosine-terms)."""
    return 1 - cosine(a, b)


def push(a: Vectors, b: Vectors) -> Tensor:
    """D- = max(0, cos(a, b)), (R,) in [0, 1]: repulsion up to a right angle (docs/papers.md#cosine-terms)."""
    return cosine(a, b).clamp(min=0)
