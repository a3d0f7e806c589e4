"""The base of every settings class: unknown keys are refused, values cannot change."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from orthoglot.languages import canonical

Share = Annotated[float, Field(ge=0, lt=1)]
Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=1)]
Whole = Annotated[int, Field(ge=0)]

NAME_PATTERN = r"[A-Za-z0-9](\.?[A-Za-z0-9_+-])*\.?"


def check_name(name: str, section: str) -> None:
    """Refuse a name that a shell or a path could read as something else."""
    if not re.fullmatch(NAME_PATTERN, name):
        raise ValueError(
            f"{section}: {name!r}: a name consists of letters (A-Z, a-z), digits and the characters . _ + -; it begins "
            "with a letter or a digit and has no two dots in a row"
        )


def _norwegian(code: object) -> object:
    # YAML 1.1 reads an unquoted `no` as false, and `dvc exp run -S` writes it unquoted.
    return "no" if code is False else code


def _canonical(code: str) -> str:
    if canonical(code) != code:
        raise ValueError(f"write the language {code!r} as {canonical(code)!r}")
    return code


Language = Annotated[str, BeforeValidator(_norwegian), AfterValidator(_canonical)]


class Settings(BaseModel):
    """Settings of one thing; every number comes from params.yaml, none has a default here."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
