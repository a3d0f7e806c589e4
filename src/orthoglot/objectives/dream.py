"""DREAM (2021): reconstruct the sentence, pull translations together, gather and name the languages.

Source: docs/papers.md#dream, after the authors' public code (nattaptiy/qe_disentangled). The rule that draws the
partners makes it the original or the ORACLE release (docs/papers.md#oracle-partners).
"""

from __future__ import annotations

from torch import Generator, Tensor, nn
from torch.nn import functional

from orthoglot.decomposers.modules import linear
from orthoglot.objectives.base import Pairs
from orthoglot.objectives.cosine import pull, push


def meaning(pairs: Pairs) -> Tensor:
    """Translations attract, other sentences repel up to a right angle.

    L_S = mean_i [1 - cos(ms_i, mt_i)] + sum over sides of mean_i max(0, cos(m_i, m_other(i)));  in [0, 4].
    Rows without another row are left out of the second mean.
    Source: DREAM Eq. 3, docs/papers.md#dream-3.
    """
    translated = pairs.mean(pull(pairs.meaning, pairs.of_translation(pairs.meaning))) / 2
    return translated + pairs.mean_with_other(push(pairs.meaning, pairs.of_other(pairs.meaning)))


def reconstruction(pairs: Pairs) -> Tensor:
    """Meaning plus language is the sentence vector.

    L_R = sum over sides of mean_i mean_d (m_i + l_i - e_i)_d ^ 2;  at least 0.
    Source: DREAM Eq. 2, docs/papers.md#dream-2.
    """
    error = pairs.parts.meaning + pairs.parts.language - pairs.parts.sentence
    return pairs.mean(error.square().mean(dim=1))


def language(pairs: Pairs) -> Tensor:
    """Language vectors of one language attract.

    L_L^m = sum over sides of mean_i [1 - cos(l_i, l_peer(i))];  in [0, 4], rows without a peer left out.
    Source: DREAM Eq. 4, docs/papers.md#dream-4.
    """
    return pairs.mean_with_peer(pull(pairs.language, pairs.of_peer(pairs.language)))


class Identification(nn.Module):
    """A linear head names the language from the language vector.

    L_L^i = sum over sides of mean_i CE(W l_i + b, y_i), nats;  2 ln K for a head that has learned nothing.
    Source: DREAM Eq. 5, docs/papers.md#dream-5.
    """

    def __init__(self, *, dim: int, n_languages: int, generator: Generator) -> None:
        super().__init__()
        self.head = linear(dim, n_languages, generator)

    def forward(self, pairs: Pairs) -> Tensor:
        """The loss; its gradient reaches the head and the language map only."""
        logits = self.head(pairs.parts.language)
        return pairs.mean(functional.cross_entropy(logits, pairs.language_id, reduction="none"))
