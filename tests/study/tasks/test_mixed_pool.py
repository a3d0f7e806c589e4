"""The pool of all languages against the definitions, sentence by sentence."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import skew

from orthoglot.study.benchmarks.kinds.nway import NwaySet
from orthoglot.study.tasks.kinds.mixed_pool import MEASURES, MixedPool, in_pool, others

LANGUAGES, LINES, WIDTH = 4, 30, 12
METRICS = {metric.name: metric for metric in MEASURES["mixed-pool"]}


def vectors(language: float, noise: float, seed: int = 1) -> dict[str, np.ndarray]:
    """Translations share a meaning; `language` is how long the language's own part is."""
    rng = np.random.default_rng(seed)
    meaning = rng.normal(size=(LINES, WIDTH))
    own = rng.normal(size=(LANGUAGES, WIDTH))
    return {
        code: (meaning + language * own[k] + noise * rng.normal(size=meaning.shape)).astype(np.float32)
        for k, code in enumerate("abcd")
    }


def task() -> MixedPool:
    return MixedPool(
        "mixed-pool", NwaySet("wide", {code: [f"{code}{i}" for i in range(LINES)] for code in "abcd"})
    )


def metric(name: str, values: np.ndarray) -> float:
    statistic, kept = METRICS[name].statistic, values[~np.isnan(values).any(axis=1)]
    return float(statistic.finish(statistic.moments(kept).sum(axis=0)[:, None])[0])


@pytest.mark.parametrize("language", [0.0, 0.8, 2.0])
def test_numbers_are_the_definitions(language: float) -> None:
    stacked = np.concatenate([*vectors(language, 0.7).values()])
    stacked /= np.linalg.norm(stacked, axis=1, keepdims=True)
    found = in_pool(stacked, LANGUAGES)
    total = LANGUAGES * LINES
    occurrences = np.zeros(total)
    for i in range(total):
        others = sorted((j for j in range(total) if j != i), key=lambda j: -float(stacked[i] @ stacked[j]))
        ten, three = others[:10], others[:3]
        occurrences[ten] += 1
        assert found[i, 0] == pytest.approx(np.mean([j // LINES == i // LINES for j in ten]))
        assert found[i, 1] == pytest.approx(len({j // LINES for j in ten}) / LANGUAGES)
        assert found[i, 2] == pytest.approx(1 / (1 + [j % LINES == i % LINES for j in others].index(True)))
        assert found[i, 3] == pytest.approx(np.mean([j % LINES == i % LINES for j in three]))
    assert found[:, 4].tolist() == occurrences.tolist()
    assert metric("hubness", found) == pytest.approx(skew(occurrences))


def test_the_longer_the_language_part_the_more_neighbours_share_it() -> None:
    shares = [task().score(vectors(length, 0.3)).scores["pool"] for length in (0.0, 1.0, 10.0)]
    same, rank = ([metric(name, one) for one in shares] for name in ("same-language", "reciprocal-rank"))
    assert same[0] < same[1] < same[2] == 1
    assert rank[0] > rank[1] > rank[2]
    facts = task().facts("pool")
    assert facts["chance"] == pytest.approx(100 * 29 / 119, abs=1e-5)
    assert facts["candidates"] == 119


def test_a_line_without_direction_is_left_out_in_all_languages() -> None:
    given = vectors(0.5, 0.5)
    given["b"][4] = 0
    given["c"][9] = np.nan
    found = task().score(given).scores["pool"]
    missing = np.isnan(found).any(axis=1).reshape(LANGUAGES, LINES)
    assert (missing == np.isin(np.arange(LINES), [4, 9])).all()
    kept = np.concatenate([np.delete(rows, [4, 9], axis=0) for rows in given.values()])
    kept /= np.linalg.norm(kept, axis=1, keepdims=True)
    np.testing.assert_allclose(found[~np.isnan(found).any(axis=1)], in_pool(kept, LANGUAGES))


def test_a_constant_view_is_at_chance() -> None:
    constant = {code: np.ones((LINES, 3), dtype=np.float32) for code in "abcd"}
    found = task().score(constant).scores["pool"]
    # The translation is anywhere among the 116 other sentences.
    assert found[:, 2] == pytest.approx(1 / (1 + 116 / 2))


def test_of_equal_cosines_half_count_as_better() -> None:
    """Line 7 repeats line 3: each translation of the two ties with one sentence of the other line, also far away."""
    for language in (0.0, 5.0):
        given = vectors(language, 0.1)
        for rows in given.values():
            rows[7] = rows[3]
        stacked = np.concatenate([*given.values()])
        stacked /= np.linalg.norm(stacked, axis=1, keepdims=True)
        ranks = 1 / in_pool(stacked, LANGUAGES)[:, 2].reshape(LANGUAGES, LINES)
        if language == 0:
            # Before the nearest translation comes the sentence's own copy, and one is equal to it.
            assert ranks[:, [3, 7]] == pytest.approx(2.5)
            assert np.delete(ranks, [3, 7], axis=1) == pytest.approx(1)
        else:
            assert (ranks[:, 3] % 1 == 0.5).all()
            assert (ranks >= LINES).all()


def test_keys_are_lines_whatever_the_language() -> None:
    keys = task().keys().reshape(LANGUAGES, LINES)
    assert (keys == keys[0]).all()
    assert len(set(keys[0].tolist())) == LINES


def test_a_sentence_is_no_neighbour_of_its_own() -> None:
    """Of sentences of one text, others may come first: then the last neighbour is too many."""
    rows = np.array([[0, 2, 3], [0, 1, 2], [0, 1, 3], [0, 1, 3]])
    assert others(rows).tolist() == [[2, 3], [0, 2], [0, 1], [0, 1]]
