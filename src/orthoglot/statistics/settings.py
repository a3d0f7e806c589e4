"""Settings of the evaluation."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from orthoglot.settings import Count, Language, Settings, Share

TaskName = Literal[
    "heldout", "tatoeba", "nway", "sts", "qe", "code-switched", "language-probe", "leakage", "geometry"
]


class EvaluationSettings(Settings):
    """What is measured and how intervals are drawn.

    long_tail: languages with few training pairs, which are told apart from the others (the head).
    """

    tasks: Annotated[list[TaskName], Field(min_length=1)]
    long_tail: list[Language]
    heldout_pairs: Count
    probe_sentences: Count
    probe_test_share: Share
    map_sentences: Count
    resamples: Count
    confidence: Annotated[float, Field(gt=0.5, lt=1)]
    seed: int
