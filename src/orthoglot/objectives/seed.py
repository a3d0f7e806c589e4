"""SEED (2025): meaning is a map of the sentence vector, language the rest; L = L_M + L_L + L_C.

Source: methods 4.2. L_C is three terms here: separation, language_swap, meaning_swap. One partner per row
and side, of the same language, serves all terms; a row without one is left out (methods S5).
"""

from __future__ import annotations

from torch import Tensor

from orthoglot.objectives.base import Pairs


def meaning(pairs: Pairs) -> Tensor:
    """L_M: translations attract twice, same-language partners repel up to orthogonality.

    L = 2 mean_i [1 - cos(ms_i, mt_i)] + sum over sides of mean_i max(0, cos(m_i, m_peer(i)));  in [0, 6].
    """
    # Both sides' mean of the same cosine: already twice.
    together = pairs.mean(pairs.pull(pairs.meaning, pairs.of_translation(pairs.meaning)))
    return together + pairs.mean_with_peer(pairs.push(pairs.meaning, pairs.of_peer(pairs.meaning)))


def language(pairs: Pairs) -> Tensor:
    """L_L = sum over sides of mean_i [1 - cos(l_i, l_peer(i))];  in [0, 4]."""
    return pairs.mean_with_peer(pairs.pull(pairs.language, pairs.of_peer(pairs.language)))


def separation(pairs: Pairs) -> Tensor:
    """First part of L_C: sum over sides of mean_i max(0, cos(m_i, l_i));  in [0, 2]."""
    return pairs.mean(pairs.push(pairs.meaning, pairs.language))


def language_swap(pairs: Pairs) -> Tensor:
    """Second part of L_C: a sentence with its partner's language is still the sentence.

    L = sum over sides of mean_i [1 - cos(e_i, m_i + l_peer(i))];  in [0, 4].
    """
    return pairs.mean_with_peer(pairs.pull(pairs.sentence, pairs.meaning + pairs.of_peer(pairs.language)))


def meaning_swap(pairs: Pairs) -> Tensor:
    """Third part of L_C: a sentence with its translation's meaning is still the sentence.

    L = mean_i [1 - cos(es_i, mt_i + ls_i)] + mean_i [1 - cos(et_i, ms_i + lt_i)];  in [0, 4].
    """
    return pairs.mean(pairs.pull(pairs.sentence, pairs.of_translation(pairs.meaning) + pairs.language))
