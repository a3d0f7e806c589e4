"""Fisher's discriminant with each translation pair as a class: directions in which translations agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field

from orthoglot.decomposers.base import WORTH, ClosedForm, Languages, Split, Weights
from orthoglot.decomposers.choice import Candidate
from orthoglot.decomposers.moments import Block, Moments, PairMoments
from orthoglot.errors import DataError
from orthoglot.settings import NotNegative, Settings

Centre = Literal["none", "overall"]
# The first of each leaves the vector undivided.
GRID: dict[str, list[Any]] = {
    "shrinkage": [1.0, 0.9, 0.7, 0.5, 0.3, 0.1, 0.03, 0.01],
    "power": [0.0, 0.25, 0.5, 1.0],
    "centre": ["none", "overall"],
}

# What a mixture with a prior takes of it; the first is the prior itself.
SHARES = [1.0, 0.9, 0.7, 0.5, 0.3, 0.1]


class DiscriminantSettings(Settings):
    """Settings of the discriminant; those that are null are chosen by cross-validation."""

    shrinkage: Annotated[float, Field(ge=0, le=1)] | None = None
    """Share by which `discriminant` moves the covariance of differences towards a multiple of the identity."""
    power: NotNegative | None = None
    """How strongly `discriminant` favours directions in which translations agree; 0 not at all."""
    centre: Centre | None = None
    """What `discriminant` subtracts from unit vectors: nothing, or the mean of all training vectors."""


@dataclass
class Scatter:
    """How translations differ and what they share, over N training translations (a, b) of unit vectors.

    S_w = E[(a - b) (a - b)^T] / 2      what differs: language, style, noise
    S_b = E[a b^T + b a^T] / 2 - c c^T  what is shared: meaning; c is the mean of all vectors, or 0

    Attributes:
        mean: of all vectors (D,).
        squares: E[x x^T] (D, D), the mean over languages by their numbers of sentences.
        shared: E[a b^T + b a^T] / 2 (D, D).
        spread: the covariance of the vectors of a language (D, D), the mean over languages likewise.
        pairs: N.
        languages: their codes.
    Source: docs/papers.md#discriminant.
    """

    mean: np.ndarray
    squares: np.ndarray
    shared: np.ndarray
    spread: np.ndarray
    pairs: float
    languages: list[str]

    def __post_init__(self) -> None:
        self.directions = cache(self._directions)

    @cached_property
    def within(self) -> tuple[np.ndarray, np.ndarray]:
        """The eigenvalues (D,) of S_w in rising order, and its eigenvectors (D, D) in columns."""
        sizes, axes = np.linalg.eigh(self.squares - self.shared)
        return sizes, axes

    @classmethod
    def of(cls, moments: Moments, pairs: PairMoments) -> Self:
        """Of moments of unit vectors, with products.

        Raises:
            DataError: no translation.
        """
        means, share = moments.means(), moments.counts / moments.counts.sum()
        squares = np.tensordot(share, moments.squares(), axes=1)
        count = sum(pairs.counts.values())
        shared = np.sum([*pairs.products.values()], axis=0) / count
        spread = squares - (means.T * share) @ means
        return cls(share @ means, squares, (shared + shared.T) / 2, spread, count, moments.languages)

    def mixed(self, prior: Scatter, share: float) -> Scatter:
        """A mixture with other translations, which have this share of it.

        N is the number of translations, all of one weight, whose mean would have the variance of the mixture's:
        1 / (share^2 / N_prior + (1 - share)^2 / N).
        """
        fields = ("mean", "squares", "shared", "spread")
        means = {name: share * getattr(prior, name) + (1 - share) * getattr(self, name) for name in fields}
        pairs = 1 / (share**2 / prior.pairs + (1 - share) ** 2 / self.pairs)
        return Scatter(**means, pairs=pairs, languages=sorted({*self.languages, *prior.languages}))

    def centre(self, name: Centre) -> np.ndarray:
        """What is subtracted from a vector (D,)."""
        return self.mean if name == "overall" else np.zeros_like(self.mean)

    def between(self, centre: Centre) -> np.ndarray:
        """S_b' = (1 - t) S_b + t (tr S_b / D) I (D, D), by the share t with the least expected error.

        t = min(1, ((v^2 + (tr S_b)^2) / 2 - |S_b|^2) / (N |S_b - (tr S_b / D) I|^2)),  v = E|a - c|^2

        The numerator is the variance of a translation's contribution to S_b, with |a - c|^2, |b - c|^2 and the product
        (a - c)(b - c) at their means. Fewer translations than dimensions leave S_b with hardly a direction that it does
        not seem to contradict.

        Source: Ledoit and Wolf, "A well-conditioned estimator for large-dimensional covariance matrices", 2004;
            docs/papers.md#discriminant.
        """
        origin, dim = self.centre(centre), len(self.mean)
        between = self.shared - np.outer(origin, origin)
        trace, variance = np.trace(between), np.trace(self.squares) - origin @ origin
        target = trace / dim * np.eye(dim)
        error = max(0.0, (variance**2 + trace**2) / 2 - np.square(between).sum())
        distance = self.pairs * np.square(between - target).sum()
        share = min(1.0, error / distance) if distance else 1.0
        return (1 - share) * between + share * target

    def _directions(self, shrinkage: float, centre: Centre) -> tuple[np.ndarray, np.ndarray]:
        return self.against(self.between(centre), shrinkage)

    def against(self, between: np.ndarray, shrinkage: float) -> tuple[np.ndarray, np.ndarray]:
        """W U (D, D), and w (D,) in rising order, at least 0, for what is shared (D, D) and the shrunk S_w.

        Raises:
            DataError: the shrunk S_w has no inverse.
        """
        plain, axes = self.within
        dim = len(plain)
        sizes = (1 - shrinkage) * plain + shrinkage * plain.mean()
        # What float32 vectors leave in a direction without variance.
        if sizes[0] <= np.trace(self.squares) * np.finfo(np.float32).eps ** 2:
            raise DataError(
                f"the differences of translations do not fill their {dim} dimensions; more sentences or a "
                "shrinkage above 0 would"
            )
        whiten = axes / np.sqrt(sizes) @ axes.T
        ratio, directions = np.linalg.eigh(whiten @ between @ whiten)
        return whiten @ directions, np.maximum(ratio, 0)


class Prior(NamedTuple):
    """What was learnt from other text: its scatter, and the settings that were chosen there."""

    scatter: Scatter
    settings: Mapping[str, Any]


def fit(
    moments: Moments,
    pairs: PairMoments,
    shrinkage: float,
    power: float,
    centre: Centre,
    prior: Prior | None = None,
    prior_share: float = 0.0,
) -> dict[str, np.ndarray]:
    """The maps of `maps`, of translations or of their mixture with those of a prior (`Scatter.mixed`).

    Args:
        moments, pairs: of unit vectors, with products.
        shrinkage, power, centre: as of `maps`.
        prior: what was learnt from other translations.
        prior_share: of the mixture.
    Raises:
        DataError: as of `maps`, or no translation.
    """
    scatter = Scatter.of(moments, pairs)
    if prior is not None and prior_share:
        scatter = scatter.mixed(prior.scatter, prior_share)
    return maps(scatter, shrinkage, power, centre)


def maps(scatter: Scatter, shrinkage: float, power: float, centre: Centre) -> dict[str, np.ndarray]:
    """meaning = (x - c) W U diag((w / (1 + w))^power), x = e / |e|.

    With S_w of `Scatter` and S_b' of `Scatter.between`,

        W = ((1 - s) S_w + s (tr S_w / D) I)^(-1/2),    W S_b' W = U diag(w) U^T, negative w are taken as 0.

    w is a direction's ratio of meaning to difference, and w / (1 + w) its share of meaning (a Wiener filter). One mean
    for all languages makes their offsets a part of S_w, so that applying it needs no language. Shrinkage 1, power 0
    and no mean leave all cosines as they are. The map's columns are in falling order of w: the first n numbers of a
    meaning vector are those of the n directions with the most meaning. The language part is what, among sentences of
    one language, no linear map predicts from the directions with meaning:

        language = (x - mean) (I - A B),   A = W U less max(1, K - 1) directions,   B = (A^T C A)^+ A^T C

    with C the mean covariance of a language's training vectors and S_b' of centred vectors. The directions left out are
    those with the least w, as many as K language means can span.

    Args:
        scatter: of the translations.
        shrinkage: s in [0, 1]; 1 leaves the metric of the encoder.
        power: of the filter, at least 0; 0 keeps all directions alike.
        centre: c is the mean of all training vectors ("overall") or 0 ("none").
    Returns:
        centre, mean: (D,); meaning, language: (D, D); each part = (x - centre or mean) @ map. worth: (D,), w.
    Raises:
        DataError: S_w has no inverse.
    Source: Fisher 1936; as probabilistic linear discriminant analysis Ioffe, "Probabilistic Linear Discriminant
        Analysis", ECCV 2006; docs/papers.md#discriminant.
    """
    project, ratio = (array[..., ::-1] for array in scatter.directions(shrinkage, centre))
    return {
        "centre": scatter.centre(centre),
        "meaning": project * (ratio / (1 + ratio)) ** power,
        WORTH: ratio,
        "mean": scatter.mean,
        "language": unpredicted(scatter, scatter.directions(shrinkage, "overall")[0]),
    }


def unpredicted(scatter: Scatter, directions: np.ndarray) -> np.ndarray:
    """I - A B (D, D), as `maps` has it, of the directions W U (D, D) in rising order of w."""
    kept = directions[:, max(1, len(scatter.languages) - 1) :]
    weighed = kept.T @ scatter.spread
    # Where vectors vary by less than a millionth of their largest variance, a prediction would amplify rounding.
    inverse = np.linalg.pinv(weighed @ kept, rcond=1e-6, hermitian=True)
    return np.eye(len(scatter.mean)) - kept @ inverse @ weighed


def apply(weights: Weights, vectors: np.ndarray, _: Languages) -> Split:
    """Meaning and language of unit vectors (N, D) of any language."""
    meaning = (vectors - weights["centre"]) @ weights["meaning"]
    return meaning, (vectors - weights["mean"]) @ weights["language"]


def candidates(
    moments: Moments,
    pairs: PairMoments,
    blocks: Sequence[Block],
    given: Mapping[str, Any],
    prior: Prior | None = None,
) -> Iterator[Candidate]:
    """Meaning vectors of translations with every setting of the grid; a given setting has one value.

    The distance from the undivided vector counts steps on the grid, or, with a given setting, from its value. With a
    prior its mixtures come first, with its shrinkage and mean and every power; the distance is that from the prior.

    Args:
        moments, pairs: of the training pairs.
        blocks: translations, of unit vectors.
        given: settings that are not chosen.
        prior: what was learnt from other translations.
    """
    scatter = Scatter.of(moments, pairs)
    grid = {name: [given[name]] if name in given else values for name, values in GRID.items()}
    if prior is None:
        yield from _candidates(scatter, grid, blocks)
        return
    own = {name: [value] for name, value in prior.settings.items()}
    powers = sorted(GRID["power"], key=lambda power: abs(power - prior.settings["power"]))
    for step, share in enumerate(SHARES):
        for one in _candidates(scatter.mixed(prior.scatter, share), {**own, "power": powers}, blocks):
            settings = {**one.settings, "prior_share": share}
            yield one._replace(settings=settings, distance=step + one.distance)
    for one in _candidates(scatter, grid, blocks):
        yield one._replace(distance=len(SHARES) + len(powers) + one.distance)


def _candidates(
    scatter: Scatter, grid: Mapping[str, Sequence[Any]], blocks: Sequence[Block]
) -> Iterator[Candidate]:
    """Those of one scatter, at their distances from the first of the grid."""
    centres = grid["centre"]
    for (i, shrinkage), (k, centre) in product(enumerate(grid["shrinkage"]), enumerate(centres)):
        # Without a mean S_b is no scatter: only the undivided vector is tried so, unless the method asks for it.
        tried = [
            (j, power)
            for j, power in enumerate(grid["power"])
            if centre == "overall" or len(centres) == 1 or (shrinkage, power) == (1, 0)
        ]
        if not tried:
            continue
        project, ratio = scatter.directions(shrinkage, centre)
        origin = scatter.centre(centre)
        sides = [
            [(side - origin).astype(np.float32) @ project.astype(np.float32) for side in block[:2]]
            for block in blocks
        ]
        for j, power in tried:
            scale = ((ratio / (1 + ratio)) ** power).astype(np.float32)
            yield Candidate(
                {"shrinkage": shrinkage, "power": power, "centre": centre},
                i + j + k,
                [(source * scale, target * scale) for source, target in sides],
            )


ARCHITECTURE = ClosedForm(
    fit,
    apply,
    {"centre": "D", "mean": "D", "meaning": "D D", WORTH: "D", "language": "D D"},
    products=True,
    pairs=True,
    pair_products=True,
    settings=DiscriminantSettings,
    candidates=candidates,
    unit=True,
)
