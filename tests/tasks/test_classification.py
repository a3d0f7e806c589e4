"""Labels learnt in one language and tested in another."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from orthoglot.corpora.bitext import write_pairs
from orthoglot.corpora.labelled import Item, LabelledSet
from orthoglot.errors import DataError
from orthoglot.tasks.base import TaskData
from orthoglot.tasks.classification import (
    Learner,
    LogisticRecipe,
    PerceptronRecipe,
    Transfer,
    _make,
    perceptron,
)
from orthoglot.tasks.settings import EvaluationSettings

PERCEPTRON = PerceptronRecipe(runs=3, epochs=20, seed=1)
RECIPES = [PERCEPTRON, LogisticRecipe()]
LABELS = ("no", "perhaps", "yes")
SIZES = {"train": 90, "valid": 30, "test": 150}


def made(
    recipe: PerceptronRecipe | LogisticRecipe, *, shuffled: bool = False, other: float = 0.0
) -> tuple[Transfer, dict[str, np.ndarray]]:
    """A task from en to de; `other`: how far the vectors of de are from those of en."""
    rng = np.random.default_rng(1)
    items: dict[tuple[str, str], list[Item]] = {}
    vectors = {}
    for part, n in SIZES.items():
        language = "de" if part == "test" else "en"
        codes = np.arange(n) % 3
        moved = other * np.ones(8) if part == "test" else 0.0
        vectors[part] = (np.eye(8)[codes] + 0.1 * rng.normal(size=(n, 8)) + moved).astype(np.float32)
        shown = rng.permutation(codes) if shuffled else codes
        items[language, part] = [
            Item(f"{part} {i}", LABELS[code], f"{part} {i}") for i, code in enumerate(shown)
        ]
    return Transfer("classification", LabelledSet("set", items), "en", "de", Learner(recipe)), vectors


def accuracy(task: Transfer, vectors: Mapping[str, np.ndarray]) -> float:
    return float(np.nanmean(task.score(vectors).scores["en->de"]))


@pytest.mark.parametrize("recipe", RECIPES)
def test_labels_that_languages_share_are_found_and_shuffled_ones_give_chance(
    recipe: PerceptronRecipe | LogisticRecipe,
) -> None:
    assert accuracy(*made(recipe)) > 0.97
    assert accuracy(*made(recipe, shuffled=True)) == pytest.approx(1 / 3, abs=0.13)  # 3 standard deviations


def test_golden_logistic_regression_is_right_where_scikit_learns_is() -> None:
    task, vectors = made(LogisticRecipe())
    rng = np.random.default_rng(2)
    vectors = {part: rows + 0.5 * rng.normal(size=rows.shape) for part, rows in vectors.items()}
    train, test = (
        vectors[part] / np.linalg.norm(vectors[part], axis=1, keepdims=True) for part in ("train", "test")
    )
    labels = {part: [item.label for item in items] for (_, part), items in task.texts.items.items()}
    centre, spread = train.mean(axis=0), train.std(axis=0)
    golden = LogisticRegression(C=1, max_iter=500).fit((train - centre) / spread, labels["train"])
    right = golden.predict((test - centre) / spread) == np.array(labels["test"])
    assert 0.5 < right.mean() < 0.9
    assert (task.score(vectors).scores["en->de"] == right).all()


def test_golden_logistic_regression_is_worse_where_a_language_is_apart() -> None:
    assert accuracy(*made(LogisticRecipe(), other=2.0)) < accuracy(*made(LogisticRecipe())) - 0.05


def test_a_text_scores_the_share_of_the_runs_that_are_right() -> None:
    task, vectors = made(PERCEPTRON, shuffled=True)
    found = task.score(vectors)
    shares = found.scores["en->de"]
    assert set(np.round(3 * shares, 6)) == {0, 1, 2, 3}
    (networks,) = task.learner.known.values()
    x = vectors["test"].astype(np.float64)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    right = networks.predict(x) == np.array([item.label for item in task.texts.items["de", "test"]])
    assert shares == pytest.approx(right.mean(0))
    assert found.facts == {"run_sd": pytest.approx(100 * right.mean(1).std(ddof=1), abs=1e-3)}
    facts = task.facts("en->de")
    assert (facts["train"], facts["valid"], facts["test"], facts["labels"]) == (90, 30, 150, 3)
    assert (facts["majority"], facts["chance"], facts["runs"]) == (33.333, 33.333333, 3)


def test_a_classifier_is_trained_once_for_equal_vectors() -> None:
    task, vectors = made(LogisticRecipe())
    task.score(vectors)
    task.score({**vectors, "test": -vectors["test"]})
    assert len(task.learner.known) == 1
    task.score({**vectors, "train": -vectors["train"]})
    assert len(task.learner.known) == 2


@pytest.mark.parametrize("recipe", RECIPES)
def test_texts_without_direction_are_left_out(recipe: PerceptronRecipe | LogisticRecipe) -> None:
    task, vectors = made(recipe)
    vectors["test"][3] = 0
    vectors["train"][5] = np.nan
    vectors["valid"][1] = np.nan
    found = task.score(vectors).scores["en->de"]
    assert np.flatnonzero(np.isnan(found)).tolist() == [3]
    vectors["train"][vectors["train"][:, 0] < 0.5] = np.nan
    with pytest.raises(DataError, match="too few usable vectors"):
        task.score(vectors)


def test_directions_of_a_folder_share_the_classifiers_of_their_source(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    rows = [(code, part, f"{part}{i}", "ab"[i], f"{code} {part} {i}") for code in ("de", "en", "fr")
            for part in ("train", "valid", "test") for i in range(2)]  # fmt: skip
    write_pairs(folder / "labelled.tsv.gz", rows)
    settings = EvaluationSettings(tasks=["classification"], classifier_runs=2, classifier_epochs=7)
    tasks = perceptron("classification", settings, TaskData({}, [folder]))
    assert [(task.source, task.target) for task in tasks if isinstance(task, Transfer)] == [
        ("de", "en"), ("de", "fr"), ("en", "de"), ("en", "fr"), ("fr", "de"), ("fr", "en"),
    ]  # fmt: skip
    assert len({id(task.learner) for task in tasks if isinstance(task, Transfer)}) == 3
    assert tasks[0].facts("de->en")["epochs"] == 7
    assert tasks[0].sides()["test"] == (["en test 0", "en test 1"], "en")
    assert _make("classification", PERCEPTRON, TaskData({}, [])) == []
