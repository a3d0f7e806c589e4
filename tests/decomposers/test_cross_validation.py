"""Settings chosen on held-out pairs: those with the lowest loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from orthoglot.decomposers.architectures.procrustes import ProcrustesSettings
from orthoglot.decomposers.base import Candidate, ClosedForm
from orthoglot.decomposers.closed_forms import compute
from orthoglot.decomposers.cross_validation import (
    FOLDS,
    TEMPERATURES,
    Block,
    choose,
    losses,
    sample,
    undivided,
)
from orthoglot.errors import DataError

DIM = 12


def texts(n: int, noise: float = 0.0, seed: int = 0, pair: tuple[str, str] = ("en", "de")) -> Block:
    """n translations whose sides differ by noise."""
    rng = np.random.default_rng(seed)
    source = rng.normal(size=(n, DIM))
    return source, source + noise * rng.normal(size=(n, DIM)), pair


def candidates(
    *made: tuple[str, Callable[[Block], tuple[np.ndarray, np.ndarray]]], kept: Sequence[Block]
) -> Callable[[Sequence[Block]], Iterator[Candidate]]:
    """The same for every fold: name, and what becomes of a block."""

    def of_fold(_: Sequence[Block]) -> Iterator[Candidate]:
        for name, change in made:
            yield Candidate({"name": name}, lambda change=change: [change(block) for block in kept])

    return of_fold


def as_is(block: Block) -> tuple[np.ndarray, np.ndarray]:
    return block[:2]


def swapped(*rows: int) -> Callable[[Block], tuple[np.ndarray, np.ndarray]]:
    """Of these pairs, the translations of the two halves are exchanged: nothing finds them."""

    def change(block: Block) -> tuple[np.ndarray, np.ndarray]:
        target = block[1].copy()
        target[list(rows)] = target[[*rows[1:], *rows[:1]]]
        return block[0], target

    return change


def by_hand(source: np.ndarray, target: np.ndarray, i: int, t: float) -> float:
    """Minus the logarithm of the softmax of the own translation, the mean over both directions."""

    def cosine(a: np.ndarray, b: np.ndarray) -> float:
        return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))

    forward = [np.exp(cosine(source[i], other) / t) for other in target]
    backward = [np.exp(cosine(other, target[i]) / t) for other in source]
    return float(-(np.log(forward[i] / sum(forward)) + np.log(backward[i] / sum(backward))) / 2)


def test_a_loss_is_infonce_of_both_directions_by_cosine() -> None:
    source, target, _ = texts(30, 0.8)
    queries = np.array([3, 4, 17])
    found = losses(source, target, queries)
    assert found.shape == (len(TEMPERATURES), 3)
    for row, t in zip(found[-3:], TEMPERATURES[-3:], strict=True):
        np.testing.assert_allclose(row, [by_hand(source, target, i, t) for i in queries], rtol=1e-9)
    lengths = np.random.default_rng(1).uniform(0.1, 9, size=(30, 1))
    np.testing.assert_allclose(losses(lengths * source, target / lengths, queries), found, rtol=1e-9)
    np.testing.assert_allclose(losses(target, source, queries), found, rtol=1e-9)


def test_a_loss_stays_finite_where_exponentials_do_not() -> None:
    source, _, _ = texts(30)
    found = losses(source, -source, np.arange(30))
    assert np.isfinite(found).all()
    assert found.min() > 0


def test_the_lowest_loss_wins_and_of_equal_ones_the_first() -> None:
    kept = [texts(300, 0.4)]
    made = [("worse", swapped(1, 2)), ("good", as_is), ("same", as_is)]
    settings, loss = choose(candidates(*made, kept=kept), kept)
    assert settings == {"name": "good"}
    assert loss == pytest.approx(losses(*kept[0][:2], np.arange(300)).mean(axis=1).min(), abs=1e-4)
    assert choose(candidates(*made[::-1], kept=kept), kept)[0] == {"name": "same"}


def test_pairs_of_languages_count_alike_whatever_their_size() -> None:
    small, large = texts(20, seed=1, pair=("en", "zh")), texts(400)
    half = tuple(range(0, 20, 2))

    def missing_in(name: str) -> Callable[[Block], tuple[np.ndarray, np.ndarray]]:
        return lambda block: swapped(*half)(block) if block[2][1] == name else as_is(block)

    # Ten pairs of 20 are more than ten of 400.
    made = [("small", missing_in("zh")), ("large", missing_in("de"))]
    kept = [large, small]
    alone = [choose(candidates(one, kept=kept), kept)[1] for one in made]
    assert alone[0] > 5 * alone[1]
    assert choose(candidates(*made, kept=kept), kept)[0] == {"name": "large"}


def test_each_candidate_has_its_own_temperature() -> None:
    """A common part in all vectors brings cosines together and changes no order: it costs nothing by itself."""
    kept = [texts(200, 0.3)]

    def crowded(block: Block) -> tuple[np.ndarray, np.ndarray]:
        source, target = (np.hstack([side, np.full((len(side), 1), 12.0)]) for side in block[:2])
        return source, target

    _, loss = choose(candidates(("crowded", crowded), kept=kept), kept)
    source, target = crowded(kept[0])
    at_its_best = losses(source, target, np.arange(200)).mean(axis=1)
    assert loss == pytest.approx(at_its_best.min(), abs=1e-4)
    assert at_its_best[-1] > 2 * at_its_best.min()


def test_every_pair_is_held_out_once_together_with_its_source() -> None:
    rng = np.random.default_rng(0)
    first, second = texts(60, 0.5), texts(60, pair=("en", "zh"))
    few = texts(9, seed=5, pair=("fr", "zh"))
    order = rng.permutation(60)
    kept = [first, (second[0][order], second[1][order], second[2]), few]
    seen: list[list[Block]] = []

    def of_fold(held: Sequence[Block]) -> Iterator[Candidate]:
        seen.append(list(held))
        yield Candidate({}, lambda: [block[:2] for block in kept])

    choose(of_fold, kept)
    assert len(seen) == FOLDS
    for source, target, pair in kept[:2]:
        mine = [block for fold in seen for block in fold if block[2] == pair]
        rows = np.concatenate([np.hstack(block[:2]) for block in mine])
        expected = np.hstack([source, target])
        np.testing.assert_array_equal(rows[np.lexsort(rows.T)], expected[np.lexsort(expected.T)])
    # Both pairs of languages have the same English sentences, in another order.
    for fold in seen:
        sides = {block[2]: {row.tobytes() for row in block[0]} for block in fold}
        assert sides[("en", "de")] == sides[("en", "zh")]
        assert ("fr", "zh") not in sides  # nine pairs are too few to be without a fold


def test_settings_are_chosen_with_3000_pairs_at_most() -> None:
    """As many of each pair of languages, the first ones; 500 of a few, and 10 of very many."""

    def sizes(*rows: int) -> list[int]:
        blocks = [texts(n, pair=("en", str(k))) for k, n in enumerate(rows)]
        shorter = sample(blocks)
        for (source, target, pair), (a, b, name) in zip(blocks, shorter, strict=True):
            assert pair == name
            np.testing.assert_array_equal(np.hstack([source, target])[: len(a)], np.hstack([a, b]))
        return [len(a) for a, _, _ in shorter]

    assert sizes(600, 499, 20) == [500, 499, 20]
    assert sizes(*[600] * 8, 9) == [333] * 8 + [9]
    assert sizes(*[12] * 300) == [10] * 300
    assert sample([]) == []


def test_what_is_far_behind_after_a_large_first_fold_is_not_fitted_again() -> None:
    def fits(n: int, best: str) -> dict[str, int]:
        """How often each candidate is fitted: a good one, one that is nearly as good, one with half of it wrong."""
        blocks = [texts(n, 1.0)]
        made = {"bad": swapped(*range(0, n, 2)), "good": as_is, "near": swapped(0, 1)}
        count = dict.fromkeys(made, 0)

        def of_fold(_: Sequence[Block]) -> Iterator[Candidate]:
            for name, change in made.items():

                def vectors(name: str = name, change: Any = change) -> list[tuple[np.ndarray, np.ndarray]]:
                    count[name] += 1
                    return [change(blocks[0])]

                yield Candidate({"name": name}, vectors)

        assert choose(of_fold, blocks)[0] == {"name": best}
        return count

    assert fits(700, "good") == {"bad": 1, "good": 5, "near": 5}
    assert fits(300, "good") == {"bad": 5, "good": 5, "near": 5}


def test_too_few_pairs_choose_nothing() -> None:
    for kept in ([], [texts(9)]):
        with pytest.raises(DataError, match="10 sentence pairs"):
            choose(candidates(("a", as_is), kept=kept), kept)


def test_a_loss_is_of_pairs_that_the_candidate_was_not_fitted_to() -> None:
    """A candidate that knows by heart what it was fitted to gains nothing."""
    kept = [texts(100, 3.0)]

    def of_fold(held: Sequence[Block]) -> Iterator[Candidate]:
        unknown = {row.tobytes() for row in held[0][0]}
        source, target, _ = kept[0]
        by_heart: Any = np.array([row.tobytes() not in unknown for row in source])
        mixed = np.where(by_heart[:, None], source, target)
        yield Candidate({"name": "by heart"}, lambda: [(source, mixed)])
        yield Candidate({"name": "as it is"}, lambda: [(source, target)])

    settings, _ = choose(of_fold, kept)
    assert settings == {"name": "as it is"}


def test_the_loss_without_a_decomposer_is_that_of_the_vectors() -> None:
    rng = np.random.default_rng(4)
    blocks = [(rng.normal(size=(n, 6)), rng.normal(size=(n, 6)), ("en", str(n))) for n in (40, 25, 9)]
    by_hand = np.mean([losses(x, y, np.arange(len(x))).mean(axis=1) for x, y, _ in blocks[:2]], axis=0).min()
    assert undivided(blocks) == pytest.approx(by_hand, abs=1e-4)
    assert undivided(blocks[2:]) == 0  # too few to hold out


@pytest.mark.parametrize("noise", [0.0, 5.0])
def test_a_fit_that_finds_less_than_the_vectors_says_so(
    noise: float, caplog: pytest.LogCaptureFixture
) -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(40, 8))
    y = x + 0.5 * rng.normal(size=x.shape)

    def candidates(_: object, __: object, blocks: Sequence[Block]) -> Iterator[Candidate]:
        middle = [(a + b) / 2 for a, b, _ in blocks]
        disturbed = [tuple(one + noise * rng.normal(size=one.shape) for _ in range(2)) for one in middle]
        yield Candidate({"ridge": 0.0}, lambda: disturbed)  # type: ignore[arg-type, return-value]

    form = ClosedForm(
        lambda moments, ridge: {}, lambda *_: (x, y), {}, settings=ProcrustesSettings, candidates=candidates
    )
    compute(form, [(x, y, ("en", "gn"))], ["en", "gn"], 8, {})
    assert ("less well than by the undivided vector" in caplog.text) == (noise > 0)
