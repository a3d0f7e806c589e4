"""The protocol of BUCC on vectors whose pairs are known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from orthoglot.errors import DataError
from orthoglot.search.margins import best_threshold, mine
from orthoglot.search.neighbours import nearest
from orthoglot.study.benchmarks.base import PairSet
from orthoglot.study.benchmarks.kinds.mining import MiningSet
from orthoglot.study.tasks.kinds.mining import MEASURES, Mining, diluted

METRICS = {metric.name: metric for metric in MEASURES["mining"]}


def texts(n: int, m: int, gold: int, name: str = "bucc") -> MiningSet:
    """The last `gold` sources translate the first targets."""
    pairs = [(n - gold + one, one) for one in range(gold)]
    return MiningSet(
        name, "de", "en", [f"{name} d{i}" for i in range(n)], [f"{name} e{j}" for j in range(m)], pairs
    )


def vectors(one: MiningSet, noise: float, seed: int = 1, width: int = 24) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    x, y = (rng.normal(size=(len(side), width)) for side in (one.source_sentences, one.target_sentences))
    for i, j in one.gold:
        x[i] = y[j] + noise * rng.normal(size=width)
    return {"source": (x + 1).astype(np.float32), "target": (y + 1).astype(np.float32)}


def metric(name: str, counts: np.ndarray) -> float:
    statistic: Any = METRICS[name].statistic
    kept = counts[~np.isnan(counts).any(axis=1)]
    return float(statistic.finish(statistic.moments(kept).sum(axis=0)[:, None])[0])


def test_close_translations_are_found_and_others_are_not() -> None:
    one = texts(200, 300, 40)
    task = Mining("mining", one, seed=1)
    (counts,) = task.score(vectors(one, 0.1)).scores.values()
    assert counts.shape == (200, 5)
    assert counts[:, 2].sum() == 40
    assert metric("F1", counts) > 0.95
    far = task.score(vectors(one, 30.0)).scores["de-en"]
    assert metric("F1", far) < 0.1


def test_scores_are_those_of_the_protocol_step_by_step() -> None:
    one = texts(150, 180, 40)
    given = vectors(one, 0.9)
    task = Mining("mining", one, seed=3)
    result = task.score(given)
    counts = result.scores["de-en"]
    x, y = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in given.values())
    mined = mine(x, y, nearest(x, y, 4))
    pairs = list(zip(mined.sources.tolist(), mined.targets.tolist(), mined.margins.tolist(), strict=True))
    hits = kept = 0
    for half, other in (task.halves(), task.halves()[::-1]):
        theirs = [(margin, (i, j) in one.gold) for i, j, margin in pairs if other[i]]
        gold = sum(other[i] for i, _ in one.gold)
        threshold = best_threshold(*map(np.array, zip(*theirs, strict=True)), gold).value
        own = [(i, j) in one.gold for i, j, margin in pairs if half[i] and margin >= threshold]
        hits, kept = hits + sum(own), kept + len(own)
    assert 5 < hits < kept
    assert metric("F1", counts) == pytest.approx(2 * hits / (kept + 40))
    assert metric("precision", counts) == pytest.approx(hits / kept)
    assert metric("recall", counts) == pytest.approx(hits / 40)
    correct = np.array([(i, j) in one.gold for i, j, _ in pairs])
    best = best_threshold(mined.margins, correct, 40)
    assert metric("F1:best", counts) == pytest.approx(best.f1)
    assert best.f1 >= metric("F1", counts)
    assert task.facts("de-en")["threshold_from"] == "other-half"


def test_a_training_set_decides_the_threshold_alone() -> None:
    one, other = texts(100, 120, 20), texts(110, 130, 25, "train")
    task = Mining("mining", replace(one, train=other), seed=1)
    assert list(task.sides()) == ["source", "target", "train source", "train target"]
    own, theirs = vectors(one, 0.8), vectors(other, 0.8, seed=2)
    result = task.score(own | {f"train {side}": rows for side, rows in theirs.items()})
    x, y = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in theirs.values())
    mined = mine(x, y, nearest(x, y, 4))
    correct = np.array([one in other.gold for one in zip(mined.sources, mined.targets, strict=True)])
    threshold = best_threshold(mined.margins, correct, 25).value
    assert float(str(result.facts["threshold"])) == pytest.approx(threshold, rel=1e-5)
    assert task.facts("de-en")["threshold_from"] == "train"
    # Other labels of the test set change what is correct, and no pair that is taken.
    moved = replace(one, gold=[(0, 0)], train=other)
    again = Mining("mining", moved, seed=1).score(
        own | {f"train {side}": rows for side, rows in theirs.items()}
    )
    assert (again.scores["de-en"][:, 1] == result.scores["de-en"][:, 1]).all()
    assert again.scores["de-en"][:, 0].sum() <= 1


@pytest.mark.parametrize("bad", [0.0, np.nan])
def test_what_has_no_direction_is_left_out_and_counted(bad: float) -> None:
    one = texts(100, 120, 30)
    given = vectors(one, 0.1)
    given["source"][3] = bad
    given["target"][0] = bad  # the translation of source 70
    counts = Mining("mining", one, seed=1).score(given).scores["de-en"]
    assert np.flatnonzero(np.isnan(counts).any(axis=1)).tolist() == [3, 70]
    nothing = {side: np.full_like(rows, bad) for side, rows in given.items()}
    assert np.isnan(Mining("mining", one, seed=1).score(nothing).scores["de-en"]).all()


def test_a_constant_view_mines_nothing_correct_beyond_chance() -> None:
    one = texts(100, 120, 30)
    constant = {
        side: np.ones((size, 8), dtype=np.float32) for side, size in (("source", 100), ("target", 120))
    }
    counts = Mining("mining", one, seed=1).score(constant).scores["de-en"]
    assert metric("F1", counts) <= 0.1


def test_too_few_gold_pairs_are_refused() -> None:
    with pytest.raises(DataError, match="are needed to learn a threshold"):
        Mining("mining", texts(100, 100, 6), seed=1)


@pytest.mark.parametrize(("n", "share"), [(1000, 0.03), (501, 0.2), (10, 1.0), (7, 0.03)])
def test_held_out_pairs_are_diluted_to_the_share(n: int, share: float) -> None:
    pairs = PairSet("test", "de", "en", [f"d{i}" for i in range(n)], [f"e{i}" for i in range(n)])
    found = diluted(pairs, share)
    for side in (found.source_sentences, found.target_sentences):
        assert len(found.gold) == pytest.approx(share * len(side), abs=1)
        assert len(side) == pytest.approx((n + len(found.gold)) / 2, abs=2 + n * 0.02)
    assert all(found.source_sentences[i][1:] == found.target_sentences[j][1:] for i, j in found.gold)
    together = {text[1:] for text in found.source_sentences} & {text[1:] for text in found.target_sentences}
    assert len(together) == len(found.gold)


def test_mined_pairs_that_are_not_gold_are_shown_by_falling_margin() -> None:
    one = texts(150, 180, 40)
    # The gold lacks one of the pairs, and the nearest.
    given = vectors(one, 0.9)
    given["source"][one.gold[7][0]] = given["target"][one.gold[7][1]]
    lacking = replace(one, gold=[pair for pair in one.gold if pair != one.gold[7]])
    result = Mining("mining", lacking, seed=3).score(given)
    shown = result.examples
    assert shown[0]["Source"] == one.source_sentences[one.gold[7][0]]
    assert shown[0]["Target"] == one.target_sentences[one.gold[7][1]]
    gold = {(one.source_sentences[i], one.target_sentences[j]) for i, j in lacking.gold}
    assert not gold & {(row["Source"], row["Target"]) for row in shown}
    margins = [float(row["Margin"]) for row in shown]
    assert margins == sorted(margins, reverse=True)
    counts = result.scores["de-en"].sum(axis=0)
    assert len(shown) == min(10, counts[1] - counts[0])
    # Below the threshold nothing is mined.
    lowest = min(map(float, result.facts["threshold"].split(",")))
    assert margins[-1] >= lowest - 1e-3
