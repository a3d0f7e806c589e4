"""Small float64 worlds of a few languages, their moments, and closed forms applied without rounding to float32."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from orthoglot.decomposers import architecture
from orthoglot.decomposers.base import ClosedForm, Languages, unit
from orthoglot.decomposers.moments import Moments

LANGUAGES = ["de", "en", "ja", "zh"]
DIM = 12
Texts = Mapping[str, np.ndarray]


def world(seed: int = 0) -> dict[str, np.ndarray]:
    """Vectors (n_k, D) of every language: twice its mean and shape, plus meanings without one."""
    rng = np.random.default_rng(seed)
    centre = rng.normal(size=DIM)
    texts = {}
    for k, name in enumerate(LANGUAGES):
        n = 60 + 7 * k
        own = centre + rng.normal(size=DIM) + 0.3 * rng.normal(size=(n, DIM)) @ rng.normal(size=(DIM, DIM))
        texts[name] = 2 * own + rng.normal(size=(n, DIM))
    return texts


def moments_of(texts: Texts) -> Moments:
    """All moments, gathered in blocks of 17 rows."""
    dim = next(iter(texts.values())).shape[1]
    moments = Moments(dim, list(texts), products=True)
    for name, vectors in texts.items():
        for start in range(0, len(vectors), 17):
            moments.update(vectors[start : start + 17], name)
    return moments


def split(kind: str, weights: Mapping[str, np.ndarray], texts: Texts) -> tuple[Texts, Texts]:
    """Meaning and language vectors by language, in the precision of the input."""
    meaning, language = {}, {}
    for name, vectors in texts.items():
        languages = Languages([name] * len(vectors), None, list(texts))
        form = architecture(kind)
        known = unit(vectors) if isinstance(form, ClosedForm) and form.unit else vectors
        meaning[name], language[name] = form.apply(weights, known, languages)
    return meaning, language


def stacked(texts: Texts) -> np.ndarray:
    """All vectors (N, D), languages in order."""
    return np.concatenate(list(texts.values()))


def labels(texts: Texts) -> np.ndarray:
    """Language ids (N,) in the order of `stacked`."""
    return np.repeat(np.arange(len(texts)), [len(vectors) for vectors in texts.values()])
