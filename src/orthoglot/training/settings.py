"""Settings of the decomposers and of their training."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator

from orthoglot.decomposers import ARCHITECTURES, architecture
from orthoglot.settings import Count, Positive, Settings
from orthoglot.training import PARTNER_RULES


def _one_of(*known: str) -> Any:
    """Validates a name of a registry, and lists the names in the JSON schema."""

    def check(name: str) -> str:
        if name not in known:
            raise ValueError(f"{name!r} is unknown; known: {', '.join(known)}")
        return name

    return AfterValidator(check), Field(json_schema_extra={"enum": list(known)})


Architecture = Annotated[str, *_one_of("original", *ARCHITECTURES)]
PartnerRule = Annotated[str, *_one_of(*PARTNER_RULES)]


class MethodSettings(Settings):
    """A decomposition method as data.

    architecture: `original` (the vector itself), `two_head` (DREAM, MEAT), `residual` (SEED), or a closed form, which
        one pass computes (`orthoglot.decomposers`).
    partners: which other rows of a batch the loss uses: `none`, `dream` (any other row for meaning, one of the same
        language for language), `half_batch` (the ORACLE release), `same_language` (SEED).
    terms: weight by term name; empty for methods that are not trained.
    rank: number of directions removed, for `lir` (from each language) and `lsar` (from all together).
    shrinkage: for `whitening`, share in [0, 1] by which a covariance is moved towards a multiple of the identity.
    """

    architecture: Architecture
    partners: PartnerRule = "none"
    terms: dict[str, Annotated[float, Field(ge=0)]] = {}
    rank: Count | None = None
    shrinkage: Annotated[float, Field(ge=0, le=1)] | None = None

    @model_validator(mode="after")
    def _own_settings(self) -> Self:
        needed = self._setting()
        for name in ("rank", "shrinkage"):
            if (given := getattr(self, name) is not None) != (name == needed):
                does = "does nothing" if given else "is needed"
                raise ValueError(f"{name} {does} with architecture {self.architecture!r}")
        return self

    @property
    def own_settings(self) -> dict[str, Any]:
        """The closed form's setting by name, if it has one."""
        needed = self._setting()
        return {needed: getattr(self, needed)} if needed else {}

    def _setting(self) -> str | None:
        if self.architecture not in ARCHITECTURES:
            return None
        return getattr(architecture(self.architecture), "setting", None)


class DecompositionSettings(Settings):
    """How all trained methods of a preset are trained (Adam, no schedule, no decay)."""

    learning_rate: Positive
    batch_size: Count
    max_epochs: Count
    patience: Count
