"""The tasks of an evaluation: one line each.

To add a task, write a module with a function `make(name, settings, data) -> list[Task]` (`orthoglot.tasks.base`) and
add a line here. The settings accept the names of this table, `evaluate` runs the tasks in its order, and reports take
titles, questions and directions from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Literal, NamedTuple

NWAY = "nway"
Direction = Literal["higher", "lower", "zero"]

RETRIEVAL: dict[str, Direction] = {"meaning": "higher", "sentence": "higher", "language": "lower"}
PROBE: dict[str, Direction] = {"meaning": "lower", "sentence": "lower", "language": "higher"}
CORRELATION: dict[str, Direction] = {"meaning": "higher", "sentence": "higher", "language": "zero"}


class TaskEntry(NamedTuple):
    """One task.

    Attributes:
        make: "module:function" in `orthoglot.tasks` that makes the tasks of this name.
        better: which values are better, by view; empty where that depends on the metric.
        title: of reports.
        question: what the task asks, in a sentence, for reports.
    """

    make: str
    better: Mapping[str, Direction]
    title: str
    question: str

    def load(self) -> Any:
        """The function that `make` names."""
        module, function = self.make.split(":")
        return getattr(import_module(f"orthoglot.tasks.{module}"), function)


TASKS: dict[str, TaskEntry] = {
    "heldout": TaskEntry(
        "retrieval:heldout",
        RETRIEVAL,
        title="Held-out retrieval",
        question="Of translations that no training saw, "
        "how many sentences have their translation as nearest neighbour?",
    ),
    "tatoeba": TaskEntry(
        "retrieval:tatoeba",
        RETRIEVAL,
        title="Tatoeba retrieval",
        question="Of the pairs of a test set, how many sentences have their translation as nearest neighbour?",
    ),
    "nway": TaskEntry(
        "retrieval:nway",
        RETRIEVAL,
        title="Retrieval between any two languages",
        question="One text in many languages: how many sentences have their translation in another as neighbour?",
    ),
    "code-switched": TaskEntry(
        "retrieval:code_switched",
        RETRIEVAL,
        title="Code-switched retrieval",
        question="How many sentences whose words are of two languages have their translation as nearest neighbour?",
    ),
    "mining": TaskEntry(
        "mining:make",
        RETRIEVAL,
        title="Mining of translations",
        question="Of two texts, a few sentences translate each other: "
        "how well are these pairs separated from the rest?",
    ),
    "paracrawl": TaskEntry(
        "margin_retrieval:make",
        RETRIEVAL,
        title="Retrieval by margin among many",
        question="How many of some sentences have their translation as best candidate among very many?",
    ),
    "lareqa": TaskEntry(
        "lareqa:make",
        RETRIEVAL,
        title="Answers in a pool of all languages",
        question="How high does a pool of all languages rank "
        "the sentences that answer a question, in whatever language?",
    ),
    "mixed-pool": TaskEntry(
        "mixed_pool:make",
        PROBE,
        title="Neighbours in a pool of all languages",
        question="In a pool of all languages, does a sentence find its translations or sentences of its own language?",
    ),
    "sts": TaskEntry(
        "graded_pairs:make",
        CORRELATION,
        title="Semantic similarity",
        question="How well do cosines of two sentences agree with the test set's scores of how similar they are?",
    ),
    "qe": TaskEntry(
        "quality:make",
        CORRELATION,
        title="Quality estimation",
        question="How well do cosines of a sentence and its translation "
        "agree with the test set's scores of how good it is?",
    ),
    "classification": TaskEntry(
        "classification:perceptron",
        RETRIEVAL,
        title="Classification across languages",
        question="How well does a small network label texts of languages that it saw no label in?",
    ),
    "classification-logistic": TaskEntry(
        "classification:logistic",
        RETRIEVAL,
        title="Classification across languages by logistic regression",
        question="How well does a linear classifier label texts of languages that it saw no label in?",
    ),
    "language-probe": TaskEntry(
        "language_probe:make",
        PROBE,
        title="Language probe",
        question="How often does a linear classifier tell a sentence's language from its vector?",
    ),
    "leakage": TaskEntry(
        "leakage:make",
        {},
        title="Leakage",
        question="What do the two parts share that each should have to itself?",
    ),
    "geometry": TaskEntry(
        "geometry:make",
        {},
        title="Geometry",
        question="Do languages occupy the same space, and is all of it used?",
    ),
}
