"""The trained architectures: linear maps of the sentence vector, shared by all languages.

The same functions split NumPy arrays and, during training, tensors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orthoglot.decomposers.base import Trained


def two_head(weights: Mapping[str, Any], e: Any) -> tuple[Any, Any]:
    """meaning = W_m e + b_m, language = W_l e + b_l (DREAM Eq. 1, docs/papers.md#dream-1)."""
    return _map(weights, "meaning", e), _map(weights, "language", e)


def residual(weights: Mapping[str, Any], e: Any) -> tuple[Any, Any]:
    """meaning = W e + b, language = e - meaning: the parts add up to e (SEED Eq. 1, docs/papers.md#seed-1)."""
    meaning = _map(weights, "meaning", e)
    return meaning, e - meaning


def _map(weights: Mapping[str, Any], name: str, e: Any) -> Any:
    return e @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


TWO_HEAD = Trained(maps=("meaning", "language"), split=two_head)
RESIDUAL = Trained(maps=("meaning",), split=residual)
