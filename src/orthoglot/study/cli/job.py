"""`orthoglot study job`: what the rules of the workflow run."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Annotated

import typer

from orthoglot.cli.network import allow_hub
from orthoglot.errors import ConfigError
from orthoglot.study import jobs
from orthoglot.study.jobs.job import Job

app = typer.Typer()


@app.command(hidden=True)
def job(
    verb: Annotated[str, typer.Argument(help="such as decompose")],
    processes: Annotated[int, typer.Option(min=1, help="on a CPU, with one thread each")] = 1,
) -> None:
    """Do one job of the workflow: JSON on standard input, as workflow/plan.py makes it."""
    verbs = {module.name for module in iter_modules(jobs.__path__)} - {"definitions", "digests", "job"}
    if verb not in verbs:
        raise ConfigError(f"no job of the workflow: its verb is {verb!r}")
    described = Job(verb, sys.stdin.read())
    described.processes = processes
    if verb == "pretrain" and "checkpoint" in described.settings["encoder"]:
        allow_hub()
    import_module(f"orthoglot.study.jobs.{verb}").run(described)


@app.command(hidden=True)
def train_together(
    file: Annotated[Path, typer.Argument(help="JSON of a job that trains an encoder")],
    output: Annotated[Path, typer.Argument(help="an empty folder")],
) -> None:
    """Be one of the processes of a training: `pretrain` starts them through torchrun."""
    from orthoglot.study.jobs.pretrain import train

    train(Job("pretrain", file.read_text(encoding="utf-8")), output)
