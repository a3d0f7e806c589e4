"""Settings of the evaluation."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from orthoglot.settings import Count, Language, Settings, Share

TaskName = Literal[
    "heldout", "tatoeba", "nway", "sts", "qe", "code-switched", "language-probe", "leakage", "geometry"
]


class EvaluationSettings(Settings):
    """What is measured and how confidence intervals are drawn."""

    tasks: Annotated[list[TaskName], Field(min_length=1)]
    """The tasks to run; those on benchmarks run on every benchmark of their kind."""
    long_tail: list[Language] = []
    """Languages with few training pairs; reports show them apart from the others."""
    heldout_pairs: Count = 1000
    """Sentence pairs of each language pair in the task `heldout`, at most."""
    probe_sentences: Count = 500
    """Sentences of each language in the task `language-probe`, at most."""
    probe_test_share: Share = 0.5
    """Share of these that the probe is tested on; it learns from the others."""
    map_sentences: Count = 200
    """Sentences of each language pair in the report's maps, at most."""
    resamples: Count = 10_000
    """Bootstrap resamples of an interval."""
    confidence: Annotated[float, Field(gt=0.5, lt=1)] = 0.95
    """Level of the intervals."""
    seed: int = 1
    """Seed of samples and resamples."""
