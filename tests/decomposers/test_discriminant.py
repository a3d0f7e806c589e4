"""Fisher's discriminant with each translation pair as a class."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from orthoglot.decomposers.architectures.discriminant import ARCHITECTURE as DISCRIMINANT
from orthoglot.decomposers.architectures.discriminant import (
    Prior,
    Scatter,
    apply,
    candidates,
    fit,
    maps,
)
from orthoglot.decomposers.base import Decomposer, Languages, unit
from orthoglot.decomposers.choice import losses
from orthoglot.decomposers.moments import Block, Moments, PairMoments, compute
from orthoglot.errors import DataError

DIM, MEANING, PAIRS = 16, 8, 400
LANGUAGES = ["en", "de", "zh"]
ANY = Languages([], None, LANGUAGES)


def texts(seed: int = 0, count: int = PAIRS) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Unit vectors of translations from English: meaning in 8 directions, language and noise in all, turned."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(DIM, DIM)))[0]
    offsets = {name: np.random.default_rng(9 + n).normal(size=DIM) for n, name in enumerate(LANGUAGES)}

    def side(meaning: np.ndarray, name: str) -> np.ndarray:
        noise = rng.normal(size=(count, DIM)) * np.where(np.arange(DIM) < MEANING, 0.3, 1.0)
        vectors = (np.pad(meaning, ((0, 0), (0, DIM - MEANING))) + noise + offsets[name]) @ turn
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    found = {}
    for name in ("de", "zh"):
        meaning = rng.normal(size=(count, MEANING))
        found[name] = (side(meaning, "en"), side(meaning, name))
    return found


def gathered() -> tuple[Moments, PairMoments]:
    moments, pairs = Moments(DIM, LANGUAGES, products=True), PairMoments(DIM, products=True)
    for name, (source, target) in texts().items():
        moments.update(source, "en")
        moments.update(target, name)
        pairs.update(source, target, ("en", name))
    return moments, pairs


def fitted(shrinkage: float, power: float) -> dict[str, np.ndarray]:
    return fit(*gathered(), shrinkage, power, "overall")


def retrieval(source: np.ndarray, target: np.ndarray) -> float:
    source, target = (part / np.linalg.norm(part, axis=1, keepdims=True) for part in (source, target))
    return float(np.mean((source @ target.T).argmax(axis=1) == np.arange(len(source))))


def scatter(count: int, seed: int) -> Scatter:
    """Of unit vectors of translations: meaning in 4 of 16 directions, noise in all, no mean."""
    rng = np.random.default_rng(seed)
    meaning = np.pad(rng.normal(size=(count, 4)), ((0, 0), (0, DIM - 4)))
    moments, pairs = Moments(DIM, ["en", "de"], products=True), PairMoments(DIM, products=True)
    source, target = (meaning + rng.normal(size=(count, DIM)) for _ in range(2))
    source, target = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in (source, target))
    moments.update(source, "en")
    moments.update(target, "de")
    pairs.update(source, target, ("en", "de"))
    return Scatter.of(moments, pairs)


@pytest.mark.parametrize("count", [12, 40, 2000])
def test_what_translations_share_is_shrunk_by_about_the_best_share(count: int) -> None:
    truth = scatter(400_000, 1000).shared
    plain = shrunk = 0.0
    shares = np.linspace(0, 1, 101)
    by_share = np.zeros(len(shares))
    for seed in range(60):
        found = scatter(count, seed)
        target = np.trace(found.shared) / DIM * np.eye(DIM)
        plain += np.linalg.norm(found.shared - truth) ** 2
        shrunk += np.linalg.norm(found.between("none") - truth) ** 2
        by_share += [np.linalg.norm((1 - t) * found.shared + t * target - truth) ** 2 for t in shares]
    assert shrunk < plain
    # The share that is best over all draws is not known when one of them is shrunk.
    assert shrunk < 1.25 * by_share.min()


def test_few_directions_are_without_meaning_however_few_translations_there_are() -> None:
    """As they are, half of the directions of so few translations would have none, by chance."""
    before, after = (
        np.mean([(np.linalg.eigvalsh(scatter).real < 0).mean() for scatter in scatters])
        for scatters in zip(
            *((scatter(12, seed).shared, scatter(12, seed).between("none")) for seed in range(30)),
            strict=True,
        )
    )
    assert after < 0.5 * before


def test_meaning_finds_held_out_translations_that_the_vectors_hide_and_language_finds_none() -> None:
    weights = fitted(0.3, 0.5)
    for source, target in texts(seed=5).values():
        parts = [apply(weights, side, ANY) for side in (source, target)]
        plain = retrieval(source, target)
        assert retrieval(parts[0][0], parts[1][0]) > plain + 0.2
        assert plain > 0.02 > retrieval(parts[0][1], parts[1][1])


def test_language_is_not_linearly_predictable_from_the_meaning_of_sentences_of_its_language() -> None:
    """Over all languages together, with each language's mean taken out."""
    weights, total = fitted(0.3, 1.0), np.zeros((DIM, DIM))
    sides: dict[str, list[np.ndarray]] = {name: [] for name in LANGUAGES}
    for name, (source, target) in texts().items():
        sides["en"].append(source)
        sides[name].append(target)
    offsets = []
    for found in sides.values():
        meaning, language = apply(weights, np.concatenate(found), ANY)
        offsets.append(language.mean(axis=0))
        total += (meaning - meaning.mean(axis=0)).T @ (language - offsets[-1])
    np.testing.assert_allclose(total, 0, atol=1e-9)
    assert np.linalg.norm(offsets[0] - offsets[1]) > 0.1


def test_too_few_pairs_need_shrinkage() -> None:
    moments, pairs = Moments(DIM, ["en", "de"], products=True), PairMoments(DIM, products=True)
    source, target = (side[: DIM // 2] for side in texts()["de"])
    moments.update(source, "en")
    moments.update(target, "de")
    pairs.update(source, target, ("en", "de"))
    with pytest.raises(DataError, match="do not fill their 16 dimensions"):
        fit(moments, pairs, 0.0, 0.5, "overall")
    assert np.isfinite(fit(moments, pairs, 0.5, 0.5, "overall")["meaning"]).all()


def blocks(seed: int) -> list[Block]:
    return [(*sides, ("en", name)) for name, sides in texts(seed).items()]


def decomposed(
    given: dict[str, Any], training: list[Block] | None = None
) -> tuple[Decomposer, dict[str, Any]]:
    weights, facts = compute(DISCRIMINANT, training or blocks(0), LANGUAGES, DIM, given)
    return Decomposer("discriminant", "m", "toy", "abc", LANGUAGES, DIM, weights, facts), facts


def cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a @ b.T) / np.outer(np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1))


@pytest.mark.parametrize("centre", ["overall", "none"])
def test_full_shrinkage_and_power_0_leave_the_cosines_of_the_vectors_less_their_mean(centre: str) -> None:
    decomposer, facts = decomposed({"shrinkage": 1.0, "power": 0.0, "centre": centre})
    assert "validation" not in facts
    mean = decomposer.weights["centre"]
    assert mean.any() == (centre == "overall")
    sides = texts(5)["de"]
    meanings = [decomposer.transform(side, "de").meaning for side in sides]
    np.testing.assert_allclose(cosines(*meanings), cosines(*(side - mean for side in sides)), atol=1e-5)


def test_the_length_of_a_vector_matters_neither_when_fitted_nor_when_applied() -> None:
    given = {"shrinkage": 0.3, "power": 0.5, "centre": "overall"}
    lengths = np.random.default_rng(0).uniform(0.1, 10, size=(PAIRS, 1))
    scaled = [(lengths * source, target / lengths, pair) for source, target, pair in blocks(0)]
    weights, _ = compute(DISCRIMINANT, scaled, LANGUAGES, DIM, given)
    decomposer, _ = decomposed(given)
    source, _ = texts(5)["de"]
    other = Decomposer("discriminant", "m", "toy", "abc", LANGUAGES, DIM, weights, {})
    for one in (decomposer.transform(7 * source, "de"), other.transform(source, "de")):
        plain = decomposer.transform(source, "de")
        np.testing.assert_allclose(
            cosines(one.meaning, one.meaning), cosines(plain.meaning, plain.meaning), atol=1e-4
        )
        np.testing.assert_allclose(one.language, plain.language, atol=1e-4)
    # The sentence view stays what the encoder gave; a vector without a direction has finite parts.
    np.testing.assert_array_equal(
        decomposer.transform(7 * source, "de").sentence, (7 * source).astype(np.float32)
    )
    assert np.isfinite(decomposer.transform(np.zeros((1, DIM)), "de").meaning).all()


@pytest.mark.parametrize(
    ("given", "count"),
    [({}, 33), ({"shrinkage": 0.2}, 4), ({"power": 0.5, "centre": "overall"}, 8), ({"centre": "none"}, 32)],
)
def test_candidates_are_what_fit_and_apply_give_and_hold_the_undivided_vector(
    given: dict[str, Any], count: int
) -> None:
    found = list(candidates(*gathered(), blocks(5), given))
    assert len(found) == count
    nearest = [one for one in found if one.distance == min(other.distance for other in found)]
    assert len(nearest) == 1
    for one in found[:: max(1, len(found) // 6)]:
        assert given.items() <= one.settings.items()
        decomposer, _ = decomposed(one.settings)
        for (source, target, pair), sides in zip(blocks(5), one.vectors, strict=True):
            ours = [
                decomposer.transform(side, code).meaning
                for side, code in zip((source, target), pair, strict=True)
            ]
            np.testing.assert_allclose(cosines(*sides), cosines(*ours), atol=1e-4)
    if not given:
        assert nearest[0].settings == {"shrinkage": 1.0, "power": 0.0, "centre": "none"}


def undivided(facts: dict[str, Any]) -> bool:
    return (facts["shrinkage"], facts["power"], facts["centre"]) == (1.0, 0.0, "none")


@pytest.mark.parametrize("count", [PAIRS, 60, 15])
def test_settings_are_chosen_where_held_out_pairs_gain_however_few_they_are(count: int) -> None:
    training = [(source[:count], target[:count], pair) for source, target, pair in blocks(0)]
    decomposer, facts = decomposed({}, training)
    assert (
        facts["validation"]["lowest"] <= facts["validation"]["chosen"] < facts["validation"]["nearest"] - 0.1
    )
    assert not undivided(facts)
    for source, target in texts(5).values():
        meanings = [decomposer.transform(side, "de").meaning for side in (source, target)]
        assert retrieval(*meanings) > retrieval(source, target) + (0.2 if count > 15 else 0.05)


def test_vectors_without_anything_to_gain_stay_undivided() -> None:
    rng = np.random.default_rng(0)
    same = [rng.normal(size=(200, DIM)) for _ in range(2)]
    training = [
        (source, source + 0.3 * rng.normal(size=source.shape), ("en", name))
        for source, name in zip(same, ("de", "zh"), strict=True)
    ]
    _, facts = decomposed({}, training)
    assert undivided(facts)
    assert facts["validation"]["chosen"] == facts["validation"]["nearest"]


def test_a_language_part_is_left_even_where_translations_agree_in_every_direction() -> None:
    rng = np.random.default_rng(0)
    source = rng.normal(size=(PAIRS, DIM))
    close = [(source, source + 0.1 * rng.normal(size=source.shape), ("en", name)) for name in ("de", "zh")]
    given = {"shrinkage": 0.5, "power": 0.5, "centre": "overall"}
    weights, _ = compute(DISCRIMINANT, close, LANGUAGES, DIM, given)
    # Two dimensions, as three means span.
    assert (np.linalg.svd(weights["language"], compute_uv=False) > 1e-4).sum() == 2


def test_settings_are_chosen_by_pairs_that_were_left_out_of_the_fit() -> None:
    """Of few pairs in many dimensions, what was fitted to them finds them all, which says nothing of others."""
    rng = np.random.default_rng(3)
    source = rng.normal(size=(40, 60))
    block = (source, source + 2.5 * rng.normal(size=source.shape), ("en", "de"))
    _, chosen = compute(DISCRIMINANT, [block], ["en", "de"], 60, {"power": 0.0, "centre": "overall"})
    moments, pairs = Moments(60, ["en", "de"], products=True), PairMoments(60, products=True)
    sides = [unit(side) for side in block[:2]]
    moments.update(sides[0], "en")
    moments.update(sides[1], "de")
    pairs.update(*sides, ("en", "de"))
    everything = (*sides, ("en", "de"))
    found = list(candidates(moments, pairs, [everything], {"power": 0.0, "centre": "overall"}))
    rows = np.arange(40)
    in_sample = min(losses(*one.vectors[0], rows).mean(axis=1).min() for one in found)
    assert in_sample < 0.1
    assert chosen["validation"]["lowest"] > 10 * in_sample + 0.5


SETTINGS = {"shrinkage": 0.3, "power": 0.5, "centre": "overall"}


def summed(training: list[Block]) -> Scatter:
    moments, pairs = Moments(DIM, LANGUAGES, products=True), PairMoments(DIM, products=True)
    for source, target, pair in training:
        moments.update(unit(source), pair[0])
        moments.update(unit(target), pair[1])
        pairs.update(unit(source), unit(target), pair)
    return Scatter.of(moments, pairs)


def parted(count: int) -> list[list[Block]]:
    """The first pairs of each block, and the others."""
    rows = slice(None, count), slice(count, None)
    return [[(source[part], target[part], pair) for source, target, pair in blocks(0)] for part in rows]


@pytest.mark.parametrize("count", [40, 200])
def test_a_mixture_of_two_parts_by_their_sizes_is_the_scatter_of_both(count: int) -> None:
    few, many = map(summed, parted(count))
    mixed, whole = few.mixed(many, 1 - count / PAIRS), summed(blocks(0))
    for name in ("mean", "squares", "shared"):
        np.testing.assert_allclose(getattr(mixed, name), getattr(whole, name), atol=1e-12)
    # Each weight is that of a pair, so the mixture is worth as many as there are.
    assert mixed.pairs == pytest.approx(2 * PAIRS)
    assert summed(blocks(0)).mixed(few, 0.0).pairs == pytest.approx(2 * PAIRS)


def test_a_mixture_that_is_all_prior_is_the_prior_and_one_without_it_the_fit() -> None:
    prior = Prior(summed(parted(200)[1]), SETTINGS)
    for share, expected in ((1.0, maps(prior.scatter, **SETTINGS)), (0.0, fit(*gathered(), **SETTINGS))):
        found = fit(*gathered(), **SETTINGS, prior=prior, prior_share=share)
        for name, array in expected.items():
            np.testing.assert_allclose(found[name], array, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_few_pairs_stay_with_a_prior_of_the_same_kind_and_gain_by_it(seed: int) -> None:
    prior = Prior(summed(blocks(0)), SETTINGS)
    few = [(source[:12], target[:12], pair) for source, target, pair in blocks(seed + 20)]
    weights, facts = compute(DISCRIMINANT, few, LANGUAGES, DIM, {}, prior)
    alone, _ = compute(DISCRIMINANT, few, LANGUAGES, DIM, {"power": 0.5})
    assert facts["prior_share"] >= 0.9
    found = []
    for parts in (weights, alone):
        sides = [[apply(parts, side, ANY)[0] for side in pair] for pair in texts(99).values()]
        found.append(np.mean([retrieval(*pair) for pair in sides]))
    assert found[0] > found[1] + 0.02


def test_many_pairs_leave_a_prior_of_another_kind() -> None:
    turn = np.linalg.qr(np.random.default_rng(8).normal(size=(DIM, DIM)))[0]
    prior = Prior(summed([(a @ turn, b @ turn, pair) for a, b, pair in blocks(0)]), SETTINGS)
    _, facts = compute(DISCRIMINANT, blocks(1), LANGUAGES, DIM, {}, prior)
    assert facts.get("prior_share", 0) <= 0.1
    assert facts["validation"]["chosen"] < facts["validation"]["nearest"] - 0.5


def test_candidates_with_a_prior_are_what_fit_and_apply_give() -> None:
    prior = Prior(summed(parted(50)[1]), SETTINGS)
    found = list(candidates(*gathered(), blocks(5), {}, prior))
    assert len(found) == 6 * 4 + 33
    assert [one.settings["prior_share"] for one in found[:24:4]] == [1, 0.9, 0.7, 0.5, 0.3, 0.1]
    # The nearest is the prior itself, and the farthest are fits without it.
    assert min(found, key=lambda one: one.distance).settings == {**SETTINGS, "prior_share": 1.0}
    assert max(one.distance for one in found[:24]) < min(one.distance for one in found[24:])
    for one in found[:24]:
        weights = fit(*gathered(), **one.settings, prior=prior)
        for block, sides in zip(blocks(5), one.vectors, strict=True):
            ours = [apply(weights, side, ANY)[0] for side in block[:2]]
            np.testing.assert_allclose(cosines(*sides), cosines(*ours), atol=1e-4)


def test_the_first_numbers_of_the_meaning_part_are_those_that_tell_translations() -> None:
    weights = fitted(0.1, 0)
    assert (np.diff(weights["worth"]) <= 0).all()
    sides = np.stack([apply(weights, side, ANY)[0] for side in texts(seed=5)["de"]])
    found = [retrieval(*sides[:, :, MEANING:]), retrieval(*sides[:, :, :MEANING])]
    assert found[0] < 0.1 < 0.5 < found[1]
