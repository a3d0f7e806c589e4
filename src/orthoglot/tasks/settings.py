"""Settings of the evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from orthoglot.settings import Count, Language, Share
from orthoglot.statistics.settings import ResamplingSettings
from orthoglot.tasks.registry import TASKS

if TYPE_CHECKING:
    TaskName = str
else:
    TaskName = Literal[tuple(TASKS)]


class EvaluationSettings(ResamplingSettings):
    """What is evaluated, on how much data, and how intervals are computed.

    Attributes:
        tasks: names in `orthoglot.tasks.registry`.
        long_tail: languages with few training pairs; geometry reports them apart from the others (the head).
        heldout_pairs: held-out sentence pairs of each language pair, at most.
        probe_sentences: sentences of each language for the language probe, at most.
        probe_test_share: share of these that is scored.
        map_sentences: sentence pairs of each language pair in the two-dimensional map.
    """

    tasks: Annotated[list[TaskName], Field(min_length=1)]
    long_tail: list[Language]
    heldout_pairs: Count
    probe_sentences: Count
    probe_test_share: Share
    map_sentences: Count
