"""Labels that a classifier learns in one language and that are tested in another.

The tasks `classification` and `classification-logistic` differ in the classifier.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from orthoglot.decomposers.base import unit
from orthoglot.errors import DataError
from orthoglot.statistics.records import ACCURACY, ALL, MAE, MRP
from orthoglot.study.benchmarks.kinds import classification
from orthoglot.study.benchmarks.kinds.classification import Item, LabelledSet
from orthoglot.study.tasks.base import Result, Task, TaskData
from orthoglot.text.keys import keys_of
from orthoglot.usable_vectors import usable

Labelled = tuple[np.ndarray, np.ndarray]  # vectors (N, D), labels (N,)
# (N, D) vectors -> (R, N) labels of R trained classifiers.
Predict = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Learner:
    """Classifiers by the vectors that they were trained on, so that each test language finds them trained."""

    # trains on vectors of length 1: a training part, a validation part
    fit: Callable[[Labelled, Labelled], Predict]
    facts: Mapping[str, object]  # for the records
    trained: dict[bytes, Predict] = field(default_factory=dict)  # what was trained so far

    def learnt(self, train: Labelled, valid: Labelled) -> Predict:
        """A classifier, trained once for equal vectors and labels."""
        digest = hashlib.blake2b()
        for array in (*train, *valid):
            digest.update(array.tobytes())
        key = digest.digest()
        if key not in self.trained:
            self.trained[key] = self.fit(train, valid)
        return self.trained[key]


def right(predicted: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """(R, N) predicted labels, (N,) labels -> (R, N) whether they are the same."""
    return (predicted == wanted).astype(np.float64)


def absolute_error(predicted: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """(R, N) predicted numbers, (N,) numbers -> (R, N) |predicted - wanted|."""
    return abs(predicted.astype(np.float64) - wanted.astype(np.float64))


def r_precision(predicted: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """(R, N) labels by rank, (N,) the K labels of each text -> (R, N) share of these among the first K by rank."""

    def share(ranked: str, gold: str) -> float:
        labels = set(gold.split())
        return len(labels & set(ranked.split()[: len(labels)])) / len(labels)

    return np.array([[share(*pair) for pair in zip(row, wanted, strict=True)] for row in predicted])


# What is recorded and how a prediction is compared, by the scoring of a set.
MEASURED = {
    "label": (ACCURACY, right),
    "number": (MAE, absolute_error),
    "several": (MRP, r_precision),
}


@dataclass(frozen=True)
class Transfer:
    """Texts of one language, labelled by classifiers that learnt the labels in another, or in several at once.

    Accuracy, 0 to 100, mean over the learner's classifiers, on the `features` of vectors of length 1. Chance is
    100 / C for C labels. The record also has the share of the test's most frequent label (`majority`) and the
    standard deviation of the classifiers' accuracies (`run_sd`). Higher is better for the meaning view, lower for the
    language view. Labels that are numbers have their mean absolute error instead, times 100: lower is better. Texts
    with several labels have the mean R-precision, 0 to 100 (`r_precision`).

    Source: docs/papers.md#protocol-classification.
    """

    name: str  # of the task
    texts: LabelledSet  # of all languages
    taught: Sequence[str]  # languages of the training
    target: str  # language of the test
    learner: Learner  # shared by the tasks of one training

    @property
    def dataset(self) -> str:
        """Benchmark folder."""
        return self.texts.name

    @property
    def measure(self) -> str:
        """The measure of the benchmark's scoring."""
        return MEASURED[self.texts.scoring][0]

    @property
    def source(self) -> str:
        """See `name_of_taught`."""
        return name_of_taught(self.taught, {language for language, _ in self.texts.items})

    def sides(self) -> dict[str, tuple[Sequence[str], str]]:
        """Texts to train on, to validate on, and to test on: by part, language and place in an item."""
        sides: dict[str, tuple[Sequence[str], str]] = {}
        for part, by_language in self._parts().items():
            for language, items in by_language.items():
                for column, texts in enumerate(zip(*(item.texts for item in items), strict=True)):
                    sides[_side(part, language, column)] = texts, language
        return sides

    def keys(self) -> np.ndarray:
        """(N,) uint64 of the ids of the tested texts, which translations share."""
        return keys_of(item.id for item in self._parts()["test"][self.target])

    def score(self, vectors: Mapping[str, np.ndarray]) -> Result:
        """(N,) scores, mean over the classifiers; NaN for a text without direction.

        A DataError if too few texts to train or validate on have a direction.
        """
        train, valid = self._labelled("train", vectors)[1:], self._labelled("valid", vectors)[1:]
        if len(set(train[1])) < 2 or not len(valid[1]):
            raise DataError(f"{self.name} {self.dataset} {self.source}: too few usable vectors to train on")
        directed, tested, wanted = self._labelled("test", vectors)
        averaged = np.full(len(directed), np.nan)
        facts: dict[str, object] = {}
        if directed.any():
            _, compare = MEASURED[self.texts.scoring]
            scores = compare(self.learner.learnt(train, valid)(tested), wanted)
            averaged[directed] = scores.mean(0)
            if len(scores) > 1:
                facts = {"run_sd": round(100 * float(scores.mean(1).std(ddof=1)), 3)}
        return Result({f"{self.source}->{self.target}": averaged}, facts)

    def facts(self, subset: str) -> dict[str, object]:
        """Classifier, sizes, chance."""
        parts = {
            part: [item.label for items in by_language.values() for item in items]
            for part, by_language in self._parts().items()
        }
        labels = distinct_labels(parts["train"], self.texts.scoring)
        facts = {**self.learner.facts, "labels": len(labels)}
        facts |= {part: len(labels_of_part) for part, labels_of_part in parts.items()}
        if self.texts.scoring == "label":
            most = max(parts["test"].count(label) for label in labels)
            facts |= {
                "majority": round(100 * most / len(parts["test"]), 3),
                "chance": round(100 / len(labels), 6),
            }
        return facts

    def _labelled(
        self, part: str, vectors: Mapping[str, np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(N,) whether the texts of a part have a direction; of those that have, features and labels."""
        usables, inputs, labels = [], [], []
        for language, items in self._parts()[part].items():
            sides = [vectors[_side(part, language, column)] for column in range(len(items[0].texts))]
            directed = np.all([usable(side) for side in sides], axis=0)
            usables.append(directed)
            inputs.append(features([side[directed] for side in sides]))
            labels.append(np.array([item.label for item in items])[directed])
        return np.concatenate(usables), np.concatenate(inputs), np.concatenate(labels)

    def _parts(self) -> dict[str, dict[str, Sequence[Item]]]:
        """Items by language, of each part."""
        languages = {"train": self.taught, "valid": self.taught, "test": [self.target]}
        return {
            part: {code: self.texts.items[code, part] for code in codes} for part, codes in languages.items()
        }


def name_of_taught(taught: Sequence[str], languages: Collection[str]) -> str:
    """What subsets call the languages of a training: "en", "en+es", or "all" for all languages of the set."""
    return ALL if len(taught) > 1 and set(languages) == set(taught) else "+".join(taught)


def distinct_labels(labels: Iterable[str], scoring: str) -> set[str]:
    """The labels of some texts, each alone where a text has several, divided by blanks."""
    if scoring == "several":
        return {label for of_text in labels for label in of_text.split()}
    return set(labels)


def _side(part: str, language: str, column: int) -> str:
    return f"{part} {language} {column + 1}"


def transfers(name: str, data: TaskData, learners: Mapping[str, Callable[[], Learner]]) -> Iterator[Task]:
    """Tasks of all directions of each benchmark whose scoring has a learner, one for each training."""
    for texts in data.sets(classification.read):
        learnt: dict[tuple[str, ...], Learner] = {}
        for taught, target in texts.directions if texts.scoring in learners else ():
            if tuple(taught) not in learnt:
                learnt[tuple(taught)] = learners[texts.scoring]()
            yield Transfer(name, texts, taught, target, learnt[tuple(taught)])


def features(vectors: Sequence[np.ndarray]) -> np.ndarray:
    """One text: its vector u. A pair: u and v with what tells them apart. A choice: the difference of two pairs.

    pair(u, v) = [u, v, |u - v|, sqrt(D) u * v]

    u and v have length 1, so that their entries are about 1 / sqrt(D) and those of their product 1 / D: the factor
    brings all parts to one size, which a perceptron needs and a standardised regression does not notice. A choice
    between (u, v) and (u', v') has pair(u, v) - pair(u', v'), whose sign changes if the alternatives change places.

    Args:
        vectors: Of one, two or four texts, (N, D) each, of any length but 0.
    Returns:
        (N, D) or (N, 4 D), float64.
    Source: docs/papers.md#pair-features.
    """
    units = [unit(rows.astype(np.float64)) for rows in vectors]
    if len(units) == 1:
        return units[0]
    if len(units) == 2:
        return _pair(*units)
    first, second, third, fourth = units
    return _pair(first, second) - _pair(third, fourth)


def _pair(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.concatenate([u, v, abs(u - v), u.shape[1] ** 0.5 * u * v], axis=1)
