"""Meaning at a right angle to language, from both sides.

ORACLE's inter-class term stops at a cosine of 0: below it the two parts may turn away from each other, down to -1.
These two terms cost on either side of 0. They replace it with any host and, like it, use every row of the batch
(docs/papers.md#oracle).
"""

from __future__ import annotations

from torch import Tensor

from orthoglot.objectives.base import Pairs
from orthoglot.objectives.cosine import cosine


def absolute(pairs: Pairs) -> Tensor:
    """Meaning and language of one sentence are pushed to a right angle with a force that does not fade.

    L = sum over sides of mean_i |cos(m_i, l_i)|;  in [0, 2], 0 when every cosine is 0.
    Source: the first two parts of `oracle.inter_class_old` (docs/papers.md#orthogonality).
    """
    return pairs.mean_of_all(cosine(pairs.meaning, pairs.language).abs())


def square(pairs: Pairs) -> Tensor:
    """The same with a force that fades near the right angle, where |cos| has a kink.

    L = sum over sides of mean_i cos(m_i, l_i) ^ 2;  in [0, 2], 0 when every cosine is 0.
    Source: our own; docs/papers.md#orthogonality.
    """
    return pairs.mean_of_all(cosine(pairs.meaning, pairs.language).square())
