"""ORACLE (2024): one direction per language (intra-class), meaning orthogonal to language (inter-class).

All terms use every row of the batch, even where the host's terms use half of it (docs/papers.md#oracle).
Names without a suffix are the paper's Eqs. 5 and 6. A suffix names another reading: `_released` is what every shipped
configuration of the authors' code trains (dayeonki/oracle), `_all` ignores languages but leaves the diagonal out,
`_abs`, `_main` and `_old` are their other variants. ORACLE without a host is
{intra_class_released, alignment, inter_class_old}: as printed, nothing would align the meanings
(docs/papers.md#oracle-alone).
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from orthoglot.objectives.base import Pairs
from orthoglot.objectives.cosine import cosine, pull, push


def intra_class(pairs: Pairs) -> Tensor:
    """Language vectors of one language attract.

    L = sum over sides of mean_i [1 - mean of cos(l_i, l_j) over j != i with y_j = y_i];  in [0, 4],
    0 when each language is one direction. i are the rows whose language has another row on that side; a side without
    such rows gives 0. Every sentence weighs the same, so a language counts by its number of sentences.
    Source: ORACLE Eq. 5, docs/papers.md#oracle-5; the paper does not say which j
    (docs/papers.md#oracle-intra-class-partner, docs/papers.md#oracle-intra-class-diagonal,
    docs/papers.md#oracle-intra-class-languages).
    """
    return _attraction(pairs, pairs.language_id, pairs.n_languages)


def intra_class_all(pairs: Pairs) -> Tensor:
    """All language vectors of a side attract, whatever their language.

    L = sum over sides of [1 - mean of cos(l_i, l_j) over j != i];  in [0, 4]; 0 for a single row.
    Source: docs/papers.md#oracle-intra-class-partner.
    """
    return _attraction(pairs, torch.zeros_like(pairs.language_id), 1)


def _attraction(pairs: Pairs, group: Tensor, n_groups: int) -> Tensor:
    """The mean over rows of 1 - the mean cosine with the other rows of its group, both sides' added.

    The cosines of a group sum to |sum of its unit vectors|^2 - sum of |unit vector|^2: B products, not B^2.
    Rows without another one in their group do not count; a side that has only these adds 0.
    """
    members = pairs.sides(one_hot(group, n_groups).to(pairs.language.rows.dtype)).mT
    inverse = pairs.sides(pairs.language.inverse_length)[..., None, :]
    sums = (members * inverse) @ pairs.sides(pairs.language.rows)
    sizes = members.sum(dim=-1)
    cosines = sums.square().sum(dim=-1) - (members * (inverse > 0)).sum(dim=-1)
    means = cosines / (sizes - 1).clamp(min=1)
    n = torch.where(sizes > 1, sizes, 0).sum(dim=-1)
    return torch.where(n > 0, 1 - means.sum(dim=-1) / n.clamp(min=1), 0.0).sum(dim=-1)


def intra_class_released(pairs: Pairs) -> Tensor:
    """All language vectors of a side attract; the mean runs over the full B x B matrix.

    L = sum over sides of [1 - |mean of unit l|^2] = (B - 1) / B of `intra_class_all`;  in [0, 2].
    Source: docs/papers.md#oracle-intra-class-diagonal.
    """
    inverse = pairs.sides(pairs.language.inverse_length)[..., None, :]
    means = inverse @ pairs.sides(pairs.language.rows) / inverse.shape[-1]
    return 2 - means.square().sum(dim=(-3, -2, -1))


def inter_class(pairs: Pairs) -> Tensor:
    """Meaning and language of one sentence repel up to a right angle.

    L = sum over sides of mean_i max(0, cos(m_i, l_i));  in [0, 2].
    Source: ORACLE Eq. 6 as printed, docs/papers.md#oracle-6 (docs/papers.md#oracle-inter-class).
    """
    return pairs.mean_of_all(push(pairs.meaning, pairs.language))


def inter_class_released(pairs: Pairs) -> Tensor:
    """Language vectors of the two sides repel: mean_i max(0, cos(ls_i, lt_i));  in [0, 1].

    Source: docs/papers.md#oracle-inter-class.
    """
    return pairs.mean_of_all(push(pairs.language, pairs.of_translation(pairs.language))) / 2


def inter_class_abs(pairs: Pairs) -> Tensor:
    """The released term, but opposite directions cost, too: mean_i |cos(ls_i, lt_i)|;  in [0, 1].

    Source: docs/papers.md#oracle-variants.
    """
    return pairs.mean_of_all(cosine(pairs.language, pairs.of_translation(pairs.language)).abs()) / 2


def inter_class_main(pairs: Pairs) -> Tensor:
    """Half of the printed term;  in [0, 1].

    Source: docs/papers.md#oracle-variants.
    """
    return inter_class(pairs) / 2


def inter_class_old(pairs: Pairs) -> Tensor:
    """mean_i [|cos(ms_i, ls_i)| + |cos(mt_i, lt_i)| + max(0, cos(ls_i, lt_i))];  in [0, 3].

    Source: docs/papers.md#oracle-variants.
    """
    between_parts = pairs.mean_of_all(cosine(pairs.meaning, pairs.language).abs())
    return between_parts + inter_class_released(pairs)


def alignment(pairs: Pairs) -> Tensor:
    """Translations attract: mean_i [1 - cos(ms_i, mt_i)];  in [0, 2]. Needed where no host does it.

    Source: docs/papers.md#oracle-alone.
    """
    return pairs.mean_of_all(pull(pairs.meaning, pairs.of_translation(pairs.meaning))) / 2
