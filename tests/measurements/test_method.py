"""The command of the test of PLDA: its readers, its numbers against plain loops, and its verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import method
import method_sets
import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from orthoglot.decomposers.base import Decomposer, unit

SENTENCES = [("a man runs", "a man walks"), ("a man walks", "a dog"), ("two cats", "a cat")]


def test_neighbours_are_those_of_a_loop() -> None:
    k, n = 3, 7
    draw = np.random.default_rng(3)
    vectors = unit(draw.normal(size=(1, n, 6)) + 0.8 * draw.normal(size=(k, n, 6))).astype(np.float32)
    hits, shares = method.neighbours(vectors, block=4)
    expected = np.zeros((2, n))
    for a in range(k):
        for i in range(n):
            scores = {(b, j): float(vectors[a, i] @ vectors[b, j]) for b in range(k) for j in range(n)}
            del scores[a, i]
            near = sorted(scores, key=lambda of: -scores[of])[: k - 1]
            expected[1, i] += np.mean([j == i for _, j in near]) / k
            for b in set(range(k)) - {a}:
                expected[0, i] += (max(range(n), key=lambda j: scores[b, j]) == i) / (k * (k - 1))
    assert 0.1 < expected[0].mean() < 0.9
    np.testing.assert_allclose([hits, shares], expected, atol=1e-6)


class Encoded:
    """What the statistics read of `method.Encoded`."""

    def __init__(self, place: Path, sets: method_sets.Sets) -> None:
        self.name, self.runs, self.sets = "me5", place, sets


def graded(name: str, n: int, units: np.ndarray) -> method_sets.Graded:
    gold = np.round(np.random.default_rng(5).normal(size=n), 1)
    return method_sets.Graded(name, ("en", "de"), ["a"] * n, ["b"] * n, gold, units)


def test_numbers_are_the_librarys_and_draws_are_of_whole_units(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    units = np.repeat(np.arange(20), 3)
    sets = method_sets.Sets({}, [graded("S", 60, units)], [graded("Q", 60, units)], {})
    encoded: Any = Encoded(tmp_path, sets)
    gold = sets.quality[0].gold
    scores = gold + np.random.default_rng(6).normal(size=60)
    values = {"similarity S": scores, "quality Q": scores, "retrieval R": scores > 0}
    monkeypatch.setattr(method, "RESAMPLES", 3)
    drawn = np.zeros((3, 20), dtype=np.float32)
    drawn[0], drawn[1, :10], drawn[2, 5] = 1, 2, 20
    monkeypatch.setattr(method, "drawn_units", lambda n, _: drawn if n == 20 else np.ones((3, n), np.float32))
    quality = method.resampled(encoded, "quality", values)["quality Q"]
    assert quality[0] == pytest.approx(100 * pearsonr(scores, gold)[0])
    # Each unit once; the first ten twice; the sixth alone.
    for draw, rows in ((1, slice(None)), (2, slice(0, 30)), (3, slice(15, 18))):
        assert quality[draw] == pytest.approx(100 * pearsonr(scores[rows], gold[rows])[0], abs=1e-3)
    similarity = method.resampled(encoded, "similarity", values)["similarity S"]
    assert similarity[0] == pytest.approx(100 * spearmanr(scores, gold)[0])
    assert similarity[1] == pytest.approx(similarity[0], abs=1e-3)
    assert method.resampled(encoded, "retrieval", values)["retrieval R"][0] == pytest.approx(
        100 * np.mean(scores > 0)
    )


def test_units_are_drawn_as_often_as_there_are() -> None:
    counts = method.drawn_units(9, "x")
    assert counts.shape == (method.RESAMPLES, 9)
    assert (counts.sum(axis=1) == 9).all()
    assert len(np.unique(counts, axis=0)) > 100
    method.drawn_units.cache_clear()


def test_comparisons_pair_draws_and_average_seeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(method, "RESAMPLES", 200)
    method.drawn_units.cache_clear()
    runs = {
        ("plda", 0, 0): 0.9,
        ("plda", 1, 0): 0.8,
        ("seed", 0, 1): 0.8,
        ("seed", 0, 2): 0.6,
        ("seed", 1, 1): 0.5,
        ("original", 0, 0): 0.85,
        ("plda without constant", 0, 0): 0.7,
    }
    for (name, draw, seed), share in runs.items():
        file = tmp_path / f"{name}-{0 if name == 'original' else method.USUAL}-{draw}-{seed}.npz"
        np.savez(file, **{"retrieval R": np.arange(200) < 200 * share})
    encoded: Any = Encoded(tmp_path, method_sets.Sets({}, [], [], {}))
    measured, compared = method.summed_up(encoded)
    method.drawn_units.cache_clear()
    assert len(measured) == len(runs)
    of = {row["method"]: row for row in compared}
    assert of["seed"]["difference"] == pytest.approx(25)  # 90 - 70, and 80 - 50
    assert (of["seed"]["ours"], of["seed"]["variant"]) == (85, 0)
    assert of["seed"]["low"] < 25 < of["seed"]["high"]
    assert of["seed"]["p"] < 0.01
    # It is not ahead in both draws.
    assert of["original"]["difference"] == pytest.approx(0)
    assert of["original"]["p"] == 1
    assert of["plda without constant"]["variant"] == 1


def test_verdicts_take_the_hardest_rival_and_correct_for_four() -> None:
    def row(task: str, name: str, p: float, low: float = 1.0, variant: int = 0) -> dict[str, Any]:
        numbers = {"ours": 2.0, "theirs": 1.0, "difference": 1.0, "low": low, "high": 3.0, "p": p}
        return {"encoder": "me5", "task": task, "method": name, "variant": variant, **numbers}

    rows = [
        row(task, "original", 0.001, low) for task, low in zip(method.TASKS, (1, -0.4, -0.6, 0), strict=True)
    ]
    rows += [
        row("retrieval", "seed", 0.02),
        row("pools", "lir", 0.012),
        row("pools", "x by words", 1, variant=1),
    ]
    found = list(method.verdicts(rows))
    ahead = {one["task"]: one for one in found if one["question"] == "ahead of every published method"}
    assert {task: (one["method"], one["yes"]) for task, one in ahead.items()} == {
        "retrieval": ("seed", 1),
        "pools": ("lir", 1),
        "similarity": ("original", 1),
        "quality": ("original", 1),
    }
    assert ahead["retrieval"]["corrected"] == pytest.approx(0.024)
    assert ahead["quality"]["corrected"] == pytest.approx(0.004)
    below = [one["yes"] for one in found if one["question"] == "not below undivided"]
    assert below == [1, 1, 0, 1]


def test_a_method_with_weights_for_each_language_needs_both_sides() -> None:
    own = Decomposer("centering", "centering", "", "", ["de", "en"], 2, {"means": np.zeros((2, 2))}, {})
    any_language = Decomposer("leace", "leace", "", "", ["de", "en"], 2, {}, {})
    assert method.applies(own, ("de", "en"))
    assert not method.applies(own, ("en", "gu"))
    assert method.applies(any_language, ("en", "gu"))


def test_names_say_rate_and_mean() -> None:
    plain, both = method.settings("meat+oracle"), method.settings("meat+oracle-centred-rate")
    assert (plain.learning_rate, plain.centre) == (None, None)
    assert (both.learning_rate, both.centre, both.max_epochs) == (1e-5, "overall", 1000)
    assert plain.terms == both.terms
    assert method.settings("seed-rate").learning_rate == 1e-4


def table(path: Path, names: str, *rows: tuple[object, ...]) -> Path:
    path.write_text("\n".join([names, *("\t".join(map(str, row)) for row in rows)]) + "\n", encoding="utf-8")
    return path


def test_sick_pairs_every_two_languages(tmp_path: Path) -> None:
    names = "pair_ID\tsentence_A\tsentence_B\trelatedness_score"
    english = f"{names}\tsentence_A_original\tsentence_B_original"
    of = {code: [(f"{code} {a}", f"{code} {b}") for a, b in SENTENCES] for code in ("nl", "pt", "pl")}
    files = [
        table(
            tmp_path / file,
            english,
            *((n + 1, *of[code][n], n, *pair) for n, pair in enumerate(SENTENCES)),
        )
        for code, file in (("nl", "SICK_NL.txt"), ("pt", "SICK_BR.txt"))
    ]
    # Polish is in three files, in another order.
    parts = (("SICK_train.txt", [2]), ("SICK_trial.txt", [0]), ("SICK_test_annotated.txt", [1]))
    files += [
        table(tmp_path / file, names, *((n + 1, *of["pl"][n], n) for n in rows)) for file, rows in parts
    ]
    found = {one.name: one for one in method_sets.sick(files)}
    assert len(found) == 12
    one = found["SICK pl-en"]
    assert one.source == [f"pl {a}" for a, _ in SENTENCES]
    assert one.target == [b for _, b in SENTENCES]
    assert one.gold.tolist() == [0, 1, 2]
    # The first two pairs share a sentence.
    assert one.units.tolist() == [0, 0, 1]


def test_ted_joins_scores_and_text(tmp_path: Path) -> None:
    files = []
    for folder in ("ende", "zhen"):
        rows = [
            ("MT one", "talk.1", 1, 7, "r1", "A\u2028b", "Ein <v>B</v>", "x", "y"),
            ("MT one", "talk.1", 1, 7, "r2", "A\u2028b", "Ein B", "x", "y"),
            ("MT one", "talk.1", 2, 8, "r1", "C", "Ce", "x", "y"),
            ("ref.A", "talk.1", 1, 7, "r1", "A\u2028b", "Mensch", "x", "y"),
        ]
        names = "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity\tcomment"
        files.append(table(tmp_path / f"mqm_ted_{folder}.tsv", names, *rows))
        scores = tmp_path / f"mqm_ted_{folder}.avg_seg_scores.tsv"
        scores.write_text("system mqm_avg_score seg_id\nMT one\t-1.5 7\nMT one\tNone 8\nref.A\t-0.0 7\n")
        files.append(scores)
    first, second = method_sets.ted(files)
    assert (first.languages, second.languages) == (("en", "de"), ("zh", "en"))
    assert (first.source, first.target, first.gold.tolist()) == (["A\u2028b"], ["Ein B"], [-1.5])
    files[1].write_text("system mqm_avg_score seg_id\nMT one\t1.5 7\n")
    with pytest.raises(SystemExit, match="a penalty is above 0"):
        next(method_sets.ted(files))


def test_indic_leaves_out_what_is_empty(tmp_path: Path) -> None:
    rows = [
        {"src": "", "translation": "", "mqm_norm_score": ""},
        {"src": "One.", "translation": "ek", "mqm_norm_score": "0"},
        {"src": "One", "translation": "do", "mqm_norm_score": "0.9"},
        {"src": "Two", "translation": "tin", "mqm_norm_score": "1"},
    ]
    files = []
    for start in method_sets.INDIC.values():
        files.append(tmp_path / f"{start}_train.jsonl")
        files[-1].write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = list(method_sets.indic(files))
    assert [one.name for one in found] == [f"IndicMT en-{code}" for code in ("gu", "hi", "ml", "mr", "ta")]
    assert found[0].gold.tolist() == [0, 0.9, 1]
    assert found[0].units.tolist() == [0, 0, 1]
