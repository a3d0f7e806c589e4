"""The trained architectures as PyTorch modules, alone and stacked: one product for the maps of several trainings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
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


class StackedMaps(nn.Module):
    """The maps of G trainings, of one architecture and size: each decomposes its own rows."""

    def __init__(self, maps: Sequence[Maps]) -> None:
        super().__init__()
        self.maps = nn.ModuleList(maps)
        self._split = maps[0]._split

    def forward(self, sentence: Tensor) -> Decomposition:
        """Parts of sentence vectors (G * R, D), those of each training together."""
        weights = stacked(self.maps)
        rows = sentence.unflatten(0, (len(self.maps), -1))
        meaning, language = torch.vmap(self._split)(weights, rows)
        return Decomposition(sentence, meaning.flatten(0, 1), language.flatten(0, 1))


class StackedLinear(nn.Module):
    """Linear layers of G trainings, of one size, each for its own rows."""

    def __init__(self, layers: Sequence[nn.Module]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, rows: Tensor) -> Tensor:
        """Rows (G * R, inputs), those of each training together, to (G * R, outputs)."""
        weights = stacked(self.layers)
        rows = rows.unflatten(0, (len(self.layers), -1))
        return torch.baddbmm(weights["bias"][:, None], rows, weights["weight"].mT).flatten(0, 1)


def stacked(modules: nn.ModuleList) -> dict[str, Tensor]:
    """Parameters of modules of one kind by name, each (G, ...)."""
    parameters = [dict(module.named_parameters()) for module in modules]
    return {name: torch.stack([module[name] for module in parameters]) for name in parameters[0]}


def linear(inputs: int, outputs: int, generator: Generator) -> nn.Linear:
    """A linear map with PyTorch's default distribution, U(-1/sqrt(inputs), 1/sqrt(inputs)), from its own generator."""
    layer = nn.utils.skip_init(nn.Linear, inputs, outputs)
    bound = 1 / math.sqrt(inputs)
    for tensor in (layer.weight, layer.bias):
        nn.init.uniform_(tensor, -bound, bound, generator=generator)
    return layer
