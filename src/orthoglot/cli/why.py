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

    A change of an earlier job names that job in brackets. The exit status is 0 whether it would run or not.
    """
    if not Path("workflow/why.py").is_file():
        raise ConfigError("workflow/why.py does not exist; run this in the folder of the Snakefile")
    from orthoglot import config

    sys.path.insert(0, "workflow")
    chosen = {name: value for name, value in (("preset", preset), ("loss", loss)) if value}
    plan = import_module("plan").Plan(config.load(Path("params.yaml"), chosen))
    # A seed's folder, or a file, belongs to the folder of a job.
    made = next((place for place in (folder, *folder.parents) if str(place) in plan.jobs), folder)
    reasons = import_module("why").reasons(plan, str(made))
    for line in reasons or [f"{made} is the result of its job; nothing has changed"]:
        typer.echo(line)
