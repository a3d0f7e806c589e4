"""What mined pairs show of their own precision: by hand, and on worlds whose truth is known."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from orthoglot.apply.expected import FEWEST, Decoys
from orthoglot.apply.mine import mine
from orthoglot.decomposers.base import unit
from orthoglot.search.margins import Mined, Strategy, both_cosines, mine_neighbours
from orthoglot.search.neighbours import Nearest, nearest

K = 4


def world(seed: int, n: int, share: float, noise: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two texts of n sentences, translations in the first rows of both, and which rows these are."""
    rng = np.random.default_rng(seed)
    gold = round(share * n)
    topics = rng.normal(size=(n // 5, 32))  # sentences of a document are alike
    x = 0.7 * topics[rng.integers(len(topics), size=n)] + rng.normal(size=(n, 32))
    y = 0.7 * topics[rng.integers(len(topics), size=n)] + rng.normal(size=(n, 32))
    y[:gold] = x[:gold] + noise * rng.normal(size=(gold, 32))
    x, y = (unit(side.astype(np.float32)) for side in (x, y))
    return x, y, np.arange(gold)


def decoys_of(x: np.ndarray, y: np.ndarray) -> tuple[Decoys, Mined]:
    near = nearest(x, y, K)
    cosine = both_cosines(x, y, near)
    pairs = mine_neighbours(near, cosine)
    return Decoys(near, cosine, pairs, "ratio"), pairs


def test_the_numbers_by_hand() -> None:
    """Two texts of three sentences, of which each knows two neighbours: pairs 0-0 and 1-1."""
    near = Nearest(np.array([[0, 1], [1, 0], [0, 1]]), np.array([[0, 1], [1, 0], [2, 0]]))
    cosine = Nearest(
        np.array([[0.9, 0.3], [0.8, 0.6], [0.2, 0.1]]), np.array([[0.9, 0.6], [0.8, 0.3], [0.1, 0.1]])
    )
    pairs = Mined(np.array([0, 1]), np.array([0, 1]), np.array([1.5, 1.2]))
    decoys = Decoys(near, cosine, pairs, "absolute")
    # Sources' other neighbours have 0.3 and 0.6, the targets' 0.6 and 0.3.
    assert decoys._reached(2, 0.5) == [(3, 1, 2), (3, 1, 2)]
    assert decoys._wrong(2, 0.5) == pytest.approx(0.75 * 2 * 1 * 1.5 / 3)


@pytest.mark.parametrize("share", [0.2, 0.5])
@pytest.mark.parametrize("noise", [0.5, 0.9])
def test_intervals_hold_the_truth(share: float, noise: float) -> None:
    precisions, recalls = [], []
    for seed in range(20):
        x, y, gold = world(seed, 600, share, noise)
        decoys, pairs = decoys_of(x, y)
        threshold = float(pairs.margins[int(1.1 * len(gold))])
        kept = pairs.margins >= threshold
        right = (pairs.sources == pairs.targets)[kept] & (pairs.sources < len(gold))[kept]
        said = decoys.expected(threshold, share)
        assert said.pairs == kept.sum()
        assert said.recall is not None
        precisions.append(said.precision[1] <= right.mean() <= said.precision[2])
        recalls.append(said.recall[1] <= right.sum() / len(gold) <= said.recall[2])
    assert sum(precisions) >= 18
    assert 0.02 < said.precision[2] - said.precision[1] < 0.4
    assert sum(recalls) >= 18


def test_the_threshold_keeps_the_precision_and_most_translations() -> None:
    for seed in range(5):
        x, y, gold = world(seed, 2000, 0.5, 0.6)
        decoys, pairs = decoys_of(x, y)
        threshold = decoys.threshold(0.95)
        assert threshold is not None
        kept = pairs.margins >= threshold
        right = ((pairs.sources == pairs.targets) & (pairs.sources < len(gold)))[kept]
        assert right.mean() > 0.93
        assert right.sum() > 0.8 * len(gold)
        assert decoys.threshold(0.99) is None or decoys.threshold(0.99) >= threshold


def test_of_texts_without_translations_nothing_is_promised() -> None:
    x, y, _ = world(0, 500, 0, 1)
    decoys, pairs = decoys_of(x, y)
    assert decoys.threshold(0.95) is None
    threshold = decoys.most_precise()
    kept = pairs.margins >= threshold
    assert kept.sum() >= FEWEST
    # Wrong pairs alone look better than they are.
    assert decoys.expected(threshold).precision[1:] == [0.0, 1.0]
    assert decoys.expected(threshold, 0.1).recall[1:] == [0.0, 1.0]  # type: ignore[index]


def test_no_pair_above_a_threshold_says_nothing() -> None:
    x, y, _ = world(0, 100, 0.5, 0.5)
    decoys, _ = decoys_of(x, y)
    assert decoys.expected(99.0, 0.5) == (0, [0.0, 0.0, 1.0], [0.0, 0.0, 1.0])


def test_a_threshold_keeps_all_pairs_of_its_margin_in_whatever_order() -> None:
    x, y, _ = world(3, 400, 0.4, 0.7)
    near = nearest(x, y, K)
    cosine = both_cosines(x, y, near)
    pairs = mine_neighbours(near, cosine)
    tied = pairs._replace(margins=np.round(pairs.margins, 2))
    decoys = Decoys(near, cosine, tied, "ratio")
    threshold = decoys.threshold(0.9)
    assert threshold is not None
    count = int((tied.margins >= threshold).sum())
    assert decoys.expected(threshold, 0.4).pairs == count
    assert dict(decoys._tried())[threshold] == decoys._wrong(count, threshold) / count
    order = np.lexsort((np.random.default_rng(1).random(len(tied.margins)), -tied.margins))
    turned = Decoys(near, cosine, Mined(*(column[order] for column in tied)), "ratio")
    assert turned.expected(threshold, 0.4) == decoys.expected(threshold, 0.4)


def test_less_than_four_fifths_is_never_promised_by_what_shows_nothing() -> None:
    x, y, _ = world(0, 500, 0.3, 0.9)
    decoys, _ = decoys_of(x, y)
    lowest = decoys.threshold(0.8)
    assert lowest is not None
    assert decoys.threshold(0.5) == lowest
    assert decoys.expected(lowest).precision[1] > 0


def test_few_pairs_or_one_neighbour_show_nothing() -> None:
    x, y, _ = world(0, 100, 0.5, 0.5)
    near = nearest(x, y, 1)
    cosine = both_cosines(x, y, near)
    pairs = mine_neighbours(near, cosine)
    assert Decoys.of(near, cosine, pairs, "ratio") is None
    near = nearest(x, y, K)
    cosine = both_cosines(x, y, near)
    few = Mined(*(column[: FEWEST - 1] for column in pairs))
    assert Decoys.of(near, cosine, few, "ratio") is None
    assert Decoys.of(near, cosine, pairs, "ratio") is not None


def test_other_retrievals_than_max_promise_nothing() -> None:
    x, y, _ = world(0, 100, 0.5, 0.5)
    for retrieval in get_args(Strategy):
        _, facts = mine(x, y, retrieval=retrieval, threshold=1.0)
        assert ("expected_precision" in facts) == (retrieval == "max")
