"""The cheapest alignment, against an independent search over all alignments."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orthoglot.apply.align import Link, Texts, align, distances, texts
from orthoglot.decomposers.base import unit


def drawn(rng: np.random.Generator, n: int, sizes: int) -> list[np.ndarray]:
    """Vectors of n sentences and of their joined neighbours, all by chance."""
    return [unit(rng.normal(size=(max(n - a, 0), 3)).astype(np.float32).reshape(-1, 3)) for a in range(sizes)]


def document(seed: int, n: int, m: int, sizes: int) -> tuple[Texts, Texts]:
    rng = np.random.default_rng(seed)
    x, y = drawn(rng, n, sizes), drawn(rng, m, sizes)
    return texts(x, y[0]), texts(y, x[0])


def alignments(n: int, m: int, sizes: int, i: int = 0, j: int = 0) -> Iterator[list[Link]]:
    """All alignments of two documents, written down without dynamic programming."""
    if i == n or j == m:
        yield []
        return
    for a in range(1, sizes + 1):
        for b in range(1, sizes + 2 - a):
            # The next link is a-b and starts after any number of sentences left out on each side.
            for source in range(i, n - a + 1):
                for target in range(j, m - b + 1):
                    for rest in alignments(n, m, sizes, source + a, target + b):
                        yield [Link(source, target, a, b), *rest]
    yield []


def cost(links: list[Link], x: Texts, y: Texts, skip: float) -> float:
    total = skip * (len(x.vectors[0]) + len(y.vectors[0]))
    for source, target, a, b in links:
        cosine = float(np.dot(x.vectors[a - 1][source], y.vectors[b - 1][target]))
        near = (x.far[a - 1][source] + y.far[b - 1][target]) / 2
        total += a * b * (1 - cosine) / near - skip * (a + b)
    return total


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("n", "m", "sizes"), [(4, 4, 2), (1, 4, 2), (4, 2, 3), (3, 4, 1), (1, 1, 2)])
def test_no_other_alignment_costs_less(seed: int, n: int, m: int, sizes: int) -> None:
    x, y = document(seed, n, m, sizes)
    skip = 0.1 + 0.05 * seed
    every = [cost(links, x, y, skip) for links in alignments(n, m, sizes)]
    found = align(x, y, skip)
    assert cost(found, x, y, skip) == pytest.approx(min(every), abs=1e-5)


def test_the_distance_of_a_mean_is_the_mean_distance() -> None:
    x, y = document(3, 5, 4, 2)
    for a in (1, 2):
        np.testing.assert_allclose(
            x.far[a - 1], (1 - x.vectors[a - 1] @ y.vectors[0].T).mean(axis=1), atol=1e-6
        )
    expected = 1 - x.vectors[1][1:3] @ y.vectors[0][1:].T
    expected /= (x.far[1][1:3, None] + y.far[0][1:]) / 2
    np.testing.assert_allclose(distances(x, y, 2, 1, slice(1, 3), slice(1, None)), expected, atol=1e-6)


def known(kept: list[tuple[int, ...]], n: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """n orthogonal sentences, and a side that consists of the joined sentences `kept`."""
    vectors = np.eye(n, dtype=np.float32)
    other = np.array([vectors[list(one)].sum(axis=0) for one in kept])
    return tuple([unit(side), unit(side[:-1] + side[1:])] for side in (vectors, other))  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        ([(0,), (1,), (2,), (3,)], [(0, 0, 1, 1), (1, 1, 1, 1), (2, 2, 1, 1), (3, 3, 1, 1)]),
        ([(0,), (1, 2), (3,)], [(0, 0, 1, 1), (1, 1, 2, 1), (3, 2, 1, 1)]),
        ([(0,), (3,)], [(0, 0, 1, 1), (3, 1, 1, 1)]),
        ([(1,), (2,)], [(1, 0, 1, 1), (2, 1, 1, 1)]),
    ],
)
def test_joined_and_missing_sentences_are_found(
    kept: list[tuple[int, ...]], expected: list[tuple[int, ...]]
) -> None:
    x, y = known(kept, 4)
    assert align(texts(x, y[0]), texts(y, x[0]), 0.4) == expected
    turned = [(j, i, b, a) for i, j, a, b in expected]
    assert align(texts(y, x[0]), texts(x, y[0]), 0.4) == turned


def test_skipping_that_costs_nothing_leaves_all_out_and_what_costs_much_none() -> None:
    x, y = document(1, 6, 6, 2)
    assert align(x, y, 0.0) == []
    found = align(x, y, 99.0)
    assert (sum(link.a for link in found), sum(link.b for link in found)) == (6, 6)


@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 40), st.floats(0.05, 1), st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_links_rise_and_a_band_over_everything_is_exact(
    seed: int, n: int, m: int, skip: float, sizes: int
) -> None:
    x, y = document(seed, n, m, sizes)
    exact = align(x, y, skip)
    assert align(x, y, skip, cells=1, band=2 * max(n, m)) == exact
    for narrow in (exact, align(x, y, skip, cells=1, band=1)):
        i = j = 0
        for link in narrow:
            assert link.source >= i
            assert link.target >= j
            i, j = link.source + link.a, link.target + link.b
        assert i <= n
        assert j <= m


@cache
def long_document() -> tuple[Texts, Texts, list[int]]:
    """600 sentences, and a noisy other side that lacks a fifth of them, 100 in one piece."""
    rng = np.random.default_rng(5)
    sentences = rng.normal(size=(600, 24)).astype(np.float32)
    kept = [i for i in range(600) if not 200 <= i < 300 and i % 25]
    sides = []
    for side in (sentences, sentences[kept]):
        noisy = side + 0.4 * rng.normal(size=side.shape).astype(np.float32)
        sides.append([unit(noisy), unit(noisy[:-1] + noisy[1:])])
    return texts(sides[0], sides[1][0]), texts(sides[1], sides[0][0]), kept


def test_a_narrow_band_follows_what_was_left_out() -> None:
    x, y, kept = long_document()
    links = align(x, y, 0.4, cells=5000, band=8)
    right = sum(link[2:] == (1, 1) and kept[link.target] == link.source for link in links)
    assert right > 0.95 * len(kept)
    assert len(links) < 1.02 * len(kept)


def test_the_result_does_not_depend_on_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y, _ = long_document()
    expected = align(x, y, 0.4)
    monkeypatch.setattr("orthoglot.apply.align.ROWS", 7)
    assert align(x, y, 0.4) == expected
