"""Cosines of rows, the two branches of the cosine-embedding loss (margin 0), means that leave rows out."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable


class _Unit(torch.autograd.Function):
    """x / |x| by row, with the closed-form gradient (g - u (u . g)) / |x|.

    Half of the passes over the batch that the chain rule of norm and division would make; on a CPU these
    passes are what training costs.
    """

    @staticmethod
    def forward(ctx: FunctionCtx, vectors: Tensor) -> Tensor:
        length = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
        # A zero row stays zero and passes its gradient on as it is: finite, where 1 / |x| is not.
        length = torch.where(length > 0, length, 1.0)
        units = vectors / length
        ctx.save_for_backward(units, length)
        return units

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        units, length = ctx.saved_tensors
        along = (units * gradient).sum(dim=-1, keepdim=True)
        return torch.addcmul(gradient, units, along, value=-1) / length


def unit(vectors: Tensor) -> Tensor:
    """Rows (..., D) divided by their length; a zero row stays zero.

    Any positive scaling of a row leaves its result unchanged, so there is no epsilon here.
    """
    result: Tensor = _Unit.apply(vectors)
    return result


def cosine(a: Tensor, b: Tensor) -> Tensor:
    """Cosine of matching rows of unit vectors (B, D) -> (B,), in [-1, 1]; 0 where a row is zero."""
    return (a * b).sum(dim=-1)


def pull(a: Tensor, b: Tensor) -> Tensor:
    """1 - cos(a, b) of unit rows, in [0, 2]: attraction (methods 2, D+)."""
    return 1 - cosine(a, b)


def push(a: Tensor, b: Tensor) -> Tensor:
    """max(0, cos(a, b)) of unit rows, in [0, 1]: repulsion up to orthogonality (methods 2, D-)."""
    return cosine(a, b).clamp(min=0)


def mean_weights(valid: Tensor, dtype: torch.dtype) -> Tensor:
    """Weights (B,) whose dot product with values is their mean where valid (B,) is true; 0 if none is."""
    weights = valid.to(dtype)
    return weights / weights.sum().clamp(min=1)
