"""TLR@20 and Max@R against their definitions, candidate by candidate."""

from __future__ import annotations

import math

import numpy as np
import pytest
from test_lareqa import task as answers

from orthoglot.study.benchmarks.kinds.pool import PoolSet
from orthoglot.study.tasks.kinds.language_bias import LanguageBias, last_rank, target_recall


def task(language: float) -> tuple[LanguageBias, dict[str, np.ndarray]]:
    """12 questions in German; the pool has their answers in German, English and French."""
    asked, vectors = answers()
    pool = asked.pool
    codes = ("de", "en", "fr")
    texts = {code: [f"{code} {one}" for one in pool.ids["de"]] for code in codes}
    wide = PoolSet(
        "lareqa", pool.questions, pool.numbers, pool.answers, texts, dict.fromkeys(codes, pool.ids["de"])
    )
    rng = np.random.default_rng(2)
    own = {code: language * rng.normal(size=10) for code in codes}
    vectors["fr"] = vectors["de"] + rng.normal(size=(12, 10)).astype(np.float32) / 2
    moved = {code: (vectors[code] + own[code]).astype(np.float32) for code in codes}
    moved["question"] = (vectors["question"] + own["de"]).astype(np.float32)
    return LanguageBias("language-bias", wide, "de"), moved


@pytest.mark.parametrize("language", [0.0, 1.0, 3.0])
def test_measures_are_the_definitions(language: float) -> None:
    asked, vectors = task(language)
    found = asked.score(vectors).scores["de"]
    pool = np.concatenate([vectors[code] for code in ("de", "en", "fr")]).astype(np.float64)
    pool /= np.linalg.norm(pool, axis=1, keepdims=True)
    for row, question in enumerate(vectors["question"]):
        order = np.argsort(-(pool @ question)).tolist()
        foreign, every = [12 + row, 24 + row], [row, 12 + row, 24 + row]
        assert found[row, 0] == pytest.approx(sum(one in order[:20] for one in foreign) / 2)
        last = max(order.index(one) + 1 for one in every)
        norm = (math.log2(36) - math.log2(last)) / (math.log2(36) - math.log2(3))
        assert found[row, 1] == pytest.approx(norm)
    assert 0 < found.mean() < 1


def test_the_longer_the_language_part_the_lower_both() -> None:
    without, long = (
        asked.score(vectors).scores["de"].mean(axis=0) for asked, vectors in (task(0.0), task(6.0))
    )
    assert (long < without).all()


def test_values_by_hand() -> None:
    # Ranks 1 and 21 of the answers in other languages: one of two is among 20.
    assert target_recall(np.array([1, 21]), 20) == 0.5
    assert target_recall(np.array([20.0]), 20) == 1
    # (log2 64 - log2 8) / (log2 64 - log2 2) = 3 / 5
    assert last_rank(np.array([1, 8]), 64) == pytest.approx(0.6)
    assert last_rank(np.array([1, 2]), 64) == pytest.approx(1)
    assert last_rank(np.array([1, 64]), 64) == pytest.approx(0)
    assert last_rank(np.array([1, 2]), 2) == 1


def test_a_question_without_an_answer_in_another_language_is_left_out() -> None:
    asked, vectors = task(0.0)
    pool = asked.pool
    kept = {"de": pool.candidates["de"], "en": pool.candidates["en"][:5]}
    ids = {"de": pool.ids["de"], "en": pool.ids["en"][:5]}
    # Without the questions of English, an answer there is what has the id.
    numbers, texts = {"de": pool.numbers["de"]}, {"de": pool.questions["de"]}
    alone = LanguageBias(
        "language-bias", PoolSet("one", texts, numbers, {"de": pool.answers["de"]}, kept, ids), "de"
    )
    vectors["en"] = vectors["en"][:5]
    found = alone.score(vectors).scores["de"]
    assert np.flatnonzero(np.isnan(found).all(axis=1)).tolist() == [5, 6, 7, 8, 9, 10, 11]
    assert not np.isnan(found[:5]).any()


def test_facts_say_the_chance() -> None:
    asked, _ = task(0.0)
    assert asked.facts("de")["chance"] == pytest.approx(100 * 20 / 36, abs=1e-5)
