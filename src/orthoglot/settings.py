"""The base of every settings class, and the types of values that they share."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from orthoglot.languages import canonical

Share = Annotated[float, Field(ge=0, lt=1)]
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]
Whole = Annotated[int, Field(ge=0)]

NAME_PATTERN = r"[A-Za-z0-9](\.?[A-Za-z0-9_+-])*\.?"


def _name(name: str) -> str:
    # Names become parts of paths and words of shell commands.
    if not re.fullmatch(NAME_PATTERN, name):
        raise ValueError(
            "a name consists of letters (A-Z, a-z), digits and the characters . _ + -; it begins with a letter or a "
            "digit and has no two dots in a row"
        )
    if name == "receipt" or name.endswith(".partial"):
        raise ValueError("receipt and names that end in .partial are folders of the workflow's own")
    return name


def _norwegian(code: object) -> object:
    # YAML 1.1 reads an unquoted `no` as false, and `dvc exp run -S` writes it unquoted.
    return "no" if code is False else code


def _canonical(code: str) -> str:
    if canonical(code) != code:
        raise ValueError(f"write the language {code!r} as {canonical(code)!r}")
    return code


Name = Annotated[
    str, AfterValidator(_name), WithJsonSchema({"type": "string", "pattern": f"^{NAME_PATTERN}$"})
]
Language = Annotated[str, BeforeValidator(_norwegian), AfterValidator(_canonical)]


class Settings(BaseModel):
    """Settings of one thing: unknown keys are refused, types are not converted, values cannot change.

    The text below a field is its description in the JSON schema: what it is, its unit, and where its default is from.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, use_attribute_docstrings=True
    )
