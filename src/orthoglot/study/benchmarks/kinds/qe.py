"""Quality of translations: pairs with a gold score (`orthoglot.study.benchmarks.graded`)."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from orthoglot.study.benchmarks.base import PairSet
from orthoglot.study.benchmarks.graded import GradedSettings, collect, read_graded

__all__ = ["SETTINGS", "collect", "read"]


class QualitySettings(GradedSettings):
    """Quality of translations.

    Source: docs/papers.md#protocol-qe.
    """

    kind: Literal["qe"]


SETTINGS = QualitySettings


def read(folder: Path) -> list[PairSet]:
    """See `read_graded`."""
    return read_graded(folder, "qe")
