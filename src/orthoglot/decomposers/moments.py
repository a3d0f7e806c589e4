"""Closed forms: sums over the training vectors, in one pass and in float64, and the weights from them.

The order and size of the updates change nothing beyond float64 rounding.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from orthoglot.decomposers.base import ClosedForm, Languages, unit
from orthoglot.decomposers.cross_validation import PAIRS, Block, Candidate, choose, undivided
from orthoglot.errors import DataError

if TYPE_CHECKING:
    from orthoglot.decomposers.architectures.plda import Prior

WORSE = (
    0.01  # nats by which the loss of held-out pairs may exceed that of the undivided vector without a warning
)
logger = logging.getLogger(__name__)


def compute(
    form: ClosedForm,
    blocks: Iterable[Block],
    languages: Sequence[str],
    dim: int,
    settings: Mapping[str, Any],
    prior: Prior | None = None,
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The weights of a closed form, float32, and its settings.

    Args:
        form: Its `fit` gives formula and shapes.
        blocks: All training translations, each once, in any order. Settings are chosen with the first 500 pairs of the
            first block of each pair of languages.
        languages: K names, those of the blocks.
        dim: D.
        settings: Those of the form that are given, by name; the prior has those that are missing, or the form chooses.
        prior: What the form has learnt from other text, for a form that can start from it; None for nothing.
    Returns:
        Weights by name; settings, and `validation`: the loss of pairs that nothing was fitted to, which chose the
            settings if some were missing. It is absent with a prior, or with fewer than 10 pairs of two languages.
    Raises:
        DataError: A vector is not finite, a language has no sentence, the formula has no solution, the prior has
            another dimension, or there are too few pairs to choose settings with.
    """
    moments, pairs, compared = gather(form, blocks, languages, dim)
    facts: dict[str, Any] = {}
    if prior is not None:
        if len(prior.scatter.mean) != dim:
            raise DataError(f"a prior of {len(prior.scatter.mean)} dimensions for vectors of {dim}")
        settings = {**prior.settings, **settings}
        facts["prior_pairs"] = prior.scatter.pairs
    elif (candidates := form.candidates) and (missing := form.settings.model_fields.keys() - settings.keys()):

        def chosen_without(held: Sequence[Block]) -> Iterator[Candidate]:
            return candidates(moments.without(held), pairs.without(held), compared)

        settings, facts["validation"] = choose(chosen_without, compared, ", ".join(sorted(missing)))
    elif compared:

        def given_without(held: Sequence[Block]) -> Iterator[Candidate]:
            weights = _fitted(form, moments.without(held), pairs.without(held), settings)
            yield Candidate({}, [_meanings(form, weights, block, languages) for block in compared])

        # Where there are too few pairs to hold some out, nothing is known.
        with suppress(DataError):
            facts["validation"] = choose(given_without, compared)[1]
    if "validation" in facts and facts["validation"] > (loss := undivided(compared)) + WORSE:
        logger.warning(
            "pairs that nothing was fitted to are found less well than by the undivided vector (loss %.4f, %.4f): take "
            "another method, or more pairs",
            facts["validation"],
            loss,
        )
    weights = _fitted(form, moments, pairs, settings if prior is None else {**settings, "prior": prior})
    moments.means()  # refuses a language without sentences, whatever the form looks at
    return {name: array.astype(np.float32) for name, array in weights.items()}, {**settings, **facts}


def _fitted(
    form: ClosedForm, moments: Moments, pairs: PairMoments, settings: Mapping[str, Any]
) -> dict[str, np.ndarray]:
    return form.fit(moments, pairs, **settings) if form.pairs else form.fit(moments, **settings)


def _meanings(
    form: ClosedForm, weights: dict[str, np.ndarray], block: Block, languages: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    source, target, (first, second) = block
    return (
        form.apply(weights, source, Languages([first] * len(source), second, languages))[0],
        form.apply(weights, target, Languages([second] * len(target), first, languages))[0],
    )


def gather(
    form: ClosedForm, blocks: Iterable[Block], languages: Sequence[str], dim: int
) -> tuple[Moments, PairMoments, list[Block]]:
    """The sums that `compute` computes a closed form of, and the translations that its settings are chosen with.

    Translations from one language to another and back are of one pair, in the order that came first. A vector that is
    not finite is a DataError.
    """
    moments = Moments(dim, languages, products=form.products)
    pairs = PairMoments(dim, products=form.pair_products)
    samples: dict[tuple[str, str], Block] = {}
    for source, target, pair in blocks:
        if (turned := (pair[1], pair[0])) in pairs.counts:
            source, target, pair = target, source, turned
        if form.unit:
            source, target = unit(finite(source, pair[0])), unit(finite(target, pair[1]))
        moments.update(source, pair[0])
        moments.update(target, pair[1])
        if form.pairs:
            pairs.update(source, target, pair)
        samples.setdefault(pair, (source[:PAIRS], target[:PAIRS], pair))
    return moments, pairs, [*samples.values()]


class Moments:
    """Count, sum and, if asked for, sum of outer products of the vectors of each language.

    Source: docs/papers.md#closed-forms.
    """

    def __init__(self, dim: int, languages: Sequence[str], *, products: bool) -> None:
        self.languages = list(languages)  # K names
        k = len(self.languages)
        self.counts = np.zeros(k)  # of vectors
        self.sums = np.zeros((k, dim))
        self.products = np.zeros((k, dim, dim)) if products else None  # sums of e e^T

    def update(self, vectors: np.ndarray, language: str) -> None:
        """Add vectors (n, D) of one of the languages; a number that is not finite is a DataError."""
        exact = finite(vectors, language)
        k = self.languages.index(language)
        self.counts[k] += len(exact)
        self.sums[k] += exact.sum(axis=0)
        if self.products is not None:
            self.products[k] += exact.T @ exact

    def without(self, blocks: Iterable[Block]) -> Self:
        """The moments of the other vectors; those of these blocks have been added before."""
        other = type(self)(len(self.sums[0]), self.languages, products=self.products is not None)
        for source, target, (first, second) in blocks:
            other.update(source, first)
            other.update(target, second)
        other.counts, other.sums = self.counts - other.counts, self.sums - other.sums
        if self.products is not None and other.products is not None:
            other.products = self.products - other.products
        return other

    def means(self) -> np.ndarray:
        """Mean vector of each language (K, D); a language without sentences is a DataError."""
        empty = [name for name, n in zip(self.languages, self.counts, strict=True) if n == 0]
        if empty:
            raise DataError(f"no training sentence in {', '.join(empty)}")
        return self.sums / self.counts[:, None]

    def squares(self) -> np.ndarray:
        """Mean of e e^T of each language (K, D, D)."""
        self.means()  # refuses an empty language
        assert self.products is not None
        return self.products / self.counts[:, None, None]


class PairMoments:
    """Counts, sums and, if asked for, sums of outer products of translations, by ordered pair of languages."""

    def __init__(self, dim: int, *, products: bool) -> None:
        self.dim, self.wanted = dim, products
        self.counts: dict[tuple[str, str], int] = {}  # of sentence pairs
        self.sums: dict[tuple[str, str], np.ndarray] = {}  # (2, D), of the first and of the second language
        self.products: dict[tuple[str, str], np.ndarray] = {}  # (D, D), sums of e_first e_second^T

    def update(self, source: np.ndarray, target: np.ndarray, pair: tuple[str, str]) -> None:
        """Add translations: row i of `source` (n, D) and row i of `target` (n, D) mean the same."""
        first, second = (finite(rows, name) for rows, name in zip((source, target), pair, strict=True))
        if pair not in self.counts:
            self.counts[pair] = 0
            self.sums[pair] = np.zeros((2, self.dim))
            if self.wanted:
                self.products[pair] = np.zeros((self.dim, self.dim))
        self.counts[pair] += len(first)
        self.sums[pair] += (first.sum(axis=0), second.sum(axis=0))
        if self.wanted:
            self.products[pair] += first.T @ second

    def without(self, blocks: Iterable[Block]) -> Self:
        """The moments of the other translations; those of these blocks have been added before."""
        other = type(self)(self.dim, products=self.wanted)
        for block in blocks:
            other.update(*block)
        counts, sums, products = other.counts, other.sums, other.products
        other.counts = {pair: n - counts.get(pair, 0) for pair, n in self.counts.items()}
        other.sums = {pair: rows - sums.get(pair, 0) for pair, rows in self.sums.items()}
        other.products = {pair: rows - products.get(pair, 0) for pair, rows in self.products.items()}
        return other

    def covariance(self, pair: tuple[str, str]) -> np.ndarray:
        """Mean of (e_first - its mean) (e_second - its mean)^T over the pair's translations (D, D)."""
        n, (first, second) = self.counts[pair], self.sums[pair]
        return self.products[pair] / n - np.outer(first / n, second / n)


def finite(vectors: np.ndarray, language: str) -> np.ndarray:
    """The vectors in float64; a DataError if one of them is not finite."""
    exact = np.asarray(vectors, dtype=np.float64)
    if not np.isfinite(exact).all():
        raise DataError(f"a training vector of {language} holds a number that is not finite")
    return exact
