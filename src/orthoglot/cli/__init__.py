"""The command line: `orthoglot NAME` is the function NAME of the file NAME.py here."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from functools import cache, wraps
from importlib import import_module, metadata
from importlib.util import find_spec
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from orthoglot import environment
from orthoglot.cli import network
from orthoglot.errors import ConfigError, DataError, OfflineError, StoppedError, one_line, printable

# Exit status by kind of error; any other error is a fault of the program and shows where it happened.
STATUS = {ConfigError: 2, OfflineError: 3, DataError: 4, OSError: 1, StoppedError: 130}
# The files with a command, as `--help` lists them.
COMMANDS = "get explore fit evaluate encode split mine align calibrate score filter unbias export doctor"
STUDY = "orthoglot.study.cli"
STUDY_NEEDS = ("opustools", "pandas")  # which the tool does not
# What commands of 1.0 are called now; the old names work as long as 1.x does (docs/versions.md).
MOVED = {
    "checkpoint": "get",
    "convert-laser": "get laser2",
    "summary": "study results",
    "recommend": "study results --advice",
    "compare": "study compare",
    "table": "study table",
    "claims": "study table claims",
    "why": "study why",
    "plan": "study plan",
    "fetch": "study fetch",
    "licences": "study licences",
    "show": "study show",
    "langs": "study show language",
    "schema": "study schema",
    "opus": "study opus",
}
# What Ctrl-C leaves of a command that does not say so itself, as those with a checkpoint do.
NOTHING_KEPT = "nothing was written; the same command begins anew"


class Program(TyperGroup):
    """The commands; an old name says the new one and runs it."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the arguments name, and the rest of them."""
        if name := MOVED.get(args[0]):
            typer.echo(f"orthoglot {args[0]} is now orthoglot {name}", err=True)
            if args[0] == "convert-laser" and len(args) > 1:
                args = [*args[:-1], "--output", args[-1]]
            args = [*name.split(), *args[1:]]
        return super().resolve_command(ctx, args)


class Study(TyperGroup):
    """The commands of the study, which is loaded when one of them is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names."""
        return _study().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a name."""
        return _study().get_command(ctx, cmd_name)


@cache
def _study() -> Any:
    """The program of the study; a ConfigError if its packages are not installed."""
    if missing := [package for package in STUDY_NEEDS if find_spec(package) is None]:
        raise ConfigError(f"orthoglot study needs {', '.join(missing)}: pip install 'orthoglot[study]'")
    return typer.main.get_command(import_module(STUDY).app)


def stoppable(command: Callable[..., None], kept: str = NOTHING_KEPT) -> Callable[..., None]:
    """The command, which Ctrl-C ends with a line that says what is kept."""

    @wraps(command)
    def run(*given: Any, **options: Any) -> None:
        try:
            command(*given, **options)
        except KeyboardInterrupt as error:
            raise StoppedError(kept) from error

    return run


def start(
    context: typer.Context,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="no progress; warnings, errors and the result")
    ] = False,
    version: Annotated[bool, typer.Option("--version", help="print it and end")] = False,
) -> None:
    """Split sentence vectors of multilingual encoders into meaning and language; mine, align and score with them."""
    if version:
        typer.echo(f"orthoglot {metadata.version('orthoglot')}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        raise ConfigError("name a command; orthoglot --help lists them")
    if quiet:
        logging.getLogger("orthoglot").setLevel(logging.WARNING)


app = typer.Typer(
    cls=Program,
    callback=start,
    invoke_without_command=True,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for name in COMMANDS.split():
    app.command(name)(stoppable(getattr(import_module(f"orthoglot.cli.{name}"), name)))
app.add_typer(
    typer.Typer(cls=Study),
    name="study",
    help="Plan, read and compare runs of the workflow, with commands of its own.",
    no_args_is_help=True,
)


class _Printable(logging.Formatter):
    """Escapes the control characters of every line: names and texts come from users and servers."""

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(map(printable, super().format(record).split("\n")))


def main() -> None:
    """Run the command line; a known failure is one line on standard error and a non-zero exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # Whatever the locale says: text in all languages goes out, and what is read back is UTF-8.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
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
