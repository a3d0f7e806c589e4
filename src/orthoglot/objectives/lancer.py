"""LANCER (2024): no dimension of the meaning vector correlates with a language.

Source: docs/papers.md#lancer, after the authors' public code (zhiqihuang/lancer), where it is a term of the training of
an encoder for retrieval. Here it acts on the meaning vectors of a batch.
"""

from __future__ import annotations

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
    meaning = pairs.by_training(pairs.parts.meaning)
    labels = pairs.by_training(one_hot(pairs.language_id, pairs.n_languages)).to(meaning.dtype)
    centred = meaning - meaning.mean(dim=-2, keepdim=True)
    covariance = centred.mT @ (labels - labels.mean(dim=-2, keepdim=True)) / (labels.shape[-2] - 1)
    scale = meaning.std(dim=-2)[..., :, None] * labels.std(dim=-2)[..., None, :]
    return (covariance / (scale + EPSILON)).abs().mean(dim=(-2, -1))
