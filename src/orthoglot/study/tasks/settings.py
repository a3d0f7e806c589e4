"""Settings of the evaluation: those of all tasks, and what each task of the folder adds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from orthoglot.registry import having, names
from orthoglot.settings import Count
from orthoglot.statistics.settings import ResamplingSettings
from orthoglot.study.tasks import kinds

if TYPE_CHECKING:
    TaskName = str
else:
    TaskName = Literal[names(kinds)]


class CommonSettings(ResamplingSettings):
    """What is evaluated, on how much data, and how intervals are computed."""

    tasks: Annotated[list[TaskName], Field(min_length=1)]
    """Modules of `orthoglot.study.tasks.kinds`, in the order of the report; those on benchmarks run on every
    benchmark of their kind."""
    heldout_pairs: Count = 1000
    """Sentence pairs of each language pair in the tasks `heldout` and `leakage`, at most."""
    map_sentences: Count = 200
    """Sentences of each language pair in the report's maps, at most."""


OF_TASKS = having(kinds, "Settings").values()


class EvaluationSettings(CommonSettings, *OF_TASKS):  # type: ignore[misc]  # the folder decides the bases
    """What is evaluated, on how much data, and how intervals are computed."""
