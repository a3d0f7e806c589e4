"""Settings of the decomposers' training."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from orthoglot.settings import Count, Positive, Settings

OWN_SETTINGS = {"lir": "rank", "lsar": "rank", "whitening": "shrinkage"}


class MethodSettings(Settings):
    """A decomposition method as data.

    architecture: `original` (the vector itself), `two_head` (DREAM, MEAT), `residual` (SEED); the others are closed
        forms, computed in one pass (`orthoglot.decomposers.closed_form`).
    partners: where the other rows of a batch come from: `none`, `dream` (any other row for meaning, same
        language for language), `half_batch` (the ORACLE release), `same_language` (SEED).
    terms: weight by term name; empty for the methods that are not trained.
    rank: directions that are taken away, for `lir` (of each language) and `lsar` (of all together).
    shrinkage: for `whitening`, share in [0, 1] by which a covariance is moved towards a multiple of the identity.
    """

    architecture: Literal[
        "original",
        "centering",
        "pair_centering",
        "lir",
        "lsar",
        "leace",
        "whitening",
        "procrustes",
        "two_head",
        "residual",
    ]
    partners: Literal["none", "dream", "half_batch", "same_language"] = "none"
    terms: dict[str, Annotated[float, Field(ge=0)]] = {}
    rank: Count | None = None
    shrinkage: Annotated[float, Field(ge=0, le=1)] | None = None

    @model_validator(mode="after")
    def _own_settings(self) -> Self:
        needed = OWN_SETTINGS.get(self.architecture)
        for name in ("rank", "shrinkage"):
            if (given := getattr(self, name) is not None) != (name == needed):
                does = "does nothing" if given else "is needed"
                raise ValueError(f"{name} {does} with architecture {self.architecture!r}")
        return self

    @property
    def own_settings(self) -> dict[str, Any]:
        """What the closed form takes beside the vectors, by name."""
        needed = OWN_SETTINGS.get(self.architecture)
        return {needed: getattr(self, needed)} if needed else {}


class DecompositionSettings(Settings):
    """The recipe that all trained methods share within a preset (Adam, no schedule, no decay)."""

    learning_rate: Positive
    batch_size: Count
    max_epochs: Count
    patience: Count
