"""Probabilistic linear discriminant analysis of translations, as docs/papers.md#plda defines it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from orthoglot.decomposers.architectures.plda import ARCHITECTURE as PLDA
from orthoglot.decomposers.architectures.plda import Prior, Scatter, apply, candidates, fit, maps
from orthoglot.decomposers.base import Decomposer, Languages, unit
from orthoglot.decomposers.closed_forms import compute, gather
from orthoglot.decomposers.cross_validation import Block, losses
from orthoglot.decomposers.moments import Moments, PairMoments
from orthoglot.errors import DataError

DIM = 10
LANGUAGES = ["ar", "de", "en", "zh"]
PAIRS = {("en", "de"): 400, ("en", "ar"): 150, ("de", "zh"): 90}
ANY = Languages([], None, LANGUAGES)


def texts(pairs: dict[tuple[str, str], int] = PAIRS, *, topics: float = 0.2, seed: int = 4) -> list[Block]:
    """Unit vectors of translations: every language with a mean and a map, every pair of them with its topics.

    Args:
        pairs: how many translations.
        topics: how much what the sentences mean varies from one pair of languages to the next.
        seed: of all draws.
    """
    rng = np.random.default_rng(seed)
    own = {
        name: (0.4 * rng.normal(size=DIM), np.eye(DIM) + 0.1 * rng.normal(size=(DIM, DIM)))
        for name in LANGUAGES
    }
    found = []
    for pair, n in pairs.items():
        sizes = np.linspace(0.1, 1, DIM) * np.exp(topics * rng.normal(size=DIM))
        meaning = rng.normal(size=(n, DIM)) * sizes + 0.5 * rng.normal(size=DIM)
        sides = [(meaning + 0.4 * rng.normal(size=(n, DIM))) @ own[name][1] + own[name][0] for name in pair]
        found.append((unit(sides[0]), unit(sides[1]), pair))
    return found


def gathered(blocks: list[Block]) -> tuple[Moments, PairMoments]:
    languages = sorted({name for block in blocks for name in block[2]})
    return gather(PLDA, blocks, languages, DIM)[:2]


class Page(NamedTuple):
    """What the page makes of the text."""

    mean: np.ndarray
    r: float
    w: np.ndarray
    u: np.ndarray
    meaning: np.ndarray
    language: np.ndarray


def by_the_page(blocks: list[Block], s: float) -> Page:
    """Nothing is taken from the implementation: who reads the page alone gets the same numbers."""
    pairs = [(x, y) for a, b, _ in blocks for x, y in zip(a, b, strict=True)]
    names = [name for a, _, pair in blocks for name in [pair[0]] * len(a) + [pair[1]] * len(a)]
    vectors = np.array([x for a, b, _ in blocks for side in (a, b) for x in side])
    mean = vectors.mean(axis=0)
    within = sum(np.outer(x - y, x - y) for x, y in pairs) / (2 * len(pairs))

    def isotropic(matrix: np.ndarray) -> np.ndarray:
        return np.trace(matrix) / DIM * np.eye(DIM)

    each: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    for a, b, pair in blocks:
        sides = [(x, y) if pair[0] < pair[1] else (y, x) for x, y in zip(a, b, strict=True)]
        each.setdefault(" ".join(sorted(pair)), []).extend(sides)
    shares = {k: len(of) / len(pairs) for k, of in each.items()}
    own_shared = {}
    for k, of in each.items():
        a, b = map(np.array, zip(*of, strict=True))
        both = (a - a.mean(axis=0)).T @ (b - b.mean(axis=0)) / len(a)
        own_shared[k] = (both + both.T) / 2
    average = sum(shares[k] * own_shared[k] for k in each)
    q, r = sum(share**2 for share in shares.values()), 1.0
    if q < 1:
        apart = sum(shares[k] ** 2 * np.linalg.norm(own_shared[k] - average) ** 2 for k in each)
        r = min(1.0, max(q, apart / (1 - q) / np.linalg.norm(average - isotropic(average)) ** 2))
    between = (1 - r) * average + r * isotropic(average)
    sizes, axes = np.linalg.eigh((1 - s) * within + s * isotropic(within))
    root = axes @ np.diag(sizes**-0.5) @ axes.T
    w, turn = np.linalg.eigh(root @ between @ root)
    w, turn = np.maximum(w[::-1], 0), turn[:, ::-1]
    turn = turn * [np.sign(max(column, key=abs)) for column in (root @ turn).T]
    u = (vectors - mean) @ root @ turn
    part = np.sqrt(w / (1 + w))[:-1] * u[:, :-1]
    constant = np.sqrt(np.mean([row @ row for row in part]))

    a = (root @ turn)[:, : DIM - max(1, len(set(names)) - 1)]
    covariance = np.zeros((DIM, DIM))
    for name in set(names):
        own = vectors[np.array(names) == name]
        covariance += (own - own.mean(axis=0)).T @ (own - own.mean(axis=0)) / len(vectors)
    b = np.linalg.pinv(a.T @ covariance @ a, rcond=1e-6) @ a.T @ covariance
    language = (vectors - mean) @ (np.eye(DIM) - a @ b)
    return Page(mean, r, w, u, np.column_stack([np.full(len(part), constant), part]), language)


@pytest.mark.parametrize(
    "pairs", [PAIRS, {("en", "de"): 60}, {("en", "de"): 90, ("de", "en"): 50, ("de", "zh"): 70}]
)
@pytest.mark.parametrize("s", [0.0, 0.3, 0.9])
def test_it_is_what_the_page_says(pairs: dict[tuple[str, str], int], s: float) -> None:
    blocks = texts(pairs)
    weights, page = fit(*gathered(blocks), s), by_the_page(blocks, s)
    vectors = np.concatenate([side for block in blocks for side in block[:2]])
    meaning, language = apply(weights, vectors, ANY)
    np.testing.assert_allclose(meaning, page.meaning, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(weights["worth"][1:], page.w[:-1], rtol=1e-6)
    np.testing.assert_allclose(language, page.language, rtol=1e-6, atol=1e-6)


def directions(blocks: list[Block]) -> np.ndarray:
    """How much meaning each direction has, relative to their mean, before differences are looked at."""
    scatter = Scatter.of(*gathered(blocks))
    shrunk = (1 - scatter.doubt) * scatter.between + scatter.doubt * np.trace(scatter.between) / DIM * np.eye(
        DIM
    )
    sizes = np.linalg.eigvalsh(shrunk)[::-1]
    return sizes / sizes.mean()


def test_how_much_pairs_of_languages_differ_decides_how_much_of_their_meaning_is_trusted() -> None:
    many = {(a, b): 200 for a in LANGUAGES for b in LANGUAGES if a < b}
    alike, apart = (np.ptp(directions(texts(many, topics=topics))) for topics in (0.0, 0.8))
    plain = np.ptp(directions(texts({("de", "en"): 200, ("ar", "zh"): 200}, topics=0.0)))
    assert alike > 1.5 * apart
    # The fewer they are, the less can be known.
    assert alike > plain > 0


def test_of_one_pair_of_languages_no_direction_is_trusted_more_than_another() -> None:
    one = {("en", "de"): 400}
    np.testing.assert_allclose(directions(texts(one)), 1, rtol=1e-9)
    a, b, _ = texts(one)[0]
    halves: list[Block] = [(a[:200], b[:200], ("en", "de")), (b[200:], a[200:], ("de", "en"))]
    np.testing.assert_allclose(directions(halves), 1, rtol=1e-9)
    # One translation of another pair of languages, or none, hardly changes that.
    further = texts({("de", "zh"): 1}, seed=5)
    assert np.ptp(directions(texts(one) + further)) < 0.02
    moments, pairs = gathered(texts(one))
    pairs.update(np.empty((0, DIM)), np.empty((0, DIM)), ("ar", "zh"))
    for name, array in fit(moments, pairs, 0.3).items():
        np.testing.assert_array_equal(array, fit(*gathered(texts(one)), 0.3)[name])


def test_translations_that_have_nothing_in_common_are_refused() -> None:
    [(a, b, pair)] = texts({("en", "de"): 400})
    with pytest.raises(DataError, match="no more alike than other sentences"):
        fit(*gathered([(a, unit(2 * b.mean(axis=0) - b), pair)]), 0.5)


def test_more_languages_than_dimensions_leave_the_vector_as_its_language_part() -> None:
    names = [f"x{n}" for n in range(DIM + 3)]
    rng = np.random.default_rng(0)
    blocks: list[Block] = []
    for name in names[1:]:
        meaning, offset = rng.normal(size=(50, DIM)), 2 * rng.normal(size=DIM)
        sides = [meaning + 0.5 * rng.normal(size=(50, DIM)) for _ in range(2)]
        blocks.append((unit(sides[0]), unit(sides[1] + offset), (names[0], name)))
    np.testing.assert_allclose(fit(*gathered(blocks), 0.5)["language"], np.eye(DIM), atol=1e-12)


def noisy(seed: int) -> list[Block]:
    """Meaning in half of the directions; sentences say more or less, and their translations are as noisy."""
    rng = np.random.default_rng(seed)
    offsets = {name: 2 * np.random.default_rng(n).normal(size=DIM) for n, name in enumerate(LANGUAGES)}
    found = []
    for pair in PAIRS:
        meaning = rng.normal(size=(300, DIM)) * (np.arange(DIM) < 5) * rng.choice([0.3, 2.5], size=(300, 1))
        sides = [meaning + 0.6 * rng.normal(size=(300, DIM)) + offsets[name] + 3 for name in pair]
        found.append((unit(sides[0]), unit(sides[1]), pair))
    return found


def recall(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean((unit(x) @ unit(y).T).argmax(axis=1) == np.arange(len(x))))


def test_the_constant_finds_more_translations_where_sentences_say_more_or_less() -> None:
    weights = fit(*gathered(noisy(0)), 0.3)
    gains, by_language = [], []
    for a, b, _ in noisy(1):
        (x, p), (y, q) = (apply(weights, side, ANY) for side in (a, b))
        assert recall(x, y) > recall(a, b) + 0.1
        gains.append(recall(x, y) - recall(x[:, 1:], y[:, 1:]))
        by_language.append(recall(p, q))
    assert min(gains) > 0
    assert max(by_language) < 0.05


def test_the_order_and_size_of_blocks_change_nothing() -> None:
    blocks = texts()
    halves = [
        (a[rows], b[rows], pair) for a, b, pair in blocks for rows in (slice(None, 31), slice(31, None))
    ]
    for ours, theirs in zip(
        fit(*gathered(blocks), 0.3).values(), fit(*gathered(halves[::-1]), 0.3).values(), strict=True
    ):
        np.testing.assert_allclose(np.abs(ours), np.abs(theirs), rtol=1e-6, atol=1e-9)


def test_too_few_pairs_need_shrinkage() -> None:
    few = [(a[:3], b[:3], pair) for a, b, pair in texts()[:1]]
    with pytest.raises(DataError, match="do not fill their 10 dimensions"):
        fit(*gathered(few), 0.0)
    assert np.isfinite(fit(*gathered(few), 0.5)["meaning"]).all()


def test_every_candidate_is_what_the_fit_would_give() -> None:
    blocks = texts()
    moments, pairs = gathered(blocks)
    found = [*candidates(moments, pairs, blocks)]
    assert [one.settings["shrinkage"] for one in found] == [0.9, 0.7, 0.5, 0.3, 0.1, 0.03, 0.01]
    for one in found:
        weights = fit(moments, pairs, **one.settings)
        for (a, b, _), (x, y) in zip(blocks, one.vectors(), strict=True):
            for side, vectors in ((a, x), (b, y)):
                cosines = unit(apply(weights, side, ANY)[0]) @ unit(apply(weights, side, ANY)[0]).T
                np.testing.assert_allclose(unit(vectors) @ unit(vectors).T, cosines, atol=1e-5)


def test_the_shrinkage_is_chosen_by_translations_that_were_left_out() -> None:
    """Differences in one direction alone need a metric of their own; the same ones in all do not."""
    rng = np.random.default_rng(2)
    chosen = []
    for sizes in (np.where(np.arange(DIM) == 0, 4.0, 0.1), np.full(DIM, 0.5)):
        meaning = rng.normal(size=(60, DIM)) + 3
        block = (meaning + sizes * rng.normal(size=(60, DIM)), meaning, ("en", "de"))
        weights, facts = compute(PLDA, [block], ["de", "en"], DIM, {})
        Decomposer("plda", "m", "toy", "abc", ["de", "en"], DIM, weights, facts).check()
        chosen.append(facts["shrinkage"])
    assert chosen[0] < 0.9 == chosen[1]


def test_the_shrinkage_is_chosen_by_pairs_that_were_left_out_of_the_fit() -> None:
    """Of few pairs in many dimensions, what was fitted to them finds them all, which says nothing of others."""
    rng = np.random.default_rng(3)
    source = rng.normal(size=(40, 60))
    sides = [unit(side) for side in (source, source + 2.5 * rng.normal(size=source.shape))]
    block = (sides[0], sides[1], ("en", "de"))
    _, chosen = compute(PLDA, [block], ["de", "en"], 60, {})
    moments, pairs = Moments(60, ["de", "en"], products=True), PairMoments(60, products=True)
    for side, name in zip(sides, block[2], strict=True):
        moments.update(side, name)
    pairs.update(*block)
    found = [*candidates(moments, pairs, [block])]
    in_sample = min(losses(*one.vectors()[0], np.arange(40)).mean(axis=1).min() for one in found)
    assert in_sample < 0.1
    assert chosen["validation"] > 10 * in_sample + 0.5


def test_language_is_not_linearly_predictable_from_the_meaning_of_sentences_of_its_language() -> None:
    """Over all languages together, with each language's mean taken out."""
    blocks, total = texts(), np.zeros((DIM, DIM))
    weights = fit(*gathered(blocks), 0.3)
    sides: dict[str, list[np.ndarray]] = {name: [] for name in LANGUAGES}
    for a, b, (first, second) in blocks:
        sides[first].append(a)
        sides[second].append(b)
    offsets = []
    for found in sides.values():
        meaning, language = apply(weights, np.concatenate(found), ANY)
        offsets.append(language.mean(axis=0))
        # The numbers of the directions with the most meaning; three means span the others.
        kept = meaning[:, 1 : DIM - 3 + 1]
        total[: DIM - 3] += (kept - kept.mean(axis=0)).T @ (language - offsets[-1])
    np.testing.assert_allclose(total, 0, atol=1e-9)
    assert np.linalg.norm(offsets[0] - offsets[1]) > 0.1


def test_the_length_of_a_vector_matters_neither_when_fitted_nor_when_applied() -> None:
    blocks = texts()
    lengths = np.random.default_rng(0).uniform(0.1, 10, size=400)
    scaled = [(lengths[: len(a), None] * a, b / lengths[: len(b), None], pair) for a, b, pair in blocks]
    weights, facts = (compute(PLDA, some, LANGUAGES, DIM, {"shrinkage": 0.3})[0] for some in (blocks, scaled))
    plain, other = (Decomposer("plda", "m", "toy", "abc", LANGUAGES, DIM, of, {}) for of in (weights, facts))
    x = blocks[0][0]
    for found in (plain.transform(7 * x, ""), other.transform(x, "")):
        np.testing.assert_allclose(np.abs(found.meaning), np.abs(plain.transform(x, "").meaning), atol=1e-4)
        np.testing.assert_allclose(found.language, plain.transform(x, "").language, atol=1e-4)
    # The sentence view stays what the encoder gave; a vector without a direction has finite parts.
    np.testing.assert_array_equal(plain.transform(7 * x, "").sentence, (7 * x).astype(np.float32))
    assert np.isfinite(plain.transform(np.zeros((1, DIM)), "").meaning).all()


def test_the_first_numbers_of_the_meaning_part_are_those_that_tell_translations() -> None:
    weights = fit(*gathered(noisy(0)), 0.3)
    assert (np.diff(weights["worth"]) <= 0).all()
    a, b, _ = noisy(1)[0]
    x, y = (apply(weights, side, ANY)[0] for side in (a, b))
    assert recall(x[:, 6:], y[:, 6:]) < 0.02 < 0.95 * recall(x, y) < recall(x[:, :6], y[:, :6])


PARTS = ("mean", "squares", "within", "between", "spread")


def test_a_prior_weighs_as_much_as_3000_pairs() -> None:
    own, prior = (Scatter.of(*gathered(of)) for of in (texts({("en", "de"): 90}), texts(seed=5)))
    own.pairs = 1000
    mixed = own.mixed(prior)
    for name in PARTS:
        np.testing.assert_allclose(
            getattr(mixed, name), 0.75 * getattr(prior, name) + 0.25 * getattr(own, name), atol=1e-15
        )
    assert mixed.doubt == prior.doubt != own.doubt


def test_a_fit_from_a_prior_takes_its_settings_and_needs_but_one_pair() -> None:
    prior = Prior(Scatter.of(*gathered(texts())), {"shrinkage": 0.7})
    (a, b, pair), *_ = texts(seed=6)
    weights, settings = compute(PLDA, [(a[:1], b[:1], pair)], ["de", "en"], DIM, {}, prior)
    assert settings["shrinkage"] == 0.7
    # One pair in 3,001 changes little.
    x = unit(apply(maps(prior.scatter, 0.7), a, ANY)[0])
    y = unit(apply(weights, a, ANY)[0])
    np.testing.assert_allclose(y @ y.T, x @ x.T, atol=0.02)
    given, settings = compute(PLDA, texts(seed=6), LANGUAGES, DIM, {"shrinkage": 0.1}, prior)
    assert settings["shrinkage"] == 0.1
    expected = fit(*gathered(texts(seed=6)), 0.1, prior)
    np.testing.assert_allclose(np.abs(given["meaning"]), np.abs(expected["meaning"]), rtol=1e-4, atol=1e-5)


def test_few_pairs_gain_by_a_prior_of_the_same_kind() -> None:
    prior = Prior(Scatter.of(*gathered(noisy(0))), {"shrinkage": 0.3})
    found = []
    for seed in range(3):
        few: list[Block] = [(a[:20], b[:20], pair) for a, b, pair in noisy(seed + 2)[:1]]
        for start in (prior, None):
            weights, _ = compute(PLDA, few, ["de", "en"], DIM, {}, start)
            found.append(
                np.mean([recall(*(apply(weights, side, ANY)[0] for side in block[:2])) for block in noisy(1)])
            )
    assert min(found[::2]) > max(found[1::2]) + 0.02


def test_the_order_in_which_a_pair_of_languages_is_given_changes_nothing() -> None:
    blocks = texts()
    a, b, (first, second) = blocks[0]
    turned: list[Block] = [(a[:90], b[:90], (first, second)), (b[90:], a[90:], (second, first)), *blocks[1:]]
    for name, array in fit(*gathered(blocks), 0.3).items():
        found = fit(*gathered(turned), 0.3)[name]
        np.testing.assert_allclose(np.abs(found), np.abs(array), rtol=1e-6, atol=1e-9)


def test_with_a_prior_the_language_part_keeps_as_many_directions_as_all_languages_span() -> None:
    prior = Prior(Scatter.of(*gathered(texts())), {"shrinkage": 0.3})
    few: list[Block] = texts({("en", "de"): 300}, seed=6)
    weights, facts = compute(PLDA, few, ["de", "en"], DIM, {}, prior)
    assert facts["prior_pairs"] == sum(PAIRS.values())
    own = Scatter.of(*gathered(few))
    mixed = own.mixed(prior.scatter)
    assert (mixed.pairs, mixed.languages) == (300 + sum(PAIRS.values()), LANGUAGES)
    # Four languages in the prior leave three directions, the text's two would leave one.
    assert np.linalg.matrix_rank(weights["language"], tol=1e-4) == 3


def test_a_prior_of_another_dimension_is_refused() -> None:
    prior = Prior(Scatter.of(*gathered(texts())), {"shrinkage": 0.3})
    (a, b, pair), *_ = texts()
    with pytest.raises(DataError, match="a prior of 10 dimensions for vectors of 8"):
        compute(PLDA, [(a[:, :8], b[:, :8], pair)], ["de", "en"], 8, {}, prior)
