"""SEED (2025): meaning is a map of the sentence vector, language the rest; L = L_M + L_L + L_C.

Source: docs/papers.md#seed. L_C is three terms here: separation, language_swap, meaning_swap. Each row has one
partner, of its side and language, for all terms; a row without one is left out (docs/papers.md#seed-self-partner).
"""

from __future__ import annotations

from torch import Tensor

from orthoglot.objectives.base import Pairs
from orthoglot.objectives.cosine import pull, push


def meaning(pairs: Pairs) -> Tensor:
    """L_M: translations attract twice, same-language partners repel up to a right angle.

    L = 2 mean_i [1 - cos(ms_i, mt_i)] + sum over sides of mean_i max(0, cos(m_i, m_peer(i)));  in [0, 6].
    Source: SEED Eq. 4, docs/papers.md#seed-4.
    """
    # The cosine counts for both sides, so that its mean is already doubled.
    translated = pairs.mean(pull(pairs.meaning, pairs.of_translation(pairs.meaning)))
    return translated + pairs.mean_with_peer(push(pairs.meaning, pairs.of_peer(pairs.meaning)))


def language(pairs: Pairs) -> Tensor:
    """L_L = sum over sides of mean_i [1 - cos(l_i, l_peer(i))];  in [0, 4].

    Source: SEED Eq. 5, docs/papers.md#seed-5.
    """
    return pairs.mean_with_peer(pull(pairs.language, pairs.of_peer(pairs.language)))


def separation(pairs: Pairs) -> Tensor:
    """First part of L_C: sum over sides of mean_i max(0, cos(m_i, l_i));  in [0, 2].

    Source: SEED Eq. 6a, docs/papers.md#seed-6a.
    """
    return pairs.mean(push(pairs.meaning, pairs.language))


def language_swap(pairs: Pairs) -> Tensor:
    """Second part of L_C: a sentence with its partner's language is still the sentence.

    L = sum over sides of mean_i [1 - cos(e_i, m_i + l_peer(i))];  in [0, 4].
    Source: SEED Eq. 6b, docs/papers.md#seed-6b.
    """
    return pairs.mean_with_peer(pull(pairs.sentence, pairs.meaning + pairs.of_peer(pairs.language)))


def meaning_swap(pairs: Pairs) -> Tensor:
    """Third part of L_C: a sentence with its translation's meaning is still the sentence.

    L = mean_i [1 - cos(es_i, mt_i + ls_i)] + mean_i [1 - cos(et_i, ms_i + lt_i)];  in [0, 4].
    Source: SEED Eq. 6c, docs/papers.md#seed-6c.
    """
    return pairs.mean(pull(pairs.sentence, pairs.of_translation(pairs.meaning) + pairs.language))
