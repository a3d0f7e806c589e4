"""MEAT (2022): reconstruct, also across the pair; languages apart; meaning vectors hide the language.

Source: docs/papers.md#meat, after the authors' public code (EhimeNLP/MEAT). The term `Adversarial` has two
losses and two updates per batch: first the discriminator's (`discriminate`), then the maps' (the term itself).
"""

from __future__ import annotations

from torch import Generator, Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from orthoglot.decomposers.modules import linear
from orthoglot.objectives.base import Pairs
from orthoglot.objectives.cosine import pull, push


def reconstruction(pairs: Pairs) -> Tensor:
    """Meaning plus language has the direction of the sentence vector.

    L_R = sum over sides of mean_i [1 - cos(m_i + l_i, e_i)];  in [0, 4].
    Source: MEAT Eq. 1, docs/papers.md#meat-1.
    """
    return pairs.mean(pull(pairs.meaning + pairs.language, pairs.sentence))


def cross_reconstruction(pairs: Pairs) -> Tensor:
    """The translation's meaning serves as well as the sentence's own.

    L_CR = mean_i [1 - cos(ms_i + lt_i, et_i)] + mean_i [1 - cos(mt_i + ls_i, es_i)];  in [0, 4].
    Source: MEAT Eq. 2, docs/papers.md#meat-2.
    """
    translated = pairs.of_translation(pairs.meaning)
    return pairs.mean(pull(translated + pairs.language, pairs.sentence))


def language(pairs: Pairs) -> Tensor:
    """Language vectors of the two sides repel up to a right angle.

    L_L = mean_i max(0, cos(ls_i, lt_i));  in [0, 1].
    Source: MEAT Eq. 3, docs/papers.md#meat-3.
    """
    return pairs.mean(push(pairs.language, pairs.of_translation(pairs.language))) / 2


class Adversarial(nn.Module):
    """A linear discriminator reads the language from the meaning vector; the maps make it guess.

    For the maps:          L_A = sum over sides of mean_i [-(1/K) sum_k log softmax(W m_i + b)_k], at least 2 ln K.
    For the discriminator: sum over sides of mean_i CE(W sg[m_i] + b, y_i), sg the stopped gradient.
    Source: MEAT Eq. 4, docs/papers.md#meat-4.
    """

    def __init__(self, *, dim: int, n_languages: int, generator: Generator) -> None:
        super().__init__()
        self.discriminator = linear(dim, n_languages, generator)

    def forward(self, pairs: Pairs) -> Tensor:
        """L_A of the discriminator as it is; no gradient reaches the discriminator."""
        constant = {name: parameter.detach() for name, parameter in self.discriminator.named_parameters()}
        logits = functional_call(self.discriminator, constant, pairs.parts.meaning)
        return pairs.mean(uniform_cross_entropy(logits))

    def discriminate(self, pairs: Pairs) -> Tensor:
        """The discriminator's loss; no gradient reaches the maps.

        Source: MEAT Eq. 6, docs/papers.md#meat-6.
        """
        logits = self.discriminator(pairs.parts.meaning.detach())
        return pairs.mean(functional.cross_entropy(logits, pairs.language_id, reduction="none"))


def uniform_cross_entropy(logits: Tensor) -> Tensor:
    """Cross-entropy of the uniform distribution with softmax(logits), (R, K) -> (R,), nats; at least ln K.

    Source: MEAT Eq. 4, docs/papers.md#meat-4.
    """
    return -logits.log_softmax(dim=1).mean(dim=1)
