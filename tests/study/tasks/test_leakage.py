"""Leaks that are there are found, and none where there is none, whatever the scale of the parts."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge as SklearnRidge

from orthoglot.statistics.records import View
from orthoglot.statistics.resampling import Column, resample
from orthoglot.study.tasks.kinds.leakage import MEASURES, PENALTIES, Leak, fit, leaks

N, D = 200, 12
KEYS = np.tile(np.arange(N, dtype=np.uint64), 2)
RNG = np.random.default_rng(0)
MEANING = np.tile(RNG.normal(size=(N, D)), (2, 1))  # translations share it
SIDE = np.repeat([1.0, -1.0], N)[:, None]
LANGUAGE = SIDE * RNG.normal(size=D)  # a constant of each language
NOISE = RNG.normal(size=(2 * N, D))


def measured(
    meaning: np.ndarray | None, language: np.ndarray | None, sentence: np.ndarray | None = None
) -> dict[tuple[str, str], float]:
    """{(metric, view): value} as in the records."""
    if sentence is None:
        assert meaning is not None
        assert language is not None
        sentence = meaning + language
    found = {}
    views: dict[View, np.ndarray] = {"sentence": sentence}
    if meaning is not None and language is not None:
        views |= {"meaning": meaning, "language": language}
    for leak in leaks(views, KEYS, seed=1):
        for metric in MEASURES[leak.measure]:
            found[metric.name, leak.view] = metric.scale * observed(leak, metric.statistic)
    return found


def observed(leak: Leak, statistic: object) -> float:
    column = Column("leak", leak.scores, statistic)  # type: ignore[arg-type]
    return float(resample([column], resamples=1, generator=np.random.default_rng(0)).values[0])


def test_a_clean_split_has_no_leak() -> None:
    found = measured(MEANING, LANGUAGE)
    assert found["language_share", "language"] == pytest.approx(100)
    assert found["language_share", "meaning"] == pytest.approx(0)
    assert found["r2:meaning", "language"] == pytest.approx(0, abs=3)
    # The language alone tells of the sentence what lies between the languages.
    assert found["r2:sentence", "language"] == pytest.approx(found["language_share", "sentence"], abs=3)
    assert abs(found["cosine", "language"]) < 5


def test_a_language_view_that_holds_the_meaning_is_found_out_at_any_scale() -> None:
    for scale in (1.0, 1e-6, 1e6):
        turned = MEANING @ np.linalg.qr(NOISE[:D])[0]
        assert measured(MEANING, scale * turned)["r2:meaning", "language"] > 99
        # One direction of the twelve says the language too, and what it says of the meaning is lost.
        found = measured(MEANING, scale * (turned + LANGUAGE))
        assert 88 < found["r2:meaning", "language"] < 95
        assert 0 < found["language_share", "language"] < 60
    half = measured(MEANING, MEANING + NOISE)
    # Signal and noise alike: R^2 of 1 / 2, less what 200 fitted rows cost.
    assert half["r2:meaning", "language"] == pytest.approx(50, abs=8)


def test_prediction_of_what_is_not_there_is_no_better_than_the_mean() -> None:
    found = measured(MEANING, NOISE)
    assert -15 < found["r2:meaning", "language"] < 3


def test_scale_shows_in_the_norms_alone() -> None:
    sentence = MEANING + LANGUAGE
    one = measured(MEANING + 0.3 * NOISE, LANGUAGE + 0.1 * NOISE, sentence)
    other = measured(7 * (MEANING + 0.3 * NOISE), 1e-3 * (LANGUAGE + 0.1 * NOISE), sentence)
    assert one.keys() == other.keys()
    for name, value in one.items():
        if name[0].startswith("norm"):
            assert other[name] == pytest.approx((7 if name[1] == "meaning" else 1e-3) * value)
        else:
            assert other[name] == pytest.approx(value, abs=1e-4), name


def test_cosines_and_norms_by_hand() -> None:
    meaning = np.tile([[3.0, 0.0]], (2 * N, 1))
    assert measured(meaning, -2 * meaning, 2 * meaning)["cosine", "language"] == pytest.approx(-100)
    found = measured(meaning, np.tile([[0.0, 4.0]], (2 * N, 1)), meaning + np.array([0.0, 4.0]))
    assert found["cosine", "language"] == 0
    assert (found["norm:meaning", "meaning"], found["norm:language", "language"]) == pytest.approx((0.6, 0.8))
    turned = np.where(np.arange(2 * N)[:, None] % 2 == 0, meaning, -meaning)
    found = measured(meaning, turned, meaning)
    assert (found["cosine", "language"], found["cosine:spread", "language"]) == pytest.approx((0, 100))


def test_language_share_is_between_over_total_and_its_chance_that_of_noise() -> None:
    one = NOISE + 0.3 * LANGUAGE
    means = [side.mean(axis=0) for side in np.split(one, 2)]
    between = sum(N * ((mean - one.mean(axis=0)) ** 2).sum() for mean in means)
    share = 100 * between / ((one - one.mean(axis=0)) ** 2).sum()
    found = measured(None, None, one)
    assert found == {("language_share", "sentence"): pytest.approx(share)}
    chance = next(leaks({"sentence": NOISE}, KEYS, 1)).facts["chance"]
    assert chance == pytest.approx(100 / (2 * N - 1), abs=1e-6)
    shares = [
        measured(None, None, np.random.default_rng(seed).normal(size=(2 * N, D)))[
            "language_share", "sentence"
        ]
        for seed in range(100)
    ]
    # sd of a share: sqrt(2 / D) of its chance; a tenth of that for the mean of 100.
    assert np.mean(shares) == pytest.approx(chance, rel=0.15)


def test_the_test_half_is_no_part_of_the_fit_and_translations_stay_together() -> None:
    views: dict[View, np.ndarray] = {
        "sentence": MEANING + LANGUAGE,
        "meaning": MEANING,
        "language": LANGUAGE,
    }
    leak = next(one for one in leaks(views, KEYS, 1) if one.measure == "r2:meaning")
    tested = leak.scores.keys
    assert 0.35 * N < len(set(tested.tolist())) < 0.65 * N
    assert len(tested) == 2 * len(set(tested.tolist()))
    assert leak.facts["fitted"] == 2 * N - len(tested)
    rows = np.isin(KEYS, tested)
    changed = MEANING.copy()
    changed[~rows & (np.arange(2 * N) == np.flatnonzero(~rows)[0])] += 100  # a fitted row
    again = next(one for one in leaks({**views, "meaning": changed}, KEYS, 1) if one.measure == "r2:meaning")
    assert (again.scores.keys == tested).all()
    assert not np.allclose(again.scores.values, leak.scores.values)


def test_golden_ridge_of_scikit_learn_with_the_best_penalty() -> None:
    x, y = NOISE[:100, :8], MEANING[:100, :3] + NOISE[:100, :3]
    chosen = np.arange(100) % 3 == 0
    found = fit(x, y, chosen)

    def golden(rows: np.ndarray, penalty: float) -> SklearnRidge:
        variance = ((x[rows] - x[rows].mean(axis=0)) ** 2).mean()
        return SklearnRidge(alpha=penalty * rows.sum() * variance).fit(x[rows], y[rows])

    errors = {p: ((golden(~chosen, p).predict(x[chosen]) - y[chosen]) ** 2).sum() for p in PENALTIES}
    assert found.penalty == min(errors, key=lambda penalty: errors[penalty])
    every = np.ones(100, dtype=bool)
    np.testing.assert_allclose(found.predict(x), golden(every, found.penalty).predict(x), atol=1e-9)


def test_rows_that_are_not_finite_or_zero_are_left_out() -> None:
    meaning, language = MEANING.copy(), LANGUAGE + 0.1 * NOISE
    meaning[3] = np.nan
    language[5] = 0
    views: dict[View, np.ndarray] = {"sentence": MEANING, "meaning": meaning, "language": language}
    found = {leak.measure + leak.view: leak for leak in leaks(views, KEYS, 1)}
    assert np.flatnonzero(np.isnan(found["cosinelanguage"].scores.values[:, 0])).tolist() == [3, 5]
    assert np.flatnonzero(np.isnan(found["norm:meaningmeaning"].scores.values[:, 0])).tolist() == [3]
    assert np.isfinite(found["norm:languagelanguage"].scores.values).all()
    share = found["language_sharemeaning"]
    assert np.isnan(share.scores.values[3]).all()
    assert share.facts["sentences"] == 2 * N - 1
    assert np.isfinite(found["r2:meaninglanguage"].scores.values).all()


def test_a_constant_view_has_no_share_and_predicts_the_mean() -> None:
    constant = np.ones((2 * N, D))
    found = measured(MEANING, constant)
    assert np.isnan(found["language_share", "language"])
    assert found["r2:meaning", "language"] == pytest.approx(0, abs=1e-9)


def test_the_interval_of_a_share_is_that_of_the_share_taken_anew() -> None:
    sentence = MEANING[:, :3] + 0.4 * LANGUAGE[:, :3] + 0.3 * NOISE[:, :3]
    leak = next(leaks({"sentence": sentence}, KEYS, 1))
    (metric,) = MEASURES["language_share"]
    column = Column("share", leak.scores, metric.statistic)
    drawn = resample([column], resamples=2000, generator=np.random.default_rng(1)).draws[0]
    rng = np.random.default_rng(2)
    slow = []
    for _ in range(500):
        rows = rng.integers(N, size=N)
        sides = sentence[rows], sentence[N + rows]
        one = np.concatenate(sides)
        within = sum(((side - side.mean(axis=0)) ** 2).sum() for side in sides)
        slow.append(1 - within / ((one - one.mean(axis=0)) ** 2).sum())
    # The means are kept, which is exact to first order in 1 / sqrt(N).
    assert np.std(drawn) == pytest.approx(np.std(slow), rel=0.2)
