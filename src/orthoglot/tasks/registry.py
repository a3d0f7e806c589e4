"""The tasks of an evaluation: one line each.

To add a task, write a module with a function `make(name, settings, data) -> list[Task]` (`orthoglot.tasks.base`) and
add a line here. The settings accept the names of this table, `evaluate` runs the tasks in its order, and reports take
titles and directions from it.
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
    """

    make: str
    better: Mapping[str, Direction]
    title: str

    def load(self) -> Any:
        """The function that `make` names."""
        module, function = self.make.split(":")
        return getattr(import_module(f"orthoglot.tasks.{module}"), function)


TASKS: dict[str, TaskEntry] = {
    "heldout": TaskEntry("retrieval:heldout", RETRIEVAL, title="Held-out retrieval"),
    "tatoeba": TaskEntry("retrieval:tatoeba", RETRIEVAL, title="Tatoeba retrieval"),
    "nway": TaskEntry("retrieval:nway", RETRIEVAL, title="Retrieval between any two languages"),
    "code-switched": TaskEntry("retrieval:code_switched", RETRIEVAL, title="Code-switched retrieval"),
    "mining": TaskEntry("mining:make", RETRIEVAL, title="Mining of translations"),
    "paracrawl": TaskEntry("margin_retrieval:make", RETRIEVAL, title="Retrieval by margin among many"),
    "lareqa": TaskEntry("lareqa:make", RETRIEVAL, title="Answers in a pool of all languages"),
    "mixed-pool": TaskEntry("mixed_pool:make", PROBE, title="Neighbours in a pool of all languages"),
    "sts": TaskEntry("graded_pairs:make", CORRELATION, title="Semantic similarity"),
    "qe": TaskEntry("quality:make", CORRELATION, title="Quality estimation"),
    "classification": TaskEntry(
        "classification:perceptron", RETRIEVAL, title="Classification across languages"
    ),
    "classification-logistic": TaskEntry(
        "classification:logistic", RETRIEVAL, title="Classification across languages by logistic regression"
    ),
    "language-probe": TaskEntry("language_probe:make", PROBE, title="Language probe"),
    "leakage": TaskEntry("leakage:make", {}, title="Leakage"),
    "geometry": TaskEntry("geometry:make", {}, title="Geometry"),
}
