"""The discriminant as docs/papers.md#discriminant defines it, sentence by sentence.

Nothing here is taken from the implementation: who reads the page alone gets the same numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from orthoglot.decomposers.architectures import discriminant
from orthoglot.decomposers.base import Languages
from orthoglot.decomposers.moments import Block, Moments, PairMoments

DIM = 10
LANGUAGES = ["ar", "de", "en", "zh"]
# Chinese has no translation into English, the language with the most pairs.
PAIRS = {("en", "de"): 400, ("en", "ar"): 150, ("de", "zh"): 90, ("ar", "zh"): 60}


def blocks() -> list[Block]:
    """Unit vectors: every language with its own mean and directions, every language pair with its own topic."""
    rng = np.random.default_rng(4)
    own = {
        name: (0.4 * rng.normal(size=DIM), np.eye(DIM) + 0.2 * rng.normal(size=(DIM, DIM)))
        for name in LANGUAGES
    }
    found = []
    for pair, n in PAIRS.items():
        meaning = rng.normal(size=(n, DIM)) * np.linspace(0.1, 1, DIM) + 0.5 * rng.normal(size=DIM)
        sides = [(meaning + 0.4 * rng.normal(size=(n, DIM))) @ own[name][1] + own[name][0] for name in pair]
        sides = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in sides]
        found.append((sides[0], sides[1], pair))
    return found


class Text(NamedTuple):
    """All training pairs (N, D) and the language of each side."""

    a: np.ndarray
    b: np.ndarray
    of_a: np.ndarray
    of_b: np.ndarray

    @property
    def vectors(self) -> np.ndarray:
        return np.concatenate([self.a, self.b])

    @property
    def languages(self) -> np.ndarray:
        return np.concatenate([self.of_a, self.of_b])


def text() -> Text:
    sides = [*zip(*blocks(), strict=True)]
    names = [np.concatenate([[pair[side]] * PAIRS[pair] for pair in sides[2]]) for side in (0, 1)]
    return Text(np.concatenate(sides[0]), np.concatenate(sides[1]), names[0], names[1])


def implementation() -> tuple[Moments, PairMoments]:
    moments, pairs = Moments(DIM, LANGUAGES, products=True), PairMoments(DIM, products=True)
    for a, b, pair in blocks():
        moments.update(a, pair[0])
        moments.update(b, pair[1])
        pairs.update(a, b, pair)
    return moments, pairs


def power_of(matrix: np.ndarray, exponent: float) -> np.ndarray:
    sizes, axes = np.linalg.eigh(matrix)
    return axes * sizes**exponent @ axes.T


class Maps(NamedTuple):
    """m = meaning @ (x - centre), l = language @ (x - mean)."""

    meaning: np.ndarray
    centre: np.ndarray
    language: np.ndarray
    mean: np.ndarray
    worth: np.ndarray


def by_the_page(given: Text, s: float, p: float, *, centred: bool) -> Maps:
    n = len(given.a)
    mean = given.vectors.mean(axis=0)
    within = sum(np.outer(x - y, x - y) for x, y in zip(given.a, given.b, strict=True)) / (2 * n)
    both = sum(np.outer(x, y) + np.outer(y, x) for x, y in zip(given.a, given.b, strict=True)) / (2 * n)
    w_map = power_of((1 - s) * within + s * np.trace(within) / DIM * np.eye(DIM), -0.5)

    def between(c: np.ndarray) -> np.ndarray:
        shared = both - np.outer(c, c)
        v = np.mean([np.dot(x - c, x - c) for x in given.vectors])
        trace = np.trace(shared)
        target = trace / DIM * np.eye(DIM)
        numerator = (v**2 + trace**2) / 2 - np.sum(shared**2)
        r = min(1, max(0, numerator) / (n * np.sum((shared - target) ** 2)))
        assert 0.001 < r < 0.5
        return (1 - r) * shared + r * target

    c = mean if centred else np.zeros(DIM)
    w, u = np.linalg.eigh(w_map @ between(c) @ w_map)
    falling = np.argsort(-w)
    w, u = np.maximum(w[falling], 0), u[:, falling]
    meaning = np.diag((w / (1 + w)) ** p) @ u.T @ w_map

    ratio, u = np.linalg.eigh(w_map @ between(mean) @ w_map)
    names = np.unique(given.languages)
    dropped = max(1, len(names) - 1)
    directions = (w_map @ u)[:, np.argsort(ratio)[dropped:]]
    covariance = np.zeros((DIM, DIM))
    for name in names:
        of_language = given.vectors[given.languages == name]
        apart = of_language - of_language.mean(axis=0)
        covariance += apart.T @ apart / (2 * n)
    b = np.linalg.pinv(directions.T @ covariance @ directions, rcond=1e-6) @ directions.T @ covariance
    return Maps(meaning, c, np.eye(DIM) - b.T @ directions.T, mean, w)


@pytest.mark.parametrize("centre", ["overall", "none"])
@pytest.mark.parametrize(("s", "p"), [(0.0, 1.0), (0.5, 0.25), (0.9, 0.0)])
def test_the_discriminant(s: float, p: float, centre: discriminant.Centre) -> None:
    given, weights = text(), discriminant.fit(*implementation(), s, p, centre)
    x = given.vectors
    meaning, language = discriminant.apply(weights, x, Languages([], None, LANGUAGES))
    page = by_the_page(given, s, p, centred=centre == "overall")
    expected = (x - page.centre) @ page.meaning.T
    # Each number of the meaning part may have the other sign.
    np.testing.assert_allclose(np.abs(meaning), np.abs(expected), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(weights["worth"], page.worth, rtol=1e-6)
    np.testing.assert_allclose(language, (x - page.mean) @ page.language.T, rtol=1e-6, atol=1e-6)


SHRINKAGES, POWERS = (1, 0.9, 0.7, 0.5, 0.3, 0.1, 0.03, 0.01), (0, 0.25, 0.5, 1)


def test_the_steps_from_the_undivided_vector() -> None:
    expected = {("none", 1, 0): 0} | {
        ("overall", s, p): i + j + 1 for i, s in enumerate(SHRINKAGES) for j, p in enumerate(POWERS)
    }
    found = discriminant.candidates(*implementation(), blocks(), {})
    steps = {
        tuple(one.settings[name] for name in ("centre", "shrinkage", "power")): one.distance for one in found
    }
    assert steps == expected
