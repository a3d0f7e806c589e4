"""MEAT (2022): reconstruct, also across the pair; languages apart; meaning vectors hide the language.

Source: methods 3.3, after the authors' public code (EhimeNLP/MEAT). Its `Adversarial` term has two losses
and two updates per batch: first the discriminator's (`discriminate`), then the maps' (the term itself).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from orthoglot.decomposers.linear import linear
from orthoglot.objectives.base import Pairs, Streams, cross_entropy


def reconstruction(pairs: Pairs) -> Tensor:
    """Meaning plus language points where the sentence vector points.

    L_R = sum over sides of mean_i [1 - cos(m_i + l_i, e_i)];  in [0, 4].
    """
    return pairs.mean(pairs.pull(pairs.meaning + pairs.language, pairs.sentence))


def cross_reconstruction(pairs: Pairs) -> Tensor:
    """The translation's meaning serves as well as one's own.

    L_CR = mean_i [1 - cos(ms_i + lt_i, et_i)] + mean_i [1 - cos(mt_i + ls_i, es_i)];  in [0, 4].
    """
    translated = pairs.of_translation(pairs.meaning)
    return pairs.mean(pairs.pull(translated + pairs.language, pairs.sentence))


def language(pairs: Pairs) -> Tensor:
    """Language vectors of the two sides repel up to orthogonality.

    L_L = mean_i max(0, cos(ls_i, lt_i));  in [0, 1].
    """
    return pairs.mean(pairs.push(pairs.language, pairs.of_translation(pairs.language))) / 2


class Adversarial(nn.Module):
    """A linear discriminator reads the language off the meaning vector; the maps make it guess.

    For the maps:          L_A = sum over sides of mean_i [-(1/K) sum_k log softmax(W m_i + b)_k];
                           2 ln K at the least.
    For the discriminator: sum over sides of mean_i CE(W sg[m_i] + b, y_i).
    """

    def __init__(self, *, dim: int, n_languages: int, generator: Streams) -> None:
        super().__init__()
        self.discriminator = linear(dim, n_languages, generator)

    def forward(self, pairs: Pairs) -> Tensor:
        """L_A against the discriminator as it stands; no gradient reaches the discriminator."""
        return pairs.mean(uniform_cross_entropy(self.discriminator.frozen(pairs.parts.meaning)))

    def discriminate(self, pairs: Pairs) -> Tensor:
        """The discriminator's own loss; no gradient reaches the maps."""
        logits = self.discriminator(pairs.parts.meaning.detach())
        return pairs.mean(cross_entropy(logits, pairs.language_id))


def uniform_cross_entropy(logits: Tensor) -> Tensor:
    """Cross-entropy of the uniform distribution against logits (..., B, K) -> (..., B); ln K at the least."""
    return -torch.log_softmax(logits, dim=-1).mean(dim=-1)
