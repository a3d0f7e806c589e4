"""Settings of intervals and tests."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from orthoglot.settings import Count, Settings


class ResamplingSettings(Settings):
    """How intervals and tests are computed.

    Attributes:
        resamples: bootstrap draws.
        confidence: of the intervals, e.g. 0.95.
        seed: of the draws.
    """

    resamples: Count
    confidence: Annotated[float, Field(gt=0.5, lt=1)]
    seed: int
