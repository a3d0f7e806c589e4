"""The base of every settings class, and the types of values that they share."""

from __future__ import annotations

import ast
import inspect
import re
import reprlib
import textwrap
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    ValidationError,
    WithJsonSchema,
)
from pydantic.json_schema import JsonSchemaValue

from orthoglot.catalogue_entries import closest
from orthoglot.errors import ConfigError
from orthoglot.languages import canonical

Checked = TypeVar("Checked", bound=BaseModel)
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

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        # Pydantic's `use_attribute_docstrings` would read the source of every class in every process.
        schema = handler(core_schema)
        properties = handler.resolve_ref_schema(schema)["properties"]
        texts = _descriptions(cls)
        for name in properties.keys() & texts.keys():
            properties[name].setdefault("description", texts[name])
        return schema


def _descriptions(settings: type[BaseModel]) -> dict[str, str]:
    """The text below each field, also of the classes above; none where there is no source."""
    texts = {}
    for base in reversed(settings.__mro__):
        if base is Settings or not issubclass(base, Settings):
            continue
        try:
            source = inspect.getsource(base)
        except OSError:
            continue
        for definition in ast.parse(textwrap.dedent(source)).body:
            assert isinstance(definition, ast.ClassDef)
            for field, below in pairwise(definition.body):
                match field, below:
                    case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                        texts[name] = inspect.cleandoc(text)
    return texts


def checked(settings: type[Checked], values: Any, place: str = "") -> Checked:
    """Check values as they are written; a ConfigError names the first thing that is wrong, after `place`."""
    try:
        return settings.model_validate(values)
    except ValidationError as error:
        raise ConfigError(place + _describe(error, settings)) from error


def _describe(error: ValidationError, settings: type[BaseModel]) -> str:
    """The first problem of a validation error in one line; a misspelt key comes with the nearest known one."""
    # A misspelt key is two problems, one strange and one missing: the first helps.
    first = min(error.errors(), key=lambda problem: problem["type"] != "extra_forbidden")
    written, _ = _located(first["loc"], _schema(settings))
    place = ".".join(map(str, written))
    if first["type"] != "extra_forbidden":
        given = "" if isinstance(first["input"], dict) else f" (given: {reprlib.repr(first['input'])[:200]})"
        message = first["msg"].removeprefix("Value error, ")
        return f"{place}: {message}{given}" if place else message
    _, keys = _located(first["loc"][:-1], _schema(settings))
    return f"unknown key {place!r}{closest(str(first['loc'][-1]), keys)}"


# What pydantic calls a type where a value may have one of several.
TYPE = re.compile(r"(constrained-)?(str|int|float|bool)|(list|dict)\[.*\]")


@cache
def _schema(settings: type[BaseModel]) -> dict[str, Any]:
    return settings.model_json_schema()


def _located(location: Sequence[int | str], schema: Mapping[str, Any]) -> tuple[list[int | str], list[str]]:
    """A location as it is written, without the kinds, types and `[key]` that pydantic adds, and the keys there."""
    node = schema
    written: list[int | str] = []
    for part in location:
        if "anyOf" in node and TYPE.fullmatch(str(part)):
            continue
        kinds = node.get("discriminator", {}).get("mapping", {})
        if part not in kinds and part != "[key]":
            written.append(part)
        if part in kinds:
            node = {"$ref": kinds[part]}
        elif part in node.get("properties", {}):
            node = node["properties"][part]
        else:
            by_name = [*node.get("patternProperties", {}).values(), node.get("additionalProperties")]
            node = by_name[0] if isinstance(by_name[0], dict) else node.get("items", {})
        if "$ref" in node:
            node = schema["$defs"][node["$ref"].rpartition("/")[2]]
    return written, list(node.get("properties", {}))
