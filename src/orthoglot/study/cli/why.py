"""`orthoglot study why`: what has changed since a folder was made."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from orthoglot.errors import ConfigError


def why(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="FOLDER", help="a result of the workflow, such as results", show_default=False
        ),
    ],
    preset: Annotated[str | None, typer.Option(help="as in --config preset=NAME")] = None,
    loss: Annotated[str | None, typer.Option(help="as in --config loss=NAME")] = None,
    config: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE...", help="settings in place of those of params.yaml, as for snakemake"
        ),
    ] = None,
) -> None:
    """Say why the job that makes a folder would run again: settings, code and files that have changed.

    Example: orthoglot study why results --config preset=mini loss=seed

    A change of an earlier job names that job in brackets. The exit status is 0 whether it would run or not.
    """
    if not Path("workflow/why.py").is_file():
        raise ConfigError("workflow/why.py does not exist; run this in the folder of the Snakefile")
    from orthoglot.study.config import load

    # As many settings may follow --config as for snakemake; to this command all but the first are words.
    further = [word for word in words if config and "=" in word]
    folders = [word for word in words if word not in further]
    if len(folders) != 1:
        raise ConfigError(f"give one folder, such as results (given: {' '.join(folders) or 'none'})")
    chosen = {name: value for name, value in (("preset", preset), ("loss", loss)) if value}
    sys.path.insert(0, "workflow")
    plan = import_module("plan").Plan(
        load(Path("params.yaml"), {**chosen, **_values([*(config or ()), *further])})
    )
    # A seed's folder, or a file, belongs to the folder of a job.
    folder = Path(folders[0])
    made = next((place for place in (folder, *folder.parents) if str(place) in plan.jobs), folder)
    reasons = import_module("why").reasons(plan, str(made))
    for line in reasons or [f"{made} is the result of its job; nothing has changed"]:
        typer.echo(line)


def _values(settings: list[str]) -> dict[str, Any]:
    """The settings of `--config`; a ConfigError if one has no name or no value, or its value is no YAML."""
    values = {}
    for setting in settings:
        name, sign, value = setting.partition("=")
        if not name or not sign:
            raise ConfigError(f"--config {setting}: write NAME=VALUE, such as loss=seed")
        try:
            values[name] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise ConfigError(f"--config {setting}: the value is no YAML") from error
    return values
