"""Settings of the decomposers' training."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from orthoglot.settings import Count, Positive, Settings


class MethodSettings(Settings):
    """A decomposition method as data.

    architecture: `original` (the vector itself), `centering` (closed form), `two_head` (DREAM, MEAT),
        `residual` (SEED).
    partners: where the other rows of a batch come from: `none`, `dream` (any other row for meaning, same
        language for language), `half_batch` (the ORACLE release), `same_language` (SEED).
    terms: weight by term name; empty for the two methods that are not trained.
    """

    architecture: Literal["original", "centering", "two_head", "residual"]
    partners: Literal["none", "dream", "half_batch", "same_language"] = "none"
    terms: dict[str, Annotated[float, Field(ge=0)]] = {}


class DecompositionSettings(Settings):
    """The recipe that all trained methods share within a preset (Adam, no schedule, no decay)."""

    learning_rate: Positive
    batch_size: Count
    max_epochs: Count
    patience: Count
