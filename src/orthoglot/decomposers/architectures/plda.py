"""Probabilistic linear discriminant analysis of translations, whose cosines keep how much a sentence says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from pydantic import Field

from orthoglot.decomposers.base import WORTH, Candidate, ClosedForm, Languages, Split, Weights
from orthoglot.decomposers.cross_validation import Block
from orthoglot.decomposers.moments import Moments, PairMoments
from orthoglot.errors import DataError
from orthoglot.settings import Settings

SHRINKAGES = [0.9, 0.7, 0.5, 0.3, 0.1, 0.03, 0.01]
# A prior weighs as much as this number of training pairs (chosen on development sets, docs/ready-model.md).
PRIOR_PAIRS = 3000


class PldaSettings(Settings):
    """Settings of PLDA."""

    shrinkage: Annotated[float, Field(ge=0, lt=1)] | None = None
    """Share, below 1, by which PLDA moves the covariance of differences towards a multiple of the identity; chosen by
    cross-validation if it is null."""


@dataclass
class Scatter:
    """How translations differ and what they share, over N training translations (a, b) of unit vectors.

    Source: docs/papers.md#plda.
    """

    mean: np.ndarray  # of all vectors (D,)
    squares: np.ndarray  # E[x x^T] (D, D), the mean over languages by their numbers of sentences
    within: np.ndarray  # S_w = E[(a - b) (a - b)^T] / 2 (D, D), what differs: language, style, noise
    between: np.ndarray  # M (D, D) of `_shared`, what is shared: meaning
    doubt: float  # r in [0, 1] of `_shared`, how far M may be from that of other text
    spread: np.ndarray  # covariance within a language (D, D), the mean over languages as in `squares`
    pairs: float  # N
    languages: list[str]  # their codes

    @classmethod
    def of(cls, moments: Moments, pairs: PairMoments) -> Self:
        """The scatter that moments of unit vectors, with products, have.

        Raises:
            DataError: There are no translations, or the vectors have one number.
        """
        count, dim = sum(pairs.counts.values()), len(moments.sums[0])
        if not count or dim < 2:
            said = f"vectors of {dim} feature(s)" if count else "0 sample(s) of translations"
            raise DataError(f"{said}: PLDA needs 2 or more")
        means, share = moments.means(), moments.counts / moments.counts.sum()
        squares = np.tensordot(share, moments.squares(), axes=1)
        both = np.zeros((dim, dim))
        for names in pairs.counts:
            both += pairs.product(names)
        both = _symmetric(both) / count
        spread = squares - (means.T * share) @ means
        within = squares - both
        between, doubt = _shared(pairs, both)
        return cls(share @ means, squares, within, between, doubt, spread, count, moments.languages)

    def mixed(self, prior: Scatter) -> Scatter:
        """A mixture with other translations, which weigh as much as 3,000 of these.

        Its doubt is that of the other ones, which is small where they have many pairs of languages: the shared
        covariance of these is drawn towards theirs, and hardly towards a multiple of the identity.
        """
        share = PRIOR_PAIRS / (PRIOR_PAIRS + self.pairs)
        fields = ("mean", "squares", "within", "between", "spread")
        means = {name: share * getattr(prior, name) + (1 - share) * getattr(self, name) for name in fields}
        pairs, languages = self.pairs + prior.pairs, sorted({*self.languages, *prior.languages})
        return Scatter(**means, doubt=prior.doubt, pairs=pairs, languages=languages)

    @cached_property
    def axes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The eigenvalues (D,) of S_w in rising order, its eigenvectors V (D, D) in columns, and V^T S_b' V."""
        sizes, axes = np.linalg.eigh(self.within)
        between = (1 - self.doubt) * self.between + self.doubt * _isotropic(self.between)
        return sizes, axes, axes.T @ between @ axes

    def directions(self, shrinkage: float) -> tuple[np.ndarray, np.ndarray]:
        """W U (D, D), and w (D,) in rising order, at least 0.

        S_w' = (1 - s) S_w + s (tr S_w / D) I,   S_b' = (1 - r) M + r (tr M / D) I,   W = S_w'^(-1/2),

        W S_b' W = U diag(w) U^T: differences have variance 1 in the directions W U, and meaning has variance w. The
        largest number of a direction is positive.

        Raises:
            DataError: S_w' has no inverse, or translations have nothing in common.
        """
        plain, axes, between = self.axes
        dim = len(plain)
        sizes = (1 - shrinkage) * plain + shrinkage * plain.mean()
        # What float32 vectors leave in a direction without variance.
        if sizes[0] <= np.trace(self.squares) * np.finfo(np.float32).eps ** 2:
            raise DataError(
                f"the differences of translations do not fill their {dim} dimensions; more sentences or a "
                "shrinkage above 0 would"
            )
        whiten = 1 / np.sqrt(sizes)  # W in the directions of V
        ratio, turn = np.linalg.eigh(whiten[:, None] * between * whiten)
        if ratio[-1] <= 0:
            raise DataError("translations are no more alike than other sentences of their languages")
        directions = axes @ (whiten[:, None] * turn)
        # Eigenvectors have any sign, on each machine another.
        largest = np.take_along_axis(directions, np.abs(directions).argmax(axis=0)[None], axis=0)
        return directions * np.sign(largest), np.maximum(ratio, 0)


def _isotropic(matrix: np.ndarray) -> np.ndarray:
    """(tr A / D) I."""
    return np.trace(matrix) / len(matrix) * np.eye(len(matrix))


def _shared(pairs: PairMoments, both: np.ndarray) -> tuple[np.ndarray, float]:
    """M = sum_k p_k M_k (D, D) over the pairs of languages, and r.

    M_k is the covariance of the translations of two languages, less the means of both, made symmetric; p_k is their
    share of all translations. `both` is E[a b^T], made symmetric.

        r = min(1, max(sum_k p_k^2, sum_k p_k^2 |M_k - M|^2 / ((1 - sum_k p_k^2) |M - (tr M / D) I|^2)))

    The second is the variance of M, estimated by how much pairs of languages differ, and so also their text. One pair
    of languages cannot show it: then r is 1. The first keeps r near 1 where one pair of languages has most of the text.
    """
    counts = {names: n for names, n in pairs.counts.items() if n}
    total = sum(counts.values())
    first, second = np.stack([pairs.sums[names] / np.sqrt(n) for names, n in counts.items()], axis=1)
    mean = both - _symmetric(first.T @ second) / total
    least = sum((n / total) ** 2 for n in counts.values())
    apart = sum(
        (n / total) ** 2 * np.sum((_symmetric(pairs.covariance(names)) - mean) ** 2)
        for names, n in counts.items()
    )
    distance = (1 - least) * np.sum((mean - _isotropic(mean)) ** 2)
    return mean, min(1.0, max(least, apart / distance)) if distance else 1.0


def _symmetric(matrix: np.ndarray) -> np.ndarray:
    """(A + A^T) / 2."""
    return (matrix + matrix.T) / 2


class Prior(NamedTuple):
    """What was learnt from other text: its scatter, and the settings that were chosen there."""

    scatter: Scatter
    settings: Mapping[str, Any]


def fit(
    moments: Moments, pairs: PairMoments, shrinkage: float, prior: Prior | None = None
) -> dict[str, np.ndarray]:
    """The maps of `maps`, of translations or of their mixture with those of a prior (`Scatter.mixed`).

    Moments and pairs are of unit vectors, with products. A single translation without a prior is a DataError; other
    errors are those of `Scatter.of` and `maps`.
    """
    scatter = Scatter.of(moments, pairs)
    if prior is None and sum(pairs.counts.values()) < 2:
        raise DataError("1 sample(s) of translations: PLDA needs 2 or more")
    return maps(scatter if prior is None else scatter.mixed(prior.scatter), shrinkage)


def maps(scatter: Scatter, shrinkage: float) -> dict[str, np.ndarray]:
    """meaning = (c, sqrt(w / (1 + w)) u), u = (x - mean) W U without the direction of the least w, x = e / |e|.

    The constant c is the root mean square length of the other numbers in training. A sentence near the mean says
    little, and its direction is noise. Without c, cosines would count that direction as much as any other. The numbers
    are in falling order of w: the first n are c and those of the n - 1 directions with the most meaning.

    The language part is what, among sentences of one language, no linear map predicts from the directions with meaning:

        language = (x - mean) (I - A B),   A = W U less max(1, K - 1) directions,   B = (A^T C A)^+ A^T C

    with C the mean covariance of a language's training vectors. The directions left out are those with the least w, as
    many as K language means can span.

    Returns:
        mean, offset: (D,); meaning, language: (D, D); meaning = (x - mean) @ meaning + offset, language = (x - mean) @
        language. worth: (D,), w, their sum for c.
    Raises:
        DataError: As `Scatter.directions`.
    Source: Ioffe 2006; docs/papers.md#plda.
    """
    directions, w = scatter.directions(shrinkage)
    meaning, offset, worth = _meaning(scatter, directions, w)
    # Those with the least w are left out.
    chosen = directions[:, max(1, len(scatter.languages) - 1) :]
    weighed = chosen.T @ scatter.spread
    # Where vectors vary by less than a millionth of their largest variance, a prediction would amplify rounding.
    inverse = np.linalg.pinv(weighed @ chosen, rcond=1e-6, hermitian=True)
    language = np.eye(len(scatter.mean)) - chosen @ inverse @ weighed
    return {"mean": scatter.mean, "meaning": meaning, "offset": offset, WORTH: worth, "language": language}


def _meaning(
    scatter: Scatter, directions: np.ndarray, w: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The map (D, D), offset (D,) and worth (D,) of the meaning part; c is in the column of the least w, the first."""
    scale, offset = np.sqrt(w / (1 + w)), np.zeros(len(w))
    scale[0] = 0
    order = np.r_[0, len(w) - 1 : 0 : -1]
    meaning = (directions * scale)[:, order]
    covariance = scatter.squares - np.outer(scatter.mean, scatter.mean)
    offset[0] = np.sqrt(np.sum(meaning * (covariance @ meaning)))
    worth = w[order]
    worth[0] = w[1:].sum()
    return meaning, offset, worth


def first(weights: Weights, dim: int) -> dict[str, np.ndarray]:
    """The weights of `maps` whose meaning part has its first numbers alone, `dim` of them: those of most worth."""
    cut = {name: weights[name][..., :dim] for name in ("meaning", "offset", WORTH)}
    return {**weights, **cut}


def apply(weights: Weights, vectors: np.ndarray, _: Languages) -> Split:
    """Meaning (N, M) and language (N, D) of unit vectors (N, D) of any language."""
    apart = vectors - weights["mean"]
    return apart @ weights["meaning"] + weights["offset"], apart @ weights["language"]


def candidates(moments: Moments, pairs: PairMoments, blocks: Sequence[Block]) -> Iterator[Candidate]:
    """Meaning vectors of translations, of unit vectors, with every shrinkage."""
    scatter = Scatter.of(moments, pairs)
    mean = scatter.mean.astype(np.float32)

    def vectors(shrinkage: float) -> list[tuple[np.ndarray, np.ndarray]]:
        meaning, offset, _ = _meaning(scatter, *scatter.directions(shrinkage))
        weights = meaning.astype(np.float32), offset.astype(np.float32)
        return [
            (_mapped(source, mean, *weights), _mapped(target, mean, *weights)) for source, target, _ in blocks
        ]

    for shrinkage in SHRINKAGES:
        yield Candidate({"shrinkage": shrinkage}, partial(vectors, shrinkage))


def _mapped(vectors: np.ndarray, mean: np.ndarray, meaning: np.ndarray, offset: np.ndarray) -> np.ndarray:
    return (vectors.astype(np.float32) - mean) @ meaning + offset


ARCHITECTURE = ClosedForm(
    fit,
    apply,
    # M is D unless `first` has cut the meaning part.
    {"mean": "D", "meaning": "D M", "offset": "M", WORTH: "M", "language": "D D"},
    products=True,
    pairs=True,
    pair_products=True,
    settings=PldaSettings,
    candidates=candidates,
    unit=True,
)
