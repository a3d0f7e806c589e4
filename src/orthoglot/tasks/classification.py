"""Classification across languages: a classifier learns labels in one language and is tested in another."""

from __future__ import annotations

import hashlib
import logging
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from orthoglot.corpora.labelled import Item, LabelledSet, read_labelled
from orthoglot.decomposers.base import unit
from orthoglot.errors import DataError
from orthoglot.statistics.records import ACCURACY
from orthoglot.streams import derive
from orthoglot.tasks.base import Result, Task, TaskData, keys_of, usable
from orthoglot.tasks.perceptron import fit

if TYPE_CHECKING:
    from orthoglot.tasks.settings import EvaluationSettings

INVERSE_PENALTY = 1.0
MAX_ITERATIONS = 500
logger = logging.getLogger(__name__)

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
        regression = LogisticRegression(C=INVERSE_PENALTY, max_iter=MAX_ITERATIONS)
        pipeline = make_pipeline(StandardScaler(), regression)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            pipeline.fit(*train)
        if any(issubclass(one.category, ConvergenceWarning) for one in caught):
            logger.warning("classification: not converged after %d iterations", MAX_ITERATIONS)
        return _Single(pipeline)

    def facts(self) -> dict[str, object]:
        """See `Recipe.facts`."""
        about = {"classifier": "standardised-logistic-regression", "C": INVERSE_PENALTY}
        return {**about, "max_iter": MAX_ITERATIONS, "runs": 1}


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
        key = hashlib.blake2b(b"".join(np.ascontiguousarray(one).tobytes() for one in parts)).digest()
        if key not in self.known:
            self.known[key] = self.recipe.fit(train, valid)
        return self.known[key]


@dataclass(frozen=True)
class Transfer:
    """Texts of one language, labelled by classifiers that learnt the labels in another.

    Accuracy, 0 to 100, mean over the classifiers of the recipe, on vectors of length 1. Chance is 100 / C for C labels.
    The signature also has the share of the test's most frequent label (`majority`) and the standard deviation of the
    classifiers' accuracies (`run_sd`). Higher is better for the meaning view, lower for the language view.

    Attributes:
        name: of the task.
        texts: of all languages.
        source: language of the training.
        target: language of the test.
        learner: shared by the tasks of one source.

    Source: docs/papers.md#protocol-classification.
    """

    name: str
    texts: LabelledSet
    source: str
    target: str
    learner: Learner
    measure: str = ACCURACY

    @property
    def dataset(self) -> str:
        """Benchmark folder."""
        return self.texts.name

    def sides(self) -> dict[str, tuple[Sequence[str], str]]:
        """Texts to train on, to validate on, and to test on."""
        return {
            part: ([item.text for item in items], language)
            for part, (language, items) in self._parts().items()
        }

    def keys(self) -> np.ndarray:
        """(N,) uint64 of the ids of the tested texts, which translations share."""
        return keys_of(item.id for item in self._parts()["test"][1])

    def score(self, vectors: Mapping[str, np.ndarray]) -> Result:
        """(N,) share of the classifiers that are right; NaN for a text without direction.

        Raises:
            DataError: too few texts to train or validate on have a direction.
        """
        labelled = {}
        for part, (_, items) in self._parts().items():
            kept = usable(vectors[part])
            labels = np.array([item.label for item in items])
            labelled[part] = kept, unit(vectors[part][kept].astype(np.float64)), labels[kept]
        train, valid = (labelled[part][1:] for part in ("train", "valid"))
        if len(set(train[1])) < 2 or not len(valid[1]):
            raise DataError(f"{self.name} {self.dataset} {self.source}: too few usable vectors to train on")
        kept, tested, wanted = labelled["test"]
        found = np.full(len(kept), np.nan)
        facts: dict[str, object] = {}
        if kept.any():
            right = self.learner.fit(train, valid).predict(tested) == wanted
            found[kept] = right.mean(0)
            if len(right) > 1:
                facts = {"run_sd": round(100 * float(right.mean(1).std(ddof=1)), 3)}
        return Result({f"{self.source}->{self.target}": found}, facts)

    def facts(self, subset: str) -> dict[str, object]:
        """Classifier, sizes, chance."""
        parts = {part: [item.label for item in items] for part, (_, items) in self._parts().items()}
        labels = set(parts["train"])
        most = max(parts["test"].count(label) for label in labels)
        return {
            **self.learner.recipe.facts(),
            "labels": len(labels),
            **{part: len(own) for part, own in parts.items()},
            "majority": round(100 * most / len(parts["test"]), 3),
            "chance": round(100 / len(labels), 6),
        }

    def _parts(self) -> dict[str, tuple[str, Sequence[Item]]]:
        languages = {"train": self.source, "valid": self.source, "test": self.target}
        return {part: (code, self.texts.items[code, part]) for part, code in languages.items()}


def perceptron(name: str, settings: EvaluationSettings, data: TaskData) -> list[Task]:
    """Tasks of all directions of each benchmark, by perceptrons."""
    seed = derive(settings.seed, "classification")
    return _make(name, PerceptronRecipe(settings.classifier_runs, settings.classifier_epochs, seed), data)


def logistic(name: str, settings: EvaluationSettings, data: TaskData) -> list[Task]:
    """Tasks of all directions of each benchmark, by logistic regression."""
    return _make(name, LogisticRecipe(), data)


def _make(name: str, recipe: Recipe, data: TaskData) -> list[Task]:
    tasks: list[Task] = []
    for texts in (texts for folder in data.benchmarks for texts in read_labelled(folder)):
        learners: dict[str, Learner] = {}
        for source, target in texts.directions():
            tasks.append(Transfer(name, texts, source, target, learners.setdefault(source, Learner(recipe))))
    return tasks
