"""Labels learnt in one language and tested in another."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from orthoglot.errors import DataError
from orthoglot.study.benchmarks.kinds.classification import Item, LabelledSet
from orthoglot.study.benchmarks.labelled_settings import Scoring
from orthoglot.study.tasks.base import TaskData
from orthoglot.study.tasks.kinds import classification, classification_logistic
from orthoglot.study.tasks.kinds.classification import perceptrons
from orthoglot.study.tasks.kinds.classification_logistic import ranking, regression
from orthoglot.study.tasks.settings import EvaluationSettings
from orthoglot.study.tasks.transfer import Learner, Transfer, absolute_error, features, r_precision
from orthoglot.text.bitext import write_pairs

Make = Callable[[], Learner]
PERCEPTRON: Make = partial(perceptrons, runs=3, epochs=20, seed=1)
LEARNERS: list[Make] = [PERCEPTRON, regression]
LABELS = ("no", "perhaps", "yes")
SIZES = {"train": 90, "valid": 30, "test": 150}


def made(
    learner: Make, *, shuffled: bool = False, other: float = 0.0
) -> tuple[Transfer, dict[str, np.ndarray]]:
    """A task from en to de; `other`: how far the vectors of de are from those of en."""
    rng = np.random.default_rng(1)
    items: dict[tuple[str, str], list[Item]] = {}
    vectors = {}
    for part, n in SIZES.items():
        language = "de" if part == "test" else "en"
        codes = np.arange(n) % 3
        moved = other * np.ones(8) if part == "test" else 0.0
        vectors[f"{part} {language} 1"] = (np.eye(8)[codes] + 0.1 * rng.normal(size=(n, 8)) + moved).astype(
            np.float32
        )
        shown = rng.permutation(codes) if shuffled else codes
        items[language, part] = [
            Item(f"{part} {i}", LABELS[code], f"{part} {i}") for i, code in enumerate(shown)
        ]
    return Transfer("classification", LabelledSet("set", items), ["en"], "de", learner()), vectors


def accuracy(task: Transfer, vectors: Mapping[str, np.ndarray]) -> float:
    return float(np.nanmean(task.score(vectors).scores["en->de"]))


@pytest.mark.parametrize("learner", LEARNERS)
def test_labels_that_languages_share_are_found_and_shuffled_ones_give_chance(
    learner: Make,
) -> None:
    assert accuracy(*made(learner)) > 0.97
    assert accuracy(*made(learner, shuffled=True)) == pytest.approx(1 / 3, abs=0.13)  # 3 standard deviations


def test_golden_logistic_regression_is_right_where_scikit_learns_is() -> None:
    task, vectors = made(regression)
    rng = np.random.default_rng(2)
    vectors = {side: rows + 0.5 * rng.normal(size=rows.shape) for side, rows in vectors.items()}
    train, test = (
        vectors[side] / np.linalg.norm(vectors[side], axis=1, keepdims=True)
        for side in ("train en 1", "test de 1")
    )
    labels = {part: [item.label for item in items] for (_, part), items in task.texts.items.items()}
    centre, spread = train.mean(axis=0), train.std(axis=0)
    golden = LogisticRegression(C=1, max_iter=500).fit((train - centre) / spread, labels["train"])
    right = golden.predict((test - centre) / spread) == np.array(labels["test"])
    assert 0.5 < right.mean() < 0.9
    assert (task.score(vectors).scores["en->de"] == right).all()


def test_golden_logistic_regression_is_worse_where_a_language_is_apart() -> None:
    assert accuracy(*made(regression, other=2.0)) < accuracy(*made(regression)) - 0.05


def test_a_text_scores_the_share_of_the_runs_that_are_right() -> None:
    task, vectors = made(PERCEPTRON, shuffled=True)
    found = task.score(vectors)
    shares = found.scores["en->de"]
    assert set(np.round(3 * shares, 6)) == {0, 1, 2, 3}
    (networks,) = task.learner.trained.values()
    x = vectors["test de 1"].astype(np.float64)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    right = networks(x) == np.array([item.label for item in task.texts.items["de", "test"]])
    assert shares == pytest.approx(right.mean(0))
    assert found.facts == {"run_sd": pytest.approx(100 * right.mean(1).std(ddof=1), abs=1e-3)}
    facts = task.facts("en->de")
    assert (facts["train"], facts["valid"], facts["test"], facts["labels"]) == (90, 30, 150, 3)
    assert (facts["majority"], facts["chance"], facts["runs"]) == (33.333, 33.333333, 3)


def test_a_classifier_is_trained_once_for_equal_vectors() -> None:
    task, vectors = made(regression)
    task.score(vectors)
    task.score({**vectors, "test de 1": -vectors["test de 1"]})
    assert len(task.learner.trained) == 1
    for part in ("train", "valid"):
        task.score({**vectors, f"{part} en 1": -vectors[f"{part} en 1"]})
    assert len(task.learner.trained) == 3


@pytest.mark.parametrize("learner", LEARNERS)
def test_texts_without_direction_are_left_out(learner: Make) -> None:
    task, vectors = made(learner)
    vectors["test de 1"][3] = 0
    vectors["train en 1"][5] = np.nan
    vectors["valid en 1"][1] = np.nan
    found = task.score(vectors).scores["en->de"]
    assert np.flatnonzero(np.isnan(found)).tolist() == [3]
    one_label = np.where(vectors["train en 1"][:, :1] < 0.5, np.nan, vectors["train en 1"])
    for few in ({"train en 1": one_label}, {"valid en 1": 0 * vectors["valid en 1"]}):
        with pytest.raises(DataError, match="too few usable vectors"):
            task.score(vectors | few)


def test_directions_of_a_folder_share_the_classifiers_of_their_source(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    rows = [(code, part, f"{part}{i}", "ab"[i], f"{code} {part} {i}") for code in ("de", "en", "fr")
            for part in ("train", "valid", "test") for i in range(2)]  # fmt: skip
    write_pairs(folder / "labelled.tsv.gz", rows)
    directions = [([source], target) for source in ("de", "en", "fr") for target in ("de", "en", "fr")
                  if source != target]  # fmt: skip
    (folder / "labelled.json").write_text(json.dumps({"directions": directions, "scoring": "label"}))
    settings = EvaluationSettings(tasks=["classification"], classifier_epochs=7)
    tasks = classification.make("classification", TaskData(settings, {}, [folder]))
    assert [(task.source, task.target) for task in tasks if isinstance(task, Transfer)] == [
        ("de", "en"), ("de", "fr"), ("en", "de"), ("en", "fr"), ("fr", "de"), ("fr", "en"),
    ]  # fmt: skip
    assert len({id(task.learner) for task in tasks if isinstance(task, Transfer)}) == 3
    assert tasks[0].facts("de->en")["epochs"] == 7
    assert tasks[0].sides()["test en 1"] == (("en test 0", "en test 1"), "en")
    assert classification.make("classification", TaskData(settings, {}, [])) == []


def task_of(
    learner: Make, items: dict[tuple[str, str], list[Item]], taught: list[str], scoring: Scoring = "label"
) -> Transfer:
    return Transfer("classification", LabelledSet("set", items, scoring=scoring), taught, "de", learner())


def unit_rows(rng: np.random.Generator, n: int, width: int = 6) -> np.ndarray:
    found = rng.normal(size=(n, width))
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("learner", [partial(perceptrons, runs=2, epochs=120, seed=1), regression])
def test_whether_two_texts_mean_the_same_is_learnt_from_pairs_and_not_from_one_text(learner: Make) -> None:
    rng = np.random.default_rng(2)
    items, vectors = {}, {}
    for part, n in (("train", 400), ("valid", 100), ("test", 400)):
        language = "de" if part == "test" else "en"
        same = np.arange(n) % 2 == 0
        first = unit_rows(rng, n)
        other = unit_rows(rng, n)
        second = np.where(same[:, None], first + 0.1 * other, other).astype(np.float32)
        vectors |= {f"{part} {language} 1": first, f"{part} {language} 2": second}
        items[language, part] = [Item(f"{i}", str(one), f"a{i}", (f"b{i}",)) for i, one in enumerate(same)]
    assert accuracy(task_of(learner, items, ["en"]), vectors) > 0.9
    single = {key: [one._replace(further=()) for one in own] for key, own in items.items()}
    assert accuracy(task_of(learner, single, ["en"]), vectors) == pytest.approx(0.5, abs=0.1)


def test_translations_count_as_one_item() -> None:
    items = {(code, part): [Item("1", "a", f"{code} 1"), Item("2", "b", f"{code} 2")] for code in ("de", "en", "fr")
             for part in ("train", "valid", "test")}  # fmt: skip
    texts = LabelledSet("set", items)
    german, french = (Transfer("classification", texts, ["en"], code, regression()) for code in ("de", "fr"))
    assert german.keys().tolist() == french.keys().tolist()
    assert len(set(german.keys().tolist())) == 2


def test_a_pair_counts_if_both_texts_have_a_direction() -> None:
    rng = np.random.default_rng(2)
    items = {
        (code, part): [Item(f"{part}{i}", "ab"[i % 2], "x", ("y",)) for i in range(20)]
        for code, part in (("en", "train"), ("en", "valid"), ("de", "test"))
    }
    vectors = {f"{part} {code} {k}": unit_rows(rng, 20) for code, part in items for k in (1, 2)}
    vectors["test de 1"][3], vectors["test de 2"][5] = 0, np.nan
    task = task_of(regression, items, ["en"])
    assert list(task.sides()) == list(vectors)
    assert np.flatnonzero(np.isnan(task.score(vectors).scores["en->de"])).tolist() == [3, 5]


def test_one_classifier_learns_in_several_languages_at_once() -> None:
    task, vectors = made(regression)
    items = dict(task.texts.items)
    for part in ("train", "valid"):
        items["de", part] = items["en", part]
        vectors[f"{part} de 1"] = vectors[f"{part} en 1"] + 2  # a language apart
    vectors["test de 1"] = vectors["test de 1"] + 2
    together = task_of(regression, items, ["en", "de"])
    assert accuracy(task_of(regression, items, ["en"]), vectors) < 0.9
    found = together.score(vectors).scores
    assert list(found) == ["all->de"]
    assert found["all->de"].mean() > 0.97
    assert together.facts("all->de")["train"] == 2 * SIZES["train"]
    items["fr", "test"] = items["de", "test"]
    assert task_of(regression, items, ["en", "de"]).source == "en+de"


def test_the_better_alternative_is_found_wherever_it_stands() -> None:
    """The effect has the direction of its cause."""
    rng = np.random.default_rng(3)
    items, vectors = {}, {}
    for part, n in (("train", 300), ("valid", 50), ("test", 300)):
        language = "de" if part == "test" else "en"
        premise, wrong = unit_rows(rng, n), unit_rows(rng, n)
        good = premise + 0.1 * unit_rows(rng, n)
        label = np.arange(n) % 2
        sides = (
            premise,
            np.where(label[:, None] == 0, good, wrong),
            premise,
            np.where(label[:, None] == 0, wrong, good),
        )
        vectors |= {f"{part} {language} {k}": one for k, one in enumerate(sides, 1)}
        items[language, part] = [Item(str(i), str(one), "p", ("a", "p", "b")) for i, one in enumerate(label)]
    for learner in LEARNERS:
        assert accuracy(task_of(learner, items, ["en"]), vectors) > 0.9


def test_numbers_are_scored_by_how_far_they_are() -> None:
    predicted = np.array([["1", "5", "3"], ["2", "5", "3"]])
    assert absolute_error(predicted, np.array(["1", "1", "4"])).tolist() == [[0, 4, 1], [1, 4, 1]]
    task, vectors = made(regression)
    stars = {"no": "1", "perhaps": "3", "yes": "5"}
    items = {
        key: [one._replace(label=stars[one.label]) for one in own] for key, own in task.texts.items.items()
    }
    graded = task_of(regression, items, ["en"], "number")
    assert graded.measure == "MAE"
    assert graded.score(vectors).scores["en->de"].mean() < 0.06
    vectors["test de 1"] = np.roll(vectors["test de 1"], 1, axis=0)  # the vectors of the item before
    assert graded.score(vectors).scores["en->de"].mean() == pytest.approx(8 / 3, abs=0.1)
    assert "chance" not in graded.facts("en->de")


def test_several_labels_are_ranked() -> None:
    predicted = np.array([["a b c d", "d c b a", "a b c d"]], dtype=object)
    assert r_precision(predicted, np.array(["a b", "a d", "x a"])).tolist() == [[1, 0.5, 0.5]]
    rng = np.random.default_rng(4)
    items, vectors = {}, {}
    for part, n in (("train", 300), ("valid", 20), ("test", 200)):
        language = "de" if part == "test" else "en"
        marked = rng.random((n, 4)) < 0.4
        marked[:, 0] |= ~marked.any(axis=1)
        vectors[f"{part} {language} 1"] = (marked + 0.1 * rng.normal(size=(n, 4))).astype(np.float32)
        items[language, part] = [
            Item(f"{i}", " ".join(np.array([*"abcd"])[row]), "t") for i, row in enumerate(marked)
        ]
    task = task_of(ranking, items, ["en"], "several")
    assert task.measure == "mRP"
    assert task.score(vectors).scores["en->de"].mean() > 0.95
    assert task.facts("en->de")["labels"] == 4
    vectors["test de 1"] = rng.permutation(vectors["test de 1"])
    assert task.score(vectors).scores["en->de"].mean() < 0.7


def test_perceptrons_leave_texts_with_several_labels_to_the_regression(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    write_pairs(folder / "labelled.tsv.gz", [("en", part, "1", "a b", "x") for part in SIZES])
    (folder / "labelled.json").write_text(json.dumps({"directions": [[["en"], "en"]], "scoring": "several"}))
    data = TaskData(EvaluationSettings(tasks=["classification"]), {}, [folder])
    assert classification.make("classification", data) == []
    assert len(classification_logistic.make("classification-logistic", data)) == 1


U, V = np.array([[3.0, 4.0]], dtype=np.float32), np.array([[0.0, 2.0]], dtype=np.float32)


def test_known_answers() -> None:
    assert features([U]) == pytest.approx(np.array([[0.6, 0.8]]))
    pair = [0.6, 0.8, 0, 1, 0.6, 0.2, 0, 0.8 * 2**0.5]
    assert features([U, V])[0] == pytest.approx(pair)
    assert features([U, V]).dtype == np.float64


def test_only_the_first_half_of_a_pair_knows_the_order() -> None:
    one, other = features([U, V])[0], features([V, U])[0]
    assert one[4:] == pytest.approx(other[4:])
    assert one[:2] == pytest.approx(other[2:4])


def test_alternatives_that_change_places_change_the_sign_and_equal_ones_give_nothing() -> None:
    rng = np.random.default_rng(1)
    four = list(rng.normal(size=(4, 5, 3)))
    assert features([*four[2:], *four[:2]]) == pytest.approx(-features(four))
    assert features(four) == pytest.approx(features(four[:2]) - features(four[2:]))
    assert not features([*four[:2], *four[:2]]).any()


@pytest.mark.parametrize("count", [1, 2, 4])
def test_length_does_not_matter(count: int) -> None:
    vectors = list(np.random.default_rng(1).normal(size=(count, 5, 3)))
    assert features([7 * one for one in vectors]) == pytest.approx(features(vectors))


def test_entries_of_all_parts_are_of_one_size() -> None:
    found = features(list(np.random.default_rng(1).normal(size=(2, 200, 400))))
    spread = [part.std() * 20 for part in np.split(found, 4, axis=1)]
    assert 0.7 < min(spread) < max(spread) < 1.1
