"""Sums over the training vectors, in one pass and in float64, that closed forms are computed of.

The order and size of the updates change nothing beyond float64 rounding.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from typing import Self

import numpy as np

from orthoglot.decomposers.cross_validation import Block
from orthoglot.errors import DataError


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
        self._products: dict[tuple[str, str], np.ndarray] = {}  # (D, D), sums of e_first e_second^T
        self._held: dict[tuple[str, str], tuple[np.ndarray, np.ndarray]] = {}  # see `without`

    def update(self, source: np.ndarray, target: np.ndarray, pair: tuple[str, str]) -> None:
        """Add translations: row i of `source` (n, D) and row i of `target` (n, D) mean the same."""
        first, second = (finite(rows, name) for rows, name in zip((source, target), pair, strict=True))
        if pair not in self.counts:
            self.counts[pair] = 0
            self.sums[pair] = np.zeros((2, self.dim))
            if self.wanted:
                self._products[pair] = np.zeros((self.dim, self.dim))
        self.counts[pair] += len(first)
        self.sums[pair] += (first.sum(axis=0), second.sum(axis=0))
        if self.wanted:
            self._products[pair] += first.T @ second

    def without(self, blocks: Iterable[Block]) -> Self:
        """The moments of the other translations; those of these blocks, one of each pair of languages, are left out.

        They share the products with these moments, as K languages have up to K^2 / 2 products of D^2 numbers.
        """
        other = copy(self)
        other.counts, other.sums, other._held = dict(self.counts), dict(self.sums), {}
        for source, target, pair in blocks:
            if pair not in self.counts:  # a form that does not look at pairs
                continue
            first, second = (finite(rows, name) for rows, name in zip((source, target), pair, strict=True))
            other.counts[pair] -= len(first)
            other.sums[pair] = self.sums[pair] - (first.sum(axis=0), second.sum(axis=0))
            other._held[pair] = first, second
        return other

    def product(self, pair: tuple[str, str]) -> np.ndarray:
        """Sum of e_first e_second^T over the pair's translations (D, D)."""
        product = self._products[pair]
        if pair in self._held:
            first, second = self._held[pair]
            product = product - first.T @ second
        return product

    def covariance(self, pair: tuple[str, str]) -> np.ndarray:
        """Mean of (e_first - its mean) (e_second - its mean)^T over the pair's translations (D, D)."""
        n, (first, second) = self.counts[pair], self.sums[pair]
        return self.product(pair) / n - np.outer(first / n, second / n)


def finite(vectors: np.ndarray, language: str) -> np.ndarray:
    """The vectors in float64; a DataError if one of them is not finite."""
    exact = np.asarray(vectors, dtype=np.float64)
    if not np.isfinite(exact).all():
        raise DataError(f"a training vector of {language} holds a number that is not finite")
    return exact
