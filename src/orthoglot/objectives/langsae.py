"""LangSAE Editing (2026): the loss of its sparse autoencoder. Source: docs/papers.md#langsae."""

from __future__ import annotations

from torch import Tensor

from orthoglot.objectives.base import Pairs


def reconstruction(pairs: Pairs) -> Tensor:
    """What the autoencoder makes of a sentence vector, which is its meaning part while it is trained, is that vector.

    L = mean over all rows and dimensions of (m_i - e_i)_d ^ 2;  at least 0.
    Source: docs/papers.md#langsae-1.
    """
    errors = pairs.by_training(pairs.parts.meaning - pairs.parts.sentence)
    return errors.square().mean(dim=(-2, -1))
