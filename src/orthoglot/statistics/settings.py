"""Settings of intervals and tests."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from orthoglot.settings import Count, Settings


class ResamplingSettings(Settings):
    """How intervals and tests are computed."""

    resamples: Count = 10_000
    """Bootstrap resamples of an interval."""
    confidence: Annotated[float, Field(gt=0.5, lt=1)] = 0.95
    """Level of the intervals."""
    seed: int = 1
    """Seed of samples and resamples."""
