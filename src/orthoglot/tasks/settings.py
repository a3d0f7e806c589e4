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
    """What is evaluated, on how much data, and how intervals are computed."""

    tasks: Annotated[list[TaskName], Field(min_length=1)]
    """Names in `orthoglot.tasks.registry`; those on benchmarks run on every benchmark of their kind."""
    long_tail: list[Language] = []
    """Languages with few training pairs; geometry reports them apart from the others (the head)."""
    heldout_pairs: Count = 1000
    """Sentence pairs of each language pair in the task `heldout`, at most."""
    probe_sentences: Count = 500
    """Sentences of each language in the task `language-probe`, at most."""
    probe_test_share: Share = 0.5
    """Share of these that the probe is tested on; it learns from the others."""
    mining_share: Share = 0.03
    """Gold pairs in a set for the task `mining` that is made of held-out pairs, as a share of either side's sentences
    [BUCC 2018: 0.020 to 0.033]."""
    margin_queries: Count = 2000
    """Queries of the task `paracrawl`, at most [EMS: 2,000]."""
    margin_candidates: Count = 200_000
    """Sentences that they are searched among, at most [EMS: 200,000]."""
    classifier_runs: Count = 5
    """Perceptrons of the task `classification`, whose accuracies are averaged [EMS: 5]."""
    classifier_epochs: Count = 500
    """Epochs that each is trained for [LASER: 500]."""
    map_sentences: Count = 200
    """Sentences of each language pair in the report's maps, at most."""
