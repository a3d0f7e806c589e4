"""Maps that a training starts from: those of the discriminant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orthoglot.decomposers.architectures.discriminant import ARCHITECTURE as DISCRIMINANT
from orthoglot.decomposers.moments import Block, compute


def discriminant_maps(
    train: Iterable[Block], languages: Sequence[str], dim: int, *, centred: bool
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The discriminant's meaning and language as two linear maps, and its settings.

    Its vectors are not scaled to length 1, so that the parts are linear in them. Each map is scaled so that its
    weights have the standard deviation of the usual initial ones, 1 / sqrt(3 D): one learning rate fits both.

    Args:
        train: translations.
        languages: of all of them.
        dim: D.
        centred: whether a mean has been subtracted from the vectors already.
    Returns:
        Weights (D, D) and biases (D,) by name; shrinkage, power, centre and the losses that chose them.
    Raises:
        DataError: as of `orthoglot.decomposers.moments.compute`.
    Source: docs/papers.md#refinement.
    """
    given = {"centre": "overall"} if centred else {}
    form = replace(DISCRIMINANT, unit=False)
    weights, settings = compute(form, train, languages, dim, given)
    maps: dict[str, Tensor] = {}
    for part, origin in (("meaning", "centre"), ("language", "mean")):
        scale = 1 / np.sqrt(3 * dim * np.square(weights[part], dtype=np.float64).mean())
        found = {"weight": scale * weights[part].T, "bias": -scale * (weights[origin] @ weights[part])}
        maps |= {
            f"{part}.{name}": torch.from_numpy(array.astype(np.float32)) for name, array in found.items()
        }
    return maps, settings
