"""One linear map of the sentence vector, and what it leaves: SEED."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orthoglot.decomposers.base import Trained, mapped


def split(weights: Mapping[str, Any], e: Any) -> tuple[Any, Any]:
    """meaning = W e + b, language = e - meaning: the parts add up to e (SEED Eqs. 1 and 2, docs/papers.md#seed-1)."""
    meaning = mapped(weights, "meaning", e)
    return meaning, e - meaning


ARCHITECTURE = Trained(maps=("meaning",), split=split)
