"""Cosines of a batch's rows and of their sums, from dot products that are computed once each.

|a + b|^2 = a.a + 2 a.b + b.b, so that every cosine of a loss is arithmetic on few dot products; the sums and the
unit vectors themselves are never formed. Passes over (B, D) are what a training costs beside its matrix products.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable


class _Dot(torch.autograd.Function):
    """x . y by row."""

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, y: Tensor) -> Tensor:
        ctx.save_for_backward(x, y)
        return (x * y).sum(dim=-1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None]:
        x, y = ctx.saved_tensors
        g = gradient.unsqueeze(-1)
        return (g * y if ctx.needs_input_grad[0] else None), (g * x if ctx.needs_input_grad[1] else None)


class _Square(torch.autograd.Function):
    """x . x by row: one product fewer each way."""

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return (x * x).sum(dim=-1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return (2 * gradient).unsqueeze(-1) * x


@dataclass(frozen=True)
class Sum:
    """The row-wise sum of some `Rows`, never formed."""

    members: tuple[Rows, ...]

    def __add__(self, other: Sum) -> Sum:
        return Sum(self.members + other.members)

    def at(self, index: Tensor) -> Sum:
        """The same sum with the rows in another order; see `Rows.at`."""
        return Sum(tuple(rows.at(index) for rows in self.members))


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows (..., B, D) of a batch; two of them are the same only if they are one object.

    Attributes:
        values: the rows.
        origin, index: where `at` took them from.
    """

    values: Tensor
    origin: Rows | None = None
    index: Tensor | None = None
    _taken: dict[int, Rows] = field(default_factory=dict, repr=False)

    def at(self, index: Tensor) -> Rows:
        """The rows in another order; gathered once for each index tensor.

        Args:
            index: (... * B,) places among all rows, the leading dimensions taken as one.
        """
        if id(index) not in self._taken:
            flat = self.values.reshape(-1, self.values.shape[-1])
            taken = flat.index_select(0, index).view_as(self.values)
            self._taken[id(index)] = Rows(taken, self, index)
        return self._taken[id(index)]


class Dots:
    """Dot products and cosines of matching rows of one batch, each computed once."""

    def __init__(self) -> None:
        self._products: dict[tuple[Rows, Rows], Tensor] = {}
        self._inverses: dict[Sum, Tensor] = {}

    def dot(self, a: Sum, b: Sum) -> Tensor:
        """a . b by row (..., B)."""
        products = [self._product(x, y) for x in a.members for y in b.members]
        return torch.stack(products).sum(dim=0) if len(products) > 1 else products[0]

    def inverse_length(self, a: Sum) -> Tensor:
        """1 / |a| by row (..., B); 0 for a zero row, so that its cosines are 0 and their gradients finite."""
        if a not in self._inverses:
            square = self.dot(a, a)
            self._inverses[a] = torch.where(square > 0, square, 1.0).rsqrt() * (square > 0)
        return self._inverses[a]

    def cosine(self, a: Sum, b: Sum) -> Tensor:
        """Cosine by row (..., B), in [-1, 1] up to rounding; 0 where a row is zero."""
        return self.dot(a, b) * self.inverse_length(a) * self.inverse_length(b)

    def _product(self, x: Rows, y: Rows) -> Tensor:
        known = self._products.get((x, y), self._products.get((y, x)))
        if known is None:
            known = self._products[x, y] = self._compute(x, y)
        return known

    def _compute(self, x: Rows, y: Rows) -> Tensor:
        if x.origin is not None and y.origin is not None and x.index is y.index:
            assert x.index is not None
            product = self._product(x.origin, y.origin)
            return product.reshape(-1).index_select(0, x.index).view_as(product)
        found: Tensor = _Square.apply(x.values) if x is y else _Dot.apply(x.values, y.values)
        return found


def mean_weights(valid: Tensor, dtype: torch.dtype) -> Tensor:
    """Weights of values (..., 2B) whose sum is the mean of each side where valid, both sides' added.

    Args:
        valid: (..., 2B) booleans, the source's rows first; a side where none is true adds 0.
        dtype: of the weights.
    """
    weights = valid.to(dtype).unflatten(-1, (2, -1))
    return (weights / weights.sum(dim=-1, keepdim=True).clamp(min=1)).flatten(-2)
