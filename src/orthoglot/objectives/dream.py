"""DREAM (2021): reconstruct the sentence, pull translations together, gather and name the languages.

Source: methods 3.2, after the authors' public code (nattaptiy/qe_disentangled). Partners are row indices;
which rule drew them decides whether this is the original or the ORACLE release (methods O6).
"""

from __future__ import annotations

from torch import Tensor, nn

from orthoglot.decomposers.linear import linear
from orthoglot.objectives.base import Pairs, Streams, cross_entropy


def reconstruction(pairs: Pairs) -> Tensor:
    """Meaning plus language gives the sentence vector back.

    L_R = sum over sides of mean_i mean_d (m_i + l_i - e_i)_d ^ 2;  at least 0.
    """
    error = pairs.parts.meaning + pairs.parts.language - pairs.parts.sentence
    return pairs.mean(error.square().mean(dim=-1))


def meaning(pairs: Pairs) -> Tensor:
    """Translations attract, other sentences repel up to orthogonality.

    L_S = mean_i [1 - cos(ms_i, mt_i)] + sum over sides of mean_i max(0, cos(m_i, m_other(i)));  in [0, 4].
    Rows without another row are left out of the second mean.
    """
    together = pairs.mean(pairs.pull(pairs.meaning, pairs.of_translation(pairs.meaning))) / 2
    return together + pairs.mean_with_other(pairs.push(pairs.meaning, pairs.of_other(pairs.meaning)))


def language(pairs: Pairs) -> Tensor:
    """Language vectors of one language attract.

    L_L^m = sum over sides of mean_i [1 - cos(l_i, l_peer(i))];  in [0, 4], rows without a peer left out.
    """
    return pairs.mean_with_peer(pairs.pull(pairs.language, pairs.of_peer(pairs.language)))


class Identification(nn.Module):
    """A linear head names the language from the language vector.

    L_L^i = sum over sides of mean_i CE(W l_i + b, y_i);  2 ln K for a head that knows nothing.
    """

    def __init__(self, *, dim: int, n_languages: int, generator: Streams) -> None:
        super().__init__()
        self.head = linear(dim, n_languages, generator)

    def forward(self, pairs: Pairs) -> Tensor:
        """The loss; its gradient reaches the head and the language map only."""
        return pairs.mean(cross_entropy(self.head(pairs.parts.language), pairs.language_id))
