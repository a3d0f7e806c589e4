"""Probabilistic linear discriminant analysis of translations, whose cosines keep how much a sentence says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from orthoglot.decomposers.architectures.discriminant import Scatter, unpredicted
from orthoglot.decomposers.base import QUALITY, WORTH, ClosedForm, Languages, Split, Weights
from orthoglot.decomposers.choice import Candidate
from orthoglot.decomposers.moments import Block, Moments, PairMoments
from orthoglot.errors import DataError
from orthoglot.settings import Settings

SHRINKAGES = [0.9, 0.7, 0.5, 0.3, 0.1, 0.03, 0.01]


class PldaSettings(Settings):
    """Settings of PLDA."""

    shrinkage: Annotated[float, Field(ge=0, lt=1)] | None = None
    """Share, below 1, by which PLDA moves the covariance of differences towards a multiple of the identity; chosen by
    cross-validation if it is null."""


def _between(pairs: PairMoments) -> np.ndarray:
    """S_b = (1 - r) M + r (tr M / D) I (D, D), M = sum_k p_k M_k over P pairs of languages.

    M_k is the covariance of the translations of two languages, less the means of both, made symmetric; p_k is their
    share of all translations.

        r = min(1, max(sum_k p_k^2, sum_k p_k^2 |M_k - M|^2 / ((1 - sum_k p_k^2) |M - (tr M / D) I|^2)))

    The second is the variance of M, estimated by how much pairs of languages differ, and so also their text. One pair
    of languages cannot show it: then r is 1. The first keeps r near 1 where one pair of languages has most of the text.
    """
    shared: dict[frozenset[str], np.ndarray] = {}
    counts: dict[frozenset[str], int] = {}
    for pair, n in pairs.counts.items():
        if n:
            both = n * pairs.covariance(pair)
            shared[frozenset(pair)] = shared.get(frozenset(pair), 0) + (both + both.T) / 2
            counts[frozenset(pair)] = counts.get(frozenset(pair), 0) + n
    total = sum(counts.values())
    mean = np.sum([*shared.values()], axis=0) / total
    isotropic = np.trace(mean) / len(mean) * np.eye(len(mean))
    weights = {names: (n / total) ** 2 for names, n in counts.items()}
    least = sum(weights.values())
    apart = sum(weights[names] * np.sum((one / counts[names] - mean) ** 2) for names, one in shared.items())
    distance = (1 - least) * np.sum((mean - isotropic) ** 2)
    r = min(1.0, max(least, apart / distance)) if distance else 1.0
    found: np.ndarray = (1 - r) * mean + r * isotropic
    return found


def fit(moments: Moments, pairs: PairMoments, shrinkage: float) -> dict[str, np.ndarray]:
    """meaning = (c, sqrt(w / (1 + w)) u), u = (x - mean) W U without the direction of the least w, x = e / |e|.

    In the model of S_w' and S_b, differences have variance 1 in the directions W U, and meaning has variance w.
    The constant c is the root mean square length of the other numbers in training. A sentence near the mean says
    little, and its direction is noise. Without c, cosines would count that direction as much as any other.

    quality scales the numbers of a meaning vector for comparing good translations with worse ones. If two sentences
    share t w instead of w, the derivative of their log-likelihood by t at 1 has the mixed term

        sum_d w (w^2 + (1 + w)^2) / (1 + 2 w)^2 u_d u'_d

    of which the cosine is taken. It leaves c out and what the derivative says of each sentence alone.

    The language part is what, among sentences of one language, no linear map predicts from the directions with meaning:

        language = (x - mean) (I - A B),   A = W U less max(1, K - 1) directions,   B = (A^T S A)^+ A^T S

    with S the mean covariance of a language's training vectors. The directions left out are those with the least w, as
    many as K language means can span.

    Args:
        moments, pairs: of unit vectors, with products.
        shrinkage: s in [0, 1).
    Returns:
        mean, offset: (D,); meaning, language: (D, D); meaning = (x - mean) @ meaning + offset, language = (x - mean) @
        language. worth: (D,), w, their sum for c. quality: (D,).
    Raises:
        DataError: no translation, translations have nothing in common, or S_w' has no inverse.
    Source: Ioffe 2006; docs/papers.md#plda.
    """
    scatter = Scatter.of(moments, pairs)
    between = _between(pairs)
    meaning, offset, w = _meaning(scatter, between, shrinkage)
    quality = np.sqrt((w**2 + (1 + w) ** 2) * (1 + w)) / (1 + 2 * w)
    w[0], quality[0] = w[1:].sum(), 0
    return {
        "mean": scatter.mean,
        "meaning": meaning,
        "offset": offset,
        WORTH: w,
        QUALITY: quality,
        "language": unpredicted(scatter, scatter.against(between, shrinkage)[0]),
    }


def _meaning(
    scatter: Scatter, between: np.ndarray, shrinkage: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The map (D, D) and offset (D,) of the meaning part, and w (D,); c is in the column of the least w, the first.

    Raises:
        DataError: translations have nothing in common, or S_w' has no inverse.
    """
    directions, w = scatter.against(between, shrinkage)
    if w[-1] == 0:
        raise DataError("translations are no more alike than other sentences of their languages")
    scale, offset = np.sqrt(w / (1 + w)), np.zeros(len(w))
    scale[0] = 0
    order = np.r_[0, len(w) - 1 : 0 : -1]
    meaning = (directions * scale)[:, order]
    covariance = scatter.squares - np.outer(scatter.mean, scatter.mean)
    offset[0] = np.sqrt(np.sum(meaning * (covariance @ meaning)))
    return meaning, offset, w[order]


def apply(weights: Weights, vectors: np.ndarray, _: Languages) -> Split:
    """Meaning and language of unit vectors (N, D) of any language."""
    apart = vectors - weights["mean"]
    return apart @ weights["meaning"] + weights["offset"], apart @ weights["language"]


def candidates(
    moments: Moments, pairs: PairMoments, blocks: Sequence[Block], _: Mapping[str, Any]
) -> Iterator[Candidate]:
    """Meaning vectors of translations with every shrinkage; none is nearer to the undivided vector than others.

    Args:
        moments, pairs: of the training pairs.
        blocks: translations, of unit vectors.
    """
    scatter, between = Scatter.of(moments, pairs), _between(pairs)
    mean = scatter.mean.astype(np.float32)
    for shrinkage in SHRINKAGES:
        meaning, offset = (array.astype(np.float32) for array in _meaning(scatter, between, shrinkage)[:2])
        vectors = [
            [(side.astype(np.float32) - mean) @ meaning + offset for side in block[:2]] for block in blocks
        ]
        yield Candidate({"shrinkage": shrinkage}, 0, [(source, target) for source, target in vectors])


ARCHITECTURE = ClosedForm(
    fit,
    apply,
    {"mean": "D", "meaning": "D D", "offset": "D", WORTH: "D", QUALITY: "D", "language": "D D"},
    products=True,
    pairs=True,
    pair_products=True,
    settings=PldaSettings,
    candidates=candidates,
    unit=True,
)
