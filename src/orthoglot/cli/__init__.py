"""The command line: `orthoglot NAME` is the function NAME of the file NAME.py here."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module, metadata
from typing import Annotated, Any

import typer

from orthoglot import environment
from orthoglot.cli import job, network
from orthoglot.errors import ConfigError, DataError, OfflineError, StoppedError, one_line, printable

# Exit status by kind of error; any other error is a fault of the program and shows where it happened.
STATUS = {ConfigError: 2, OfflineError: 3, DataError: 4, OSError: 1, StoppedError: 130}
# The files with a command, as `--help` lists them.
COMMANDS = {
    "Every day": "get explore fit evaluate encode split mine align calibrate score filter unbias export",
    "Results": "summary recommend compare table claims why doctor",
    "Set up": "checkpoint convert_laser langs opus plan fetch licences show schema",
}
# What Ctrl-C leaves of a command that does not say so itself, as those with a checkpoint do.
KEPT = {"fetch": "finished and half downloads are kept; the same command goes on from there"}
NOTHING_KEPT = "nothing was written; the same command begins anew"


def stoppable(command: Callable[..., None]) -> Callable[..., None]:
    """The command, which Ctrl-C ends with a line that says what is kept."""

    @wraps(command)
    def run(*given: Any, **options: Any) -> None:
        try:
            command(*given, **options)
        except KeyboardInterrupt as error:
            raise StoppedError(KEPT.get(command.__name__, NOTHING_KEPT)) from error

    return run


def start(
    context: typer.Context,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="no progress; warnings, errors and the result")
    ] = False,
    version: Annotated[bool, typer.Option("--version", help="print it and end")] = False,
) -> None:
    """Train multilingual sentence encoders, split their vectors into meaning and language, measure both."""
    if version:
        typer.echo(f"orthoglot {metadata.version('orthoglot')}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        raise ConfigError("name a command; orthoglot --help lists them")
    if quiet:
        logging.getLogger("orthoglot").setLevel(logging.WARNING)


app = typer.Typer(
    callback=start, invoke_without_command=True, no_args_is_help=True, pretty_exceptions_enable=False
)
for panel, names in COMMANDS.items():
    for name in names.split():
        command = getattr(import_module(f"orthoglot.cli.{name}"), name)
        app.command(name.replace("_", "-"), rich_help_panel=panel)(stoppable(command))
app.add_typer(job.app)  # for the rules of the workflow, hidden from people


class _Printable(logging.Formatter):
    """Escapes the control characters of every line: names and texts come from users and servers."""

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(map(printable, super().format(record).split("\n")))


def main() -> None:
    """Run the command line; a known failure is one line on standard error and a non-zero exit status."""
    lines = logging.StreamHandler(sys.stderr)
    lines.setFormatter(_Printable("%(asctime)s %(message)s", datefmt="%H:%M:%S"))
    logging.basicConfig(level=logging.INFO, handlers=[lines])
    for noisy in ("httpx", "sentence_transformers"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    # It warns of a header without a colon with a traceback.
    logging.getLogger("urllib3").setLevel(logging.ERROR)
    environment.set_defaults()
    network.stay_offline()
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    try:
        app()
    except Exception as error:
        status = next((status for kind, status in STATUS.items() if isinstance(error, kind)), None)
        # Its way to say that the disk is full; torch is not imported here.
        if type(error).__name__ == "SafetensorError":
            status = 1
        if status is None:
            raise
        stopped = "stopped: " if isinstance(error, StoppedError) else ""
        typer.echo(f"orthoglot: {stopped}{one_line(error)}", err=True)
        raise SystemExit(status) from None
