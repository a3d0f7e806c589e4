"""Translations find each other among all sentences of a batch."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import normalize

from orthoglot.objectives.base import Pairs
from orthoglot.objectives.ems import contrastive

TEMPERATURE = 0.05


def translations(pairs: Pairs) -> Tensor:
    """Each meaning vector picks its translation's among those of the other side, in any language.

    L = -sum over both directions of mean_i ln [e^(cos(m_i, m'_i) / T) / sum_j e^(cos(m_i, m'_j) / T)],  T = 0.05;
    at least 0, 2 ln B when all cosines are equal.
    Source: docs/papers.md#contrastive.
    """
    source, target = normalize(pairs.parts.meaning, dim=1).chunk(2)
    cosines = source @ target.T
    return contrastive(cosines, TEMPERATURE) + contrastive(cosines.T, TEMPERATURE)
