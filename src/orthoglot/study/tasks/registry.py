"""The tasks of an evaluation: each module of `orthoglot.study.tasks.kinds` is one, found by its name.

A task has the name of its module, with hyphens for underscores. A module is loaded when its name is asked for. To add a
task, write a module: docs/extend.md.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Literal, Protocol, cast

from orthoglot import registry
from orthoglot.statistics.weighted import MEASURES, Metric
from orthoglot.study.tasks import kinds

if TYPE_CHECKING:
    from orthoglot.study.tasks.base import AnyTask, TaskData

NWAY = "nway"
Direction = Literal["higher", "lower", "zero"]

RETRIEVAL: dict[str, Direction] = {"meaning": "higher", "sentence": "higher", "language": "lower"}
PROBE: dict[str, Direction] = {"meaning": "lower", "sentence": "lower", "language": "higher"}
CORRELATION: dict[str, Direction] = {"meaning": "higher", "sentence": "higher", "language": "zero"}


class TaskModule(Protocol):
    """What a module of the folder has.

    It may also have `Settings`, fields that it adds to a preset's `evaluation`; `MEASURES`, statistics of its own;
    `COMPARED`, the measures by which methods are compared (all if it is absent); `pooled(scored)`, which makes scores
    from the scores of all its subsets; and `EXAMPLES`, the title of its examples in text and a note on them.
    """

    TITLE: str  # of reports
    QUESTION: str  # what the task asks, in a sentence, for reports
    # which values are better, by view; empty where that depends on the metric
    BETTER: Mapping[str, Direction]

    def make(self, name: str, data: TaskData) -> Collection[AnyTask]:
        """The tasks of this name on the data at hand."""


def names() -> tuple[str, ...]:
    """The names of all tasks; none is loaded."""
    return registry.names(kinds)


def load(name: str) -> TaskModule:
    """The task of a name; loading one loads neither torch nor scikit-learn."""
    return cast(TaskModule, registry.load(kinds, name))


def title(name: str) -> str:
    """The title of a task in reports; the name itself if it is not a task's."""
    return load(name).TITLE if name in names() else name


def examples(name: str) -> tuple[str, str]:
    """The title of a task's examples in text, and what they are."""
    return getattr(load(name), "EXAMPLES", ("Examples", ""))


def measures(tasks: Collection[str]) -> dict[str, tuple[Metric, ...]]:
    """What is computed of the scores of some tasks: {measure: its metrics}."""
    table = {**MEASURES}
    for name in tasks:
        table |= getattr(load(name), "MEASURES", {})
    return table


def is_compared(name: str, measure: str) -> bool:
    """Whether methods are compared by a measure of a task."""
    return measure in getattr(load(name), "COMPARED", (measure,))
