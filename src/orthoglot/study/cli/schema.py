"""`orthoglot study schema`: the JSON schemas of the settings."""

from __future__ import annotations

import json
from typing import Annotated, Literal

import typer


def schema(file: Annotated[Literal["params", "catalogue"], typer.Argument(help="of which file")]) -> None:
    """Print the JSON schema of params.yaml or the catalogue.

    Example: orthoglot study schema params
    """
    from orthoglot.study.json_schema import catalogue_schema, params_schema

    made = params_schema() if file == "params" else catalogue_schema()
    typer.echo(json.dumps(made, indent=1, ensure_ascii=False))
