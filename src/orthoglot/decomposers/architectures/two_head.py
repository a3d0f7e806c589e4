"""Two linear maps of the sentence vector, shared by all languages: DREAM and MEAT."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orthoglot.decomposers.base import Trained, mapped


def split(weights: Mapping[str, Any], e: Any) -> tuple[Any, Any]:
    """meaning = W_m e + b_m, language = W_l e + b_l (DREAM Eq. 1, docs/papers.md#dream-1)."""
    return mapped(weights, "meaning", e), mapped(weights, "language", e)


ARCHITECTURE = Trained(maps=("meaning", "language"), split=split)
