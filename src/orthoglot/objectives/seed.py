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
    together = 2 * pairs.mean(pairs.pull(pairs.source.meaning, pairs.target.meaning))
    source, target = (
        side.mean_with_peer(pairs.push(side.meaning, side.of_peer(side.meaning))) for side in pairs
    )
    return together + source + target


def language(pairs: Pairs) -> Tensor:
    """L_L = sum over sides of mean_i [1 - cos(l_i, l_peer(i))];  in [0, 4]."""
    source, target = (
        side.mean_with_peer(pairs.pull(side.language, side.of_peer(side.language))) for side in pairs
    )
    return source + target


def separation(pairs: Pairs) -> Tensor:
    """First part of L_C: sum over sides of mean_i max(0, cos(m_i, l_i));  in [0, 2]."""
    source, target = (pairs.push(side.meaning, side.language) for side in pairs)
    return pairs.mean(source + target)


def language_swap(pairs: Pairs) -> Tensor:
    """Second part of L_C: a sentence with its partner's language is still the sentence.

    L = sum over sides of mean_i [1 - cos(e_i, m_i + l_peer(i))];  in [0, 4].
    """
    source, target = (
        side.mean_with_peer(pairs.pull(side.sentence, side.meaning + side.of_peer(side.language)))
        for side in pairs
    )
    return source + target


def meaning_swap(pairs: Pairs) -> Tensor:
    """Third part of L_C: a sentence with its translation's meaning is still the sentence.

    L = mean_i [1 - cos(es_i, mt_i + ls_i)] + mean_i [1 - cos(et_i, ms_i + lt_i)];  in [0, 4].
    """
    source, target = pairs
    to_source = pairs.pull(source.sentence, target.meaning + source.language)
    to_target = pairs.pull(target.sentence, source.meaning + target.language)
    return pairs.mean(to_source + to_target)
