"""The trainable decomposers: one or two linear maps of the sentence vector."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from orthoglot.decomposers.base import Decomposition


def linear(inputs: int, outputs: int, generator: torch.Generator) -> nn.Linear:
    """A linear map with bias and PyTorch's default distribution of weights, drawn from `generator`."""
    # skip_init: the usual constructor would draw from the global generator.
    layer: nn.Linear = nn.utils.skip_init(nn.Linear, inputs, outputs)
    bound = 1 / math.sqrt(inputs)
    for parameter in layer.parameters():
        nn.init.uniform_(parameter, -bound, bound, generator=generator)
    return layer


class TwoHead(nn.Module):
    """Meaning = W_m e + b_m, language = W_l e + b_l; shared by all languages (methods 3.2: DREAM, MEAT)."""

    def __init__(self, dim: int, generator: torch.Generator) -> None:
        super().__init__()
        self.meaning = linear(dim, dim, generator)
        self.language = linear(dim, dim, generator)

    def forward(self, sentence: Tensor) -> Decomposition:
        """Parts of sentence vectors (B, D)."""
        return Decomposition(sentence, self.meaning(sentence), self.language(sentence))


class Residual(nn.Module):
    """Meaning = W e + b, language = e - meaning: the parts add up to e (methods 4.1: SEED)."""

    def __init__(self, dim: int, generator: torch.Generator) -> None:
        super().__init__()
        self.meaning = linear(dim, dim, generator)

    def forward(self, sentence: Tensor) -> Decomposition:
        """Parts of sentence vectors (B, D)."""
        meaning = self.meaning(sentence)
        return Decomposition(sentence, meaning, sentence - meaning)
