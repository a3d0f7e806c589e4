"""The discriminant of vectors whose languages have been turned towards each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from orthoglot.decomposers.architectures import discriminant
from orthoglot.decomposers.architectures.procrustes import turns
from orthoglot.decomposers.base import WORTH, ClosedForm, Languages, Split, Weights
from orthoglot.decomposers.choice import Candidate
from orthoglot.decomposers.moments import Block, Moments, PairMoments

Centre = Literal["none", "language"]
TURNS = [0.0, 0.5, 0.75, 0.9, 1.0]
UNDIVIDED = {"turn": 0.0, "shrinkage": 1.0, "power": 0.0, "centre": "none"}


class TurnedDiscriminantSettings(discriminant.ShapeSettings):
    """Those of both discriminants, the turn and the mean."""

    turn: Annotated[float, Field(ge=0, le=1)] | None = None
    """How far `turned_discriminant` turns each language towards the pivot: 0 not at all, 1 as `procrustes` does."""
    centre: Centre | None = None
    """What `turned_discriminant` subtracts from unit vectors: nothing, or the mean of the language."""


def fit(
    moments: Moments, pairs: PairMoments, turn: float, shrinkage: float, power: float, centre: Centre
) -> dict[str, np.ndarray]:
    """meaning = z W U diag((w / (1 + w))^power), z = (x - c) R, x = e / |e|.

    c is the mean of the sentence's language, or 0, and R its rotation (`turns` of `procrustes`, its own translations
    counting `turn`). W, U and w are those of `maps` of `discriminant` for the vectors z. The language part is what the
    directions with meaning do not predict, turned back, and the language's mean:

        language = c - mean + (z - E z) (I - A B) R^T

    Args:
        moments, pairs: of unit vectors, with products.
        turn: in [0, 1]; 0 turns no language, 1 turns each as Procrustes does.
        shrinkage, power: as of the discriminant.
        centre: c is the mean of the language ("language") or 0 ("none").
    Returns:
        means, offsets: (K, D), c and c - mean; turns: (K, D, D); mean, worth: (D,), E z and w; meaning, language:
        (D, D).
    Raises:
        DataError: as of the discriminant and of `turns`.
    Source: docs/papers.md#turned-discriminant.
    """
    means, rotations = _means(moments, centre), turns(moments.languages, pairs, turn)
    turned = _turned(moments, pairs, means, rotations)
    found = discriminant.fit(*turned, shrinkage, power, "none")
    share = moments.counts / moments.counts.sum()
    return {
        "means": means,
        "offsets": means - share @ means,
        "turns": rotations,
        "mean": found["mean"],
        "meaning": found["meaning"],
        WORTH: found[WORTH],
        "language": found["language"],
    }


def apply(weights: Weights, vectors: np.ndarray, languages: Languages) -> Split:
    """Meaning and language of unit vectors (N, D)."""
    meaning, language = np.empty_like(vectors), np.empty_like(vectors)
    for k in np.unique(languages.rows):
        own, turn = languages.rows == k, weights["turns"][k]
        turned = (vectors[own] - weights["means"][k]) @ turn
        meaning[own] = turned @ weights["meaning"]
        language[own] = weights["offsets"][k] + (turned - weights["mean"]) @ weights["language"] @ turn.T
    return meaning, language


def candidates(
    moments: Moments, pairs: PairMoments, blocks: Sequence[Block], given: Mapping[str, Any]
) -> Iterator[Candidate]:
    """The undivided vector, and the discriminant's candidates with language means and each rotation of the grid.

    A given setting has one value; with a given mean, both kinds of candidates have it. The distance from the undivided
    vector adds the steps on the grid.

    Args:
        moments, pairs: of the training pairs.
        blocks: translations, of unit vectors.
        given: settings that are not chosen.
    """
    if not given:
        yield Candidate(UNDIVIDED, 0, [(source, target) for source, target, _ in blocks])
    inner = {name: given[name] for name in ("shrinkage", "power") if name in given}
    centre = given.get("centre", "language")
    means = _means(moments, centre)
    for step, turn in enumerate([given["turn"]] if "turn" in given else TURNS):
        rotations = turns(moments.languages, pairs, turn)
        maps = dict(zip(moments.languages, zip(means, rotations, strict=True), strict=True))
        moved = [
            ((source - maps[a][0]) @ maps[a][1], (target - maps[b][0]) @ maps[b][1], (a, b))
            for source, target, (a, b) in blocks
        ]
        turned = _turned(moments, pairs, means, rotations)
        for one in discriminant.candidates(*turned, moved, {**inner, "centre": "none"}):
            settings = {"turn": turn, **one.settings, "centre": centre}
            yield Candidate(settings, one.distance + step + 1, one.vectors)


def _means(moments: Moments, centre: Centre) -> np.ndarray:
    """What is subtracted from the vectors of each language (K, D)."""
    return moments.means() if centre == "language" else np.zeros_like(moments.sums)


def _turned(
    moments: Moments, pairs: PairMoments, means: np.ndarray, rotations: np.ndarray
) -> tuple[Moments, PairMoments]:
    """The moments of (x - mean of its language) @ rotation of its language, from those of x."""
    found = Moments(pairs.dim, moments.languages, products=True)
    found.counts = moments.counts
    centred = moments.sums - moments.counts[:, None] * means
    found.sums = np.einsum("kd,kde->ke", centred, rotations)
    assert moments.products is not None
    cross = np.einsum("kd,ke->kde", moments.sums, means)
    squares = moments.products - cross - cross.transpose(0, 2, 1)
    squares += moments.counts[:, None, None] * np.einsum("kd,ke->kde", means, means)
    found.products = rotations.transpose(0, 2, 1) @ squares @ rotations
    both = PairMoments(pairs.dim, products=True)
    both.counts = pairs.counts
    place = {language: k for k, language in enumerate(moments.languages)}
    for pair, n in pairs.counts.items():
        (a, b), sums = (place[language] for language in pair), pairs.sums[pair]
        products = pairs.products[pair] - np.outer(sums[0], means[b]) - np.outer(means[a], sums[1])
        products += n * np.outer(means[a], means[b])
        both.products[pair] = rotations[a].T @ products @ rotations[b]
        both.sums[pair] = np.stack(
            [(sums[0] - n * means[a]) @ rotations[a], (sums[1] - n * means[b]) @ rotations[b]]
        )
    return found, both


ARCHITECTURE = ClosedForm(
    fit,
    apply,
    {
        **{"means": "K D", "offsets": "K D", "turns": "K D D"},
        **{"mean": "D", "meaning": "D D", WORTH: "D", "language": "D D"},
    },
    products=True,
    pairs=True,
    pair_products=True,
    settings=TurnedDiscriminantSettings,
    candidates=candidates,
    unit=True,
    by_language=True,
)
