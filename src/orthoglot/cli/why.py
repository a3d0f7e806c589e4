"""`orthoglot why`: what has changed since a folder was made."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from orthoglot.errors import ConfigError


def why(
    folder: Annotated[Path, typer.Argument(help="a result of the workflow, such as results")],
    preset: Annotated[str | None, typer.Option(help="as in --config preset=NAME")] = None,
    loss: Annotated[str | None, typer.Option(help="as in --config loss=NAME")] = None,
) -> None:
    """Say why the job that makes a folder would run again: settings, code and files that have changed.

    Example: orthoglot why results

    A change of an earlier job names this job in brackets.
    """
    if not Path("workflow/why.py").is_file():
        raise ConfigError("workflow/why.py does not exist; run this in the folder of the Snakefile")
    from orthoglot import config

    sys.path.insert(0, "workflow")
    chosen = {name: value for name, value in (("preset", preset), ("loss", loss)) if value}
    plan = import_module("plan").Plan(config.load(Path("params.yaml"), chosen))
    reasons = import_module("why").reasons(plan, str(folder))
    for line in reasons or [f"{folder} is the result of its job; nothing has changed"]:
        typer.echo(line)
