"""Classification across languages by small perceptrons."""

from __future__ import annotations

from functools import partial

from orthoglot import settings
from orthoglot.random_streams import derive
from orthoglot.study.tasks.base import Task, TaskData
from orthoglot.study.tasks.registry import RETRIEVAL
from orthoglot.study.tasks.transfer import Labelled, Learner, Predict, transfers

TITLE = "Classification across languages"
QUESTION = "How well does a small network label texts of languages that it saw no label in?"
BETTER = RETRIEVAL
# Perceptrons whose accuracies are averaged, as in EMS.
RUNS = 5


class Settings(settings.Settings):
    """What the task adds to the settings of an evaluation."""

    classifier_epochs: settings.Count = 500
    """Epochs that each perceptron of the task `classification` is trained for [LASER: 500]."""


def make(name: str, data: TaskData) -> list[Task]:
    """Tasks of all directions of each benchmark of texts with one label."""
    seed = derive(data.settings.seed, "classification")
    learner = partial(perceptrons, RUNS, data.settings.classifier_epochs, seed)
    return list(transfers(name, data, {"label": learner, "number": learner}))


def perceptrons(runs: int, epochs: int, seed: int) -> Learner:
    """`orthoglot.study.tasks.perceptron`."""

    def fit(train: Labelled, valid: Labelled) -> Predict:
        from orthoglot.study.tasks import perceptron

        return perceptron.fit(train, valid, runs=runs, epochs=epochs, seed=seed).predict

    return Learner(fit, {"classifier": "perceptron-10-8", "runs": runs, "epochs": epochs})
