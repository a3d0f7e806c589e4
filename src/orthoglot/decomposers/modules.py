"""The trained architectures as PyTorch modules."""

from __future__ import annotations

import math
from typing import Any

from torch import Generator, Tensor, nn

from orthoglot.decomposers import architecture
from orthoglot.decomposers.base import Decomposition, Trained


class Maps(nn.ModuleDict):
    """The linear maps of a trained architecture (`orthoglot.decomposers.architecture`), with its settings."""

    def __init__(self, name: str, dim: int, generator: Generator, **settings: Any) -> None:
        form = architecture(name)
        assert isinstance(form, Trained)
        if form.modules is None:
            super().__init__({part: linear(dim, dim, generator) for part in form.maps})
        else:
            super().__init__(form.modules(dim, generator, **settings))
        self._split, self._settings = form.split, settings

    def forward(self, sentence: Tensor) -> Decomposition:
        """Parts of sentence vectors (R, D)."""
        weights = dict(self.named_parameters()) | self._settings
        return Decomposition(sentence, *self._split(weights, sentence))


def linear(inputs: int, outputs: int, generator: Generator) -> nn.Linear:
    """A linear map with PyTorch's default distribution, U(-1/sqrt(inputs), 1/sqrt(inputs)), from its own generator."""
    layer = nn.utils.skip_init(nn.Linear, inputs, outputs)
    bound = 1 / math.sqrt(inputs)
    for tensor in (layer.weight, layer.bias):
        nn.init.uniform_(tensor, -bound, bound, generator=generator)
    return layer
