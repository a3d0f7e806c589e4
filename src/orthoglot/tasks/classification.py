"""Classification across languages: a classifier learns labels in one language and is tested in another."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MultiLabelBinarizer

from orthoglot.corpora.labelled import Item, LabelledSet, read_labelled
from orthoglot.errors import DataError
from orthoglot.statistics.records import ACCURACY, ALL, MAE, MRP
from orthoglot.streams import derive
from orthoglot.tasks.base import Result, Task, TaskData, keys_of, usable
from orthoglot.tasks.logistic import FACTS, regression, trained
from orthoglot.tasks.pair_features import features
from orthoglot.tasks.perceptron import fit

if TYPE_CHECKING:
    from orthoglot.tasks.settings import EvaluationSettings

Labelled = tuple[np.ndarray, np.ndarray]  # vectors (N, D), labels (N,)


class Predictor(Protocol):
    """A trained classifier, or several."""

    def predict(self, vectors: np.ndarray) -> np.ndarray:
        """(N, D) -> (R, N) labels of R classifiers."""
        ...


class Recipe(Protocol):
    """How classifiers are trained."""

    def fit(self, train: Labelled, valid: Labelled) -> Predictor:
        """Train on vectors of length 1."""
        ...

    def facts(self) -> dict[str, object]:
        """For the signature."""
        ...


@dataclass(frozen=True)
class PerceptronRecipe:
    """`orthoglot.tasks.perceptron`."""

    runs: int
    epochs: int
    seed: int

    def fit(self, train: Labelled, valid: Labelled) -> Predictor:
        """See `Recipe.fit`."""
        return fit(train, valid, runs=self.runs, epochs=self.epochs, seed=self.seed)

    def facts(self) -> dict[str, object]:
        """See `Recipe.facts`."""
        return {"classifier": "perceptron-10-8", "runs": self.runs, "epochs": self.epochs}


class LogisticRecipe:
    """Multinomial logistic regression on standardised vectors, with the penalty of the language probe."""

    def fit(self, train: Labelled, valid: Labelled) -> Predictor:
        """See `Recipe.fit`; the validation part is not used."""
        return _Single(trained(regression(), *train, "classification")[0])

    def facts(self) -> dict[str, object]:
        """See `Recipe.facts`."""
        return {**FACTS, "runs": 1}


class RankingRecipe(LogisticRecipe):
    """A binary logistic regression for each label of texts that have several, in a string divided by blanks."""

    def fit(self, train: Labelled, valid: Labelled) -> Predictor:
        """See `Recipe.fit`; predictions are all labels, the most probable first."""
        labels = MultiLabelBinarizer()
        marked = labels.fit_transform([label.split() for label in train[1]])
        classifier, _ = trained(OneVsRestClassifier(regression()), train[0], marked, "classification")
        return _Ranking(classifier, labels.classes_)


class _Ranking(NamedTuple):
    pipeline: Pipeline
    labels: np.ndarray

    def predict(self, vectors: np.ndarray) -> np.ndarray:
        order = np.argsort(-self.pipeline.decision_function(vectors), axis=1, kind="stable")
        return np.array([" ".join(self.labels[row]) for row in order], dtype=object)[None]


class _Single(NamedTuple):
    pipeline: Pipeline

    def predict(self, vectors: np.ndarray) -> np.ndarray:
        return np.asarray(self.pipeline.predict(vectors))[None]


@dataclass
class Learner:
    """Classifiers by the vectors that they were trained on, so that each test language finds them trained."""

    recipe: Recipe
    known: dict[bytes, Predictor] = field(default_factory=dict)

    def fit(self, train: Labelled, valid: Labelled) -> Predictor:
        """A classifier, trained once for equal vectors and labels."""
        parts = (*train, *valid)
        found = hashlib.blake2b()
        for one in parts:
            found.update(one.tobytes())
        key = found.digest()
        if key not in self.known:
            self.known[key] = self.recipe.fit(train, valid)
        return self.known[key]


def right(predicted: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """(R, N) predicted labels, (N,) labels -> (R, N) whether they are the same."""
    return (predicted == wanted).astype(np.float64)


def absolute_error(predicted: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """(R, N) predicted numbers, (N,) numbers -> (R, N) |predicted - wanted|."""
    return abs(predicted.astype(np.float64) - wanted.astype(np.float64))


def r_precision(predicted: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """(R, N) labels by rank, (N,) the K labels of each text -> (R, N) share of these among the first K by rank."""

    def share(ranked: str, own: str) -> float:
        labels = set(own.split())
        return len(labels & set(ranked.split()[: len(labels)])) / len(labels)

    return np.array([[share(*pair) for pair in zip(row, wanted, strict=True)] for row in predicted])


# By the scoring of a set, what is recorded and how a prediction is compared.
MEASURED = {
    "label": (ACCURACY, right),
    "number": (MAE, absolute_error),
    "several": (MRP, r_precision),
}


@dataclass(frozen=True)
class Transfer:
    """Texts of one language, labelled by classifiers that learnt the labels in another, or in several at once.

    Accuracy, 0 to 100, mean over the classifiers of the recipe, on the `features` of vectors of length 1. Chance is
    100 / C for C labels. The signature also has the share of the test's most frequent label (`majority`) and the
    standard deviation of the classifiers' accuracies (`run_sd`). Higher is better for the meaning view, lower for the
    language view. Of labels that are numbers it is their mean absolute error instead, times 100: lower is better. Of
    texts with several labels it is the mean R-precision, 0 to 100 (`r_precision`).

    Attributes:
        name: of the task.
        texts: of all languages.
        taught: languages of the training.
        target: language of the test.
        learner: shared by the tasks of one training.

    Source: docs/papers.md#protocol-classification.
    """

    name: str
    texts: LabelledSet
    taught: Sequence[str]
    target: str
    learner: Learner

    @property
    def dataset(self) -> str:
        """Benchmark folder."""
        return self.texts.name

    @property
    def measure(self) -> str:
        """See `Task.measure`."""
        return MEASURED[self.texts.scoring][0]

    @property
    def source(self) -> str:
        """The languages of the training, "all" for all of the set."""
        languages = {language for language, _ in self.texts.items}
        return ALL if len(self.taught) > 1 and languages == set(self.taught) else "+".join(self.taught)

    def sides(self) -> dict[str, tuple[Sequence[str], str]]:
        """Texts to train on, to validate on, and to test on: by part, language and place in an item."""
        found: dict[str, tuple[Sequence[str], str]] = {}
        for part, own in self._parts().items():
            for language, items in own.items():
                for column, texts in enumerate(zip(*(item.texts for item in items), strict=True)):
                    found[_side(part, language, column)] = texts, language
        return found

    def keys(self) -> np.ndarray:
        """(N,) uint64 of the ids of the tested texts, which translations share."""
        return keys_of(item.id for item in self._parts()["test"][self.target])

    def score(self, vectors: Mapping[str, np.ndarray]) -> Result:
        """(N,) scores, mean over the classifiers; NaN for a text without direction.

        Raises:
            DataError: too few texts to train or validate on have a direction.
        """
        labelled = {part: self._labelled(part, vectors) for part in ("train", "valid", "test")}
        train, valid = (labelled[part][1:] for part in ("train", "valid"))
        if len(set(train[1])) < 2 or not len(valid[1]):
            raise DataError(f"{self.name} {self.dataset} {self.source}: too few usable vectors to train on")
        kept, tested, wanted = labelled["test"]
        found = np.full(len(kept), np.nan)
        facts: dict[str, object] = {}
        if kept.any():
            _, compare = MEASURED[self.texts.scoring]
            scores = compare(self.learner.fit(train, valid).predict(tested), wanted)
            found[kept] = scores.mean(0)
            if len(scores) > 1:
                facts = {"run_sd": round(100 * float(scores.mean(1).std(ddof=1)), 3)}
        return Result({f"{self.source}->{self.target}": found}, facts)

    def facts(self, subset: str) -> dict[str, object]:
        """Classifier, sizes, chance."""
        parts = {
            part: [item.label for items in own.values() for item in items]
            for part, own in self._parts().items()
        }
        sizes = {part: len(own) for part, own in parts.items()}
        if self.texts.scoring == "several":
            every = {label for labels in parts["train"] for label in labels.split()}
            return {**self.learner.recipe.facts(), "labels": len(every), **sizes}
        labels = set(parts["train"])
        facts = {**self.learner.recipe.facts(), "labels": len(labels), **sizes}
        if self.texts.scoring == "number":
            return facts
        most = max(parts["test"].count(label) for label in labels)
        return {
            **facts,
            "majority": round(100 * most / len(parts["test"]), 3),
            "chance": round(100 / len(labels), 6),
        }

    def _labelled(
        self, part: str, vectors: Mapping[str, np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(N,) whether the texts of a part have a direction; of those that have, features and labels."""
        usables, found, labels = [], [], []
        for language, items in self._parts()[part].items():
            own = [vectors[_side(part, language, column)] for column in range(len(items[0].texts))]
            kept = reduce(np.logical_and, map(usable, own))
            usables.append(kept)
            found.append(features([one[kept] for one in own]))
            labels.append(np.array([item.label for item in items])[kept])
        return np.concatenate(usables), np.concatenate(found), np.concatenate(labels)

    def _parts(self) -> dict[str, dict[str, Sequence[Item]]]:
        """Items by language, of each part."""
        languages = {"train": self.taught, "valid": self.taught, "test": [self.target]}
        return {
            part: {code: self.texts.items[code, part] for code in codes} for part, codes in languages.items()
        }


def _side(part: str, language: str, column: int) -> str:
    return f"{part} {language} {column + 1}"


def perceptron(name: str, settings: EvaluationSettings, data: TaskData) -> list[Task]:
    """Tasks of all directions of each benchmark of texts with one label, by perceptrons."""
    seed = derive(settings.seed, "classification")
    recipe = PerceptronRecipe(settings.classifier_runs, settings.classifier_epochs, seed)
    return _make(name, {"label": recipe, "number": recipe}, data)


def logistic(name: str, settings: EvaluationSettings, data: TaskData) -> list[Task]:
    """Tasks of all directions of each benchmark, by logistic regression."""
    return _make(
        name, {"label": LogisticRecipe(), "number": LogisticRecipe(), "several": RankingRecipe()}, data
    )


def _make(name: str, recipes: Mapping[str, Recipe], data: TaskData) -> list[Task]:
    tasks: list[Task] = []
    for texts in (texts for folder in data.benchmarks for texts in read_labelled(folder)):
        if (recipe := recipes.get(texts.scoring)) is None:
            continue
        learners: dict[tuple[str, ...], Learner] = {}
        for taught, target in texts.directions:
            learner = learners.setdefault(tuple(taught), Learner(recipe))
            tasks.append(Transfer(name, texts, taught, target, learner))
    return tasks
