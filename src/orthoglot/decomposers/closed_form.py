"""Decomposers that are computed in one pass over translations, not trained."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from orthoglot.decomposers.centering import centering, pair_centering
from orthoglot.decomposers.leace import leace
from orthoglot.decomposers.lir import lir
from orthoglot.decomposers.lsar import lsar
from orthoglot.decomposers.moments import Moments, PairMoments
from orthoglot.decomposers.procrustes import procrustes
from orthoglot.decomposers.whitening import whitening

CLOSED_FORMS: dict[str, Callable[..., dict[str, np.ndarray]]] = {
    "centering": centering,
    "pair_centering": pair_centering,
    "lir": lir,
    "lsar": lsar,
    "leace": leace,
    "whitening": whitening,
    "procrustes": procrustes,
}
NEED_PRODUCTS = frozenset({"lir", "leace", "whitening"})
NEED_PAIRS = frozenset({"pair_centering", "procrustes"})
NEED_PAIR_PRODUCTS = frozenset({"procrustes"})

# Vectors (n, D) of the one and of the other language, row by row translations, and the two languages.
Block = tuple[np.ndarray, np.ndarray, tuple[str, str]]


def compute(
    architecture: str,
    blocks: Iterable[Block],
    languages: Sequence[str],
    dim: int,
    settings: Mapping[str, float],
) -> dict[str, np.ndarray]:
    """The weights of a closed form, float32.

    Args:
        architecture: a name in `CLOSED_FORMS`, which says formula and shapes.
        blocks: all training translations, each once, in any order.
        languages: K names, those of the blocks.
        dim: D.
        settings: the architecture's own (`rank` or `shrinkage`), by name.
    Raises:
        DataError: a vector that is not finite, a language without sentences, or what the formula cannot do with.
    """
    moments = Moments(dim, languages, products=architecture in NEED_PRODUCTS)
    pairs = PairMoments(dim, products=architecture in NEED_PAIR_PRODUCTS)
    for source, target, (first, second) in blocks:
        moments.update(source, first)
        moments.update(target, second)
        if architecture in NEED_PAIRS:
            pairs.update(source, target, (first, second))
    given = (moments, pairs) if architecture in NEED_PAIRS else (moments,)
    weights = CLOSED_FORMS[architecture](*given, **settings)
    return {name: array.astype(np.float32) for name, array in weights.items()}
