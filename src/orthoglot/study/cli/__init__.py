"""The commands of the study: `orthoglot study NAME` is the function NAME of the file NAME.py here."""

from __future__ import annotations

from importlib import import_module

import typer

from orthoglot.cli import NOTHING_KEPT, stoppable
from orthoglot.study.cli import job

# The files with a command, as `--help` lists them.
COMMANDS = {
    "Before a run": "plan fetch licences opus show schema",
    "After a run": "results compare table why",
}
# What Ctrl-C leaves of a command that keeps something.
KEPT = {"fetch": "finished and half downloads are kept; the same command goes on from there"}

app = typer.Typer()
for panel, names in COMMANDS.items():
    for name in names.split():
        command = getattr(import_module(f"orthoglot.study.cli.{name}"), name)
        app.command(name, rich_help_panel=panel)(stoppable(command, KEPT.get(name, NOTHING_KEPT)))
app.add_typer(job.app)  # for the rules of the workflow, hidden from people
