"""LANCER (2024): no dimension of the meaning vector correlates with a language.

Source: docs/papers.md#lancer, after the authors' public code (zhiqihuang/lancer), where it is a term of the training of
an encoder for retrieval. Here it acts on the meaning vectors of a batch.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from orthoglot.objectives.base import Pairs

# Keeps the quotient finite where a dimension or a language does not vary.
EPSILON = 1e-5


def correlation(pairs: Pairs) -> Tensor:
    """Mean absolute correlation of the D dimensions of the meaning vector with the K languages.

    L = mean_{dk} |cov(m_d, z_k)| / (sd(m_d) sd(z_k) + 1e-5) over all rows of both sides, z the one-hot language;
    in [0, 1]. A language that the batch lacks, and one that has all of it, counts as 0.
    Source: docs/papers.md#lancer-1.
    """
    meaning = pairs.parts.meaning
    labels = one_hot(pairs.language_id, pairs.n_languages).to(meaning.dtype)
    covariance = (meaning - meaning.mean(dim=0)).T @ (labels - labels.mean(dim=0)) / (len(labels) - 1)
    deviation = torch.outer(meaning.std(dim=0), labels.std(dim=0))
    return (covariance / (deviation + EPSILON)).abs().mean()
