"""ORACLE (2024): one direction per language (intra-class), meaning orthogonal to language (inter-class).

All terms use every row of the batch, also where the host's terms use half of it (methods 3.4).
Plain names are the paper's Eqs. 5 and 6; the suffix tells the reading: `_released` is what every shipped
configuration of the authors' code trains (dayeonki/oracle), `_all` ignores languages but leaves the diagonal
out, `_abs`, `_main` and `_old` are their other variants. ORACLE on its own, without a host, is
{intra_class_released, alignment, inter_class_old}: as printed nothing would align the meanings (methods O5).
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from orthoglot.objectives.base import Pairs


def intra_class(pairs: Pairs) -> Tensor:
    """Language vectors of one language attract.

    L = sum over sides of [1 - mean of cos(l_i, l_j) over all i and j != i with y_j = y_i];  in [0, 4],
    0 when each language is one direction. A side without two rows of one language gives 0.
    Source: Eq. 5; the paper does not say which j (methods O2, O3, O4).
    """
    return _among(pairs, pairs.language_id, pairs.n_languages)


def intra_class_all(pairs: Pairs) -> Tensor:
    """All language vectors of a side attract, whatever their language.

    L = sum over sides of [1 - mean of cos(l_i, l_j) over j != i];  in [0, 4]; 0 for a single row.
    """
    return _among(pairs, torch.zeros_like(pairs.language_id), 1)


def _among(pairs: Pairs, group: Tensor, n_groups: int) -> Tensor:
    """1 - mean cosine over the ordered pairs of different rows of one group of a side, both sides' summed.

    A group's cosines sum to |sum of its units|^2 - sum of |unit|^2, which is linear in B, not quadratic. A side
    without a pair adds 0.
    """
    members = _by_side(one_hot(group, n_groups).to(pairs.parts.language.dtype).mT)
    inverse = _by_side(pairs.dots.inverse_length(pairs.language).unsqueeze(-2))
    sums = (members * inverse) @ _rows_by_side(pairs)
    sizes = members.sum(dim=-1)
    n = (sizes * (sizes - 1)).sum(dim=-1)
    cosines = sums.square().sum(dim=(-2, -1)) - (inverse > 0).sum(dim=(-2, -1))
    return torch.where(n > 0, 1 - cosines / n.clamp(min=1), 0.0).sum(dim=-1)


def _by_side(weights: Tensor) -> Tensor:
    """(..., G, 2B) as (..., 2, G, B)."""
    return weights.unflatten(-1, (2, -1)).transpose(-3, -2)


def _rows_by_side(pairs: Pairs) -> Tensor:
    """Language vectors (..., 2, B, D)."""
    return pairs.parts.language.unflatten(-2, (2, -1))


def intra_class_released(pairs: Pairs) -> Tensor:
    """All language vectors of a side attract; the mean runs over the full B x B matrix.

    L = sum over sides of [1 - |mean of unit l|^2] = (B - 1) / B of `intra_class_all`;  in [0, 2].
    """
    inverse = _by_side(pairs.dots.inverse_length(pairs.language).unsqueeze(-2))
    means = inverse @ _rows_by_side(pairs) / inverse.shape[-1]
    return 2 - means.square().sum(dim=(-3, -2, -1))


def inter_class(pairs: Pairs) -> Tensor:
    """Meaning and language of one sentence repel up to orthogonality.

    L = sum over sides of mean_i max(0, cos(m_i, l_i));  in [0, 2].
    Source: Eq. 6 as printed (methods O1).
    """
    return pairs.mean_of_all(pairs.push(pairs.meaning, pairs.language))


def inter_class_released(pairs: Pairs) -> Tensor:
    """Language vectors of the two sides repel: mean_i max(0, cos(ls_i, lt_i));  in [0, 1] (methods O1)."""
    return pairs.push(pairs.language, pairs.of_translation(pairs.language)).mean(dim=-1)


def inter_class_abs(pairs: Pairs) -> Tensor:
    """As released, but opposite directions cost as well: mean_i |cos(ls_i, lt_i)|;  in [0, 1]."""
    return pairs.cosine(pairs.language, pairs.of_translation(pairs.language)).abs().mean(dim=-1)


def inter_class_main(pairs: Pairs) -> Tensor:
    """Half of the printed term;  in [0, 1]."""
    return inter_class(pairs) / 2


def inter_class_old(pairs: Pairs) -> Tensor:
    """mean_i [|cos(ms_i, ls_i)| + |cos(mt_i, lt_i)| + max(0, cos(ls_i, lt_i))];  in [0, 3]."""
    own = pairs.mean_of_all(pairs.cosine(pairs.meaning, pairs.language).abs())
    return own + inter_class_released(pairs)


def alignment(pairs: Pairs) -> Tensor:
    """Translations attract: mean_i [1 - cos(ms_i, mt_i)];  in [0, 2]. Needed where no host does it."""
    return pairs.pull(pairs.meaning, pairs.of_translation(pairs.meaning)).mean(dim=-1)
