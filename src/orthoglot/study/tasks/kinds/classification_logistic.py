"""Classification across languages by the language probe's logistic regression on standardised vectors."""

from __future__ import annotations

import numpy as np

from orthoglot.study.tasks.base import Task, TaskData
from orthoglot.study.tasks.registry import RETRIEVAL
from orthoglot.study.tasks.transfer import Labelled, Learner, Predict, transfers

TITLE = "Classification across languages by logistic regression"
QUESTION = "How well does a linear classifier label texts of languages that it saw no label in?"
BETTER = RETRIEVAL


def make(name: str, data: TaskData) -> list[Task]:
    """Tasks of all directions of each benchmark."""
    return list(transfers(name, data, {"label": regression, "number": regression, "several": ranking}))


def regression() -> Learner:
    """Multinomial logistic regression; the validation part is not used."""
    from orthoglot.study.tasks import logistic

    def fit(train: Labelled, valid: Labelled) -> Predict:
        classifier, _ = logistic.trained(logistic.regression(), *train, "classification")
        return lambda vectors: np.asarray(classifier.predict(vectors))[None]

    return Learner(fit, {**logistic.FACTS, "runs": 1})


def ranking() -> Learner:
    """A binary logistic regression for each label of texts that have several; predicts all, most probable first."""
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.preprocessing import MultiLabelBinarizer

    from orthoglot.study.tasks import logistic

    def fit(train: Labelled, valid: Labelled) -> Predict:
        labels = MultiLabelBinarizer()
        marked = labels.fit_transform([label.split() for label in train[1]])
        per_label = OneVsRestClassifier(logistic.regression())
        classifier, _ = logistic.trained(per_label, train[0], marked, "classification")

        def predict(vectors: np.ndarray) -> np.ndarray:
            order = np.argsort(-classifier.decision_function(vectors), axis=1, kind="stable")
            return np.array([" ".join(labels.classes_[row]) for row in order], dtype=object)[None]

        return predict

    return Learner(fit, {**logistic.FACTS, "runs": 1})
