"""The trainable decomposers: one or two linear maps of the sentence vector, one model's or a stack of models'."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Generator, Tensor, nn

from orthoglot.decomposers.base import Decomposition


class Linear(nn.Module):
    """y = W x + b by row; a stack of S models maps S batches at once.

    Attributes:
        weight: (outputs, inputs) or (S, outputs, inputs).
        bias: (outputs,) or (S, outputs).
    """

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight)
        self.bias = nn.Parameter(bias)

    def forward(self, x: Tensor) -> Tensor:
        """(B, inputs) -> (B, outputs), with a first dimension S for a stack."""
        return _affine(x, self.weight, self.bias)

    def frozen(self, x: Tensor) -> Tensor:
        """The same, with a gradient to x only."""
        return _affine(x, self.weight.detach(), self.bias.detach())


def _affine(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    if weight.dim() == 2:
        return nn.functional.linear(x, weight, bias)
    if x.is_cuda:
        return torch.baddbmm(bias.unsqueeze(-2), x, weight.mT)
    # One product a model: a CPU's batched product rounds differently when it holds a single one, and what becomes
    # of a model must not depend on whether others are beside it. It is not slower either.
    each = [nn.functional.linear(*one) for one in zip(x, weight, bias, strict=True)]
    return torch.stack(each) if len(each) > 1 else each[0].unsqueeze(0)


def linear(inputs: int, outputs: int, generator: Generator | Sequence[Generator]) -> Linear:
    """A linear map with PyTorch's default distribution of weights; several generators make a stack."""
    if isinstance(generator, Generator):
        bound = 1 / math.sqrt(inputs)
        weight, bias = torch.empty(outputs, inputs), torch.empty(outputs)
        for tensor in (weight, bias):
            tensor.uniform_(-bound, bound, generator=generator)
        return Linear(weight, bias)
    single = [linear(inputs, outputs, one) for one in generator]
    return Linear(
        torch.stack([one.weight.data for one in single]), torch.stack([one.bias.data for one in single])
    )


class TwoHead(nn.Module):
    """Meaning = W_m e + b_m, language = W_l e + b_l; shared by all languages (methods 3.2: DREAM, MEAT)."""

    def __init__(self, dim: int, generator: Generator | Sequence[Generator]) -> None:
        super().__init__()
        self.meaning = linear(dim, dim, generator)
        self.language = linear(dim, dim, generator)

    def forward(self, sentence: Tensor) -> Decomposition:
        """Parts of sentence vectors (B, D), or (S, B, D) for a stack."""
        return Decomposition(sentence, self.meaning(sentence), self.language(sentence))


class Residual(nn.Module):
    """Meaning = W e + b, language = e - meaning: the parts add up to e (methods 4.1: SEED)."""

    def __init__(self, dim: int, generator: Generator | Sequence[Generator]) -> None:
        super().__init__()
        self.meaning = linear(dim, dim, generator)

    def forward(self, sentence: Tensor) -> Decomposition:
        """Parts of sentence vectors (B, D), or (S, B, D) for a stack."""
        meaning = self.meaning(sentence)
        return Decomposition(sentence, meaning, sentence - meaning)
