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
        make: "module:function" that makes the tasks of this name.
        better: which values are better, by view; empty where that depends on the metric.
        title: of reports.
    """

    make: str
    better: Mapping[str, Direction]
    title: str

    def load(self) -> Any:
        """The function that `make` names."""
        module, _, function = self.make.partition(":")
        return getattr(import_module(module), function)


TASKS: dict[str, TaskEntry] = {
    "heldout": TaskEntry("orthoglot.tasks.retrieval:heldout", RETRIEVAL, title="Held-out retrieval"),
    "tatoeba": TaskEntry("orthoglot.tasks.retrieval:tatoeba", RETRIEVAL, title="Tatoeba retrieval"),
    "nway": TaskEntry(
        "orthoglot.tasks.retrieval:nway", RETRIEVAL, title="Retrieval between any two languages"
    ),
    "code-switched": TaskEntry(
        "orthoglot.tasks.retrieval:code_switched", "Code-switched retrieval", RETRIEVAL
    ),
    "sts": TaskEntry("orthoglot.tasks.graded_pairs:make", CORRELATION, title="Semantic similarity"),
    "qe": TaskEntry("orthoglot.tasks.graded_pairs:make", CORRELATION, title="Quality estimation"),
    "language-probe": TaskEntry("orthoglot.tasks.language_probe:make", PROBE, title="Language probe"),
    "leakage": TaskEntry("orthoglot.tasks.leakage:make", {}, title="Leakage"),
    "geometry": TaskEntry("orthoglot.tasks.geometry:make", {}, title="Geometry"),
}
