"""Semantic similarity of two sentences: pairs with a gold score (`orthoglot.study.benchmarks.graded`)."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from orthoglot.study.benchmarks.base import PairSet
from orthoglot.study.benchmarks.graded import GradedSettings, collect, read_graded

__all__ = ["SETTINGS", "collect", "read"]


class SimilaritySettings(GradedSettings):
    """Semantic similarity of two sentences.

    Source: docs/papers.md#protocol-sts.
    """

    kind: Literal["sts"]


SETTINGS = SimilaritySettings


def read(folder: Path) -> list[PairSet]:
    """See `read_graded`."""
    return read_graded(folder, "sts")
