"""The best alignment, against an independent search over all alignments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orthoglot.apply.align import align
from orthoglot.decomposers.base import unit
from orthoglot.errors import ConfigError
from orthoglot.search.margins import Margin

Side = Sequence[np.ndarray]


def drawn(rng: np.random.Generator, n: int, sizes: int) -> Side:
    """Vectors of n sentences and of their joined neighbours, all by chance, none at right angles."""
    return [unit(1 + rng.normal(size=(max(n - a, 0), 3)).astype(np.float32)) for a in range(sizes)]


def document(seed: int, n: int, m: int, sizes: int) -> tuple[Side, Side]:
    rng = np.random.default_rng(seed)
    return drawn(rng, n, sizes), drawn(rng, m, sizes)


def alignments(n: int, m: int, sizes: int, i: int = 0, j: int = 0) -> Iterator[list[tuple[int, ...]]]:
    """All alignments of two documents, one by one: the next link starts after any number of sentences."""
    yield []
    for a in range(1, sizes + 1):
        for b in range(1, sizes + 2 - a):
            for source in range(i, n - a + 1):
                for target in range(j, m - b + 1):
                    for rest in alignments(n, m, sizes, source + a, target + b):
                        yield [(source, target, a, b), *rest]


def margin_of(x: Side, y: Side, link: tuple[int, ...], margin: Margin, k: int) -> float:
    """By the formula, in double precision and one pair at a time."""
    source, target, a, b = link
    u, v = x[a - 1][source].astype(float), y[b - 1][target].astype(float)
    near_u = sorted((float(u @ other) for other in y[0].astype(float)), reverse=True)[:k]
    near_v = sorted((float(v @ other) for other in x[0].astype(float)), reverse=True)[:k]
    near = (sum(near_u) / len(near_u) + sum(near_v) / len(near_v)) / 2
    if margin == "ratio":
        return float(u @ v) / near if near > 0 else -np.inf
    return float(u @ v) - near


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(("n", "m", "sizes"), [(4, 4, 2), (1, 4, 2), (4, 2, 3), (3, 4, 1), (1, 1, 2)])
@pytest.mark.parametrize("margin", ["ratio", "distance"])
@pytest.mark.parametrize("with_lengths", [False, True])
def test_no_other_alignment_has_a_higher_sum(
    seed: int, n: int, m: int, sizes: int, margin: Margin, with_lengths: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orthoglot.apply.align.FEWEST", 1)
    x, y = document(seed, n, m, sizes)
    rng = np.random.default_rng(seed)
    lengths = (rng.integers(5, 80, n), rng.integers(5, 80, m)) if with_lengths else None
    threshold = {"ratio": 0.9, "distance": -0.1}[margin] + 0.02 * seed
    found = align(x, y, lengths=lengths, margin=margin, neighborhood=2, threshold=threshold)

    def agreement(i: int, j: int, a: int, b: int) -> float:
        if lengths is None:
            return 1.0
        cosine = x[0].astype(float) @ y[0].astype(float).T
        mutual = [
            (s, t) for s in range(n) for t in range(m) if cosine[s, t] == max(*cosine[s], *cosine[:, t])
        ]
        ratio = np.median([lengths[0][s] / lengths[1][t] for s, t in mutual])
        both = lengths[0][i : i + a].sum(), ratio * lengths[1][j : j + b].sum()
        return float(np.log2(1 + min(both) / max(both)))

    def total(links: Sequence[tuple[int, ...]]) -> float:
        return sum(agreement(*link) * (margin_of(x, y, link, margin, 2) - threshold) for link in links)

    best = max(total(links) for links in alignments(n, m, sizes))
    assert total([link[:4] for link in found]) == pytest.approx(best, abs=1e-4)
    for link in found:
        assert link.margin == pytest.approx(margin_of(x, y, link[:4], margin, 2), abs=1e-4)
        # Two documents of one sentence are linked at the neutral margin, too.
        assert link.margin > threshold or (n, m) == (1, 1)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("cells", [10**8, 1])
def test_no_alignment_within_paragraphs_has_a_higher_sum(seed: int, cells: int) -> None:
    rng = np.random.default_rng(seed)
    starts = (
        [0, *sorted(rng.choice([1, 2, 3, 4], 2, replace=False))],
        [0, *sorted(rng.choice([1, 2, 3], 2, replace=False))],
    )
    x, y = document(seed, 5, 4, 3)
    found = align(x, y, neighborhood=2, threshold=0.9, paragraphs=starts, cells=cells)

    def within(links: Sequence[tuple[int, ...]]) -> bool:
        number = [np.searchsorted(side, range(6), side="right") for side in starts]
        return all(len({*number[0][i : i + a], *number[1][j : j + b]}) == 1 for i, j, a, b in links)

    def total(links: Sequence[tuple[int, ...]]) -> float:
        return sum(margin_of(x, y, link, "ratio", 2) - 0.9 for link in links)

    links = [link[:4] for link in found]
    assert within(links)
    best = max(total(some) for some in alignments(5, 4, 3) if within(some))
    assert total(links) == pytest.approx(best, abs=1e-4)


def sides(kept: Sequence[tuple[int, ...]], n: int) -> tuple[Side, Side]:
    """n sentences at equal angles, and a side that consists of the joined sentences `kept`."""
    vectors = 0.3 + np.eye(n, dtype=np.float32)
    other = np.array([vectors[list(one)].sum(axis=0) for one in kept])
    return [unit(vectors), unit(vectors[:-1] + vectors[1:])], [unit(other), unit(other[:-1] + other[1:])]


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
    x, y = sides(kept, 4)
    assert [link[:4] for link in align(x, y)] == expected
    assert [link[:4] for link in align(y, x)] == [(j, i, b, a) for i, j, a, b in expected]


def test_lengths_decide_what_vectors_leave_open() -> None:
    """The last of seven sentences is nothing but its neighbour: alone or joined, the vectors are the same."""
    rng = np.random.default_rng(4)
    six = unit(rng.normal(size=(6, 8)).astype(np.float32))
    seven = np.concatenate([six, six[-1:]])
    x = [seven, unit(seven[:-1] + seven[1:])]
    y = [six, unit(six[:-1] + six[1:])]
    for target, expected in ((10, (1, 1)), (20, (2, 1))):
        lengths = np.full(7, 10), np.array([10, 10, 10, 10, 10, target])
        links = align(x, y, lengths=lengths, threshold=0.5)
        assert links[-1][2:4] == expected


def test_few_sentences_tell_no_ratio_of_lengths() -> None:
    """The one sentence translates two; from these alone, the first would seem to be as long as it is."""
    x, y = document(3, 1, 2, 2)
    assert align(x, y, lengths=(np.array([100]), np.array([50, 50])), threshold=0.5) == align(
        x, y, threshold=0.5
    )


def test_missing_sentences_leave_the_ratio_of_lengths_as_it_is() -> None:
    rng = np.random.default_rng(2)
    sentences = unit(rng.normal(size=(40, 64)).astype(np.float32))
    kept = sentences[::2]
    x = [sentences, unit(sentences[:-1] + sentences[1:])]
    y = [kept, unit(kept[:-1] + kept[1:])]
    # Were lengths shares of their documents, each sentence of y would seem as long as two of x.
    lengths = np.full(40, 10), np.full(20, 30)
    links = align(x, y, lengths=lengths, threshold=0.5, neighborhood=1)
    assert [link[:4] for link in links] == [(2 * i, i, 1, 1) for i in range(20)]


def test_documents_of_one_sentence_translate_each_other_whatever_the_rounding() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        x, y = (unit(rng.normal(size=(1, 8)).astype(np.float32)) for _ in range(2))
        assert align([x], [y]) == [(0, 0, 1, 1, 1.0)]
        assert align([x], [y], margin="distance") == [(0, 0, 1, 1, 0.0)]
        assert align([x], [y], threshold=1.01) == []


def test_the_threshold_decides_what_is_left_out() -> None:
    x, y = document(1, 6, 6, 2)
    assert align(x, y, threshold=99) == []
    every = align(x, y, threshold=-99)
    assert (sum(link.a for link in every), sum(link.b for link in every)) == (6, 6)
    assert align(x, y, margin="ratio") == align(x, y, margin="ratio", threshold=1)
    assert align(x, y, margin="distance") == align(x, y, margin="distance", threshold=0)
    with pytest.raises(ConfigError, match="needs a threshold"):
        align(x, y, margin="absolute")
    assert align(x, y, margin="absolute", threshold=0.99)


@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 40), st.floats(0.9, 1.1), st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_links_rise_and_a_band_over_everything_is_exact(
    seed: int, n: int, m: int, threshold: float, sizes: int
) -> None:
    x, y = document(seed, n, m, sizes)
    rng = np.random.default_rng(seed)
    lengths = rng.integers(5, 80, n), rng.integers(5, 80, m)
    exact = align(x, y, lengths=lengths, threshold=threshold)
    assert align(x, y, lengths=lengths, threshold=threshold, cells=1, band=2 * max(n, m)) == exact
    for links in (exact, align(x, y, lengths=lengths, threshold=threshold, cells=1, band=1)):
        i = j = 0
        for link in links:
            assert link.source >= i
            assert link.target >= j
            i, j = link.source + link.a, link.target + link.b
        assert i <= n
        assert j <= m


@cache
def long_document() -> tuple[Side, Side, list[int]]:
    """600 sentences, and a noisy other side that lacks some of them, 100 in one piece and the last 60."""
    rng = np.random.default_rng(5)
    sentences = 0.5 + rng.normal(size=(600, 24)).astype(np.float32)
    kept = [i for i in range(540) if not 200 <= i < 300 and i % 25]
    noisy = [
        side + 0.4 * rng.normal(size=side.shape).astype(np.float32) for side in (sentences, sentences[kept])
    ]
    x, y = ([unit(side), unit(side[:-1] + side[1:])] for side in noisy)
    return x, y, kept


def test_a_narrow_band_follows_what_was_left_out_of_either_side() -> None:
    x, y, kept = long_document()
    forward = [link[:4] for link in align(x, y, cells=5000, band=8)]
    backward = [(i, j, a, b) for j, i, b, a, _ in align(y, x, cells=5000, band=8)]
    for links in (forward, backward):
        right = sum((a, b) == (1, 1) and kept[j] == i for i, j, a, b in links)
        assert right > 0.95 * len(kept)
        assert len(links) < 1.02 * len(kept)


def test_the_result_does_not_depend_on_how_many_rows_are_computed_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, y, kept = long_document()
    rng = np.random.default_rng(1)
    of_x = rng.integers(5, 80, 600)
    lengths = of_x, 2 * of_x[kept]
    expected = [link[:4] for link in align(x, y, lengths=lengths)]
    assert expected != [link[:4] for link in align(x, y, lengths=(of_x, rng.permutation(lengths[1])))]
    monkeypatch.setattr("orthoglot.apply.align.ROWS", 7)
    assert [link[:4] for link in align(x, y, lengths=lengths)] == expected
