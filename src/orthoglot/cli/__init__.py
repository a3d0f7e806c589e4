"""The command line: one command per workflow rule (`jobs`), and the commands for people."""

from __future__ import annotations

import logging
import os
import sys

import typer

from orthoglot.cli import compare, doctor, jobs, show, tools
from orthoglot.errors import ConfigError, DataError, OfflineError

EXIT_RUN, EXIT_CONFIG, EXIT_OFFLINE, EXIT_DATA = 1, 2, 3, 4

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Train multilingual sentence encoders, split their vectors into meaning and language, measure both.",
)
app.add_typer(jobs.app)
app.add_typer(tools.app)
app.add_typer(show.app)
app.add_typer(compare.app)
app.add_typer(doctor.app)


def main() -> None:
    """Run the command line; a known failure is one line on standard error and a non-zero exit status."""
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S", stream=sys.stderr
    )
    for noisy in ("httpx", "urllib3", "sentence_transformers"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    # The number of threads changes the last bits of a sum; trainings set their own from their settings.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    # Threads that spin while they wait slow a training tenfold when jobs share cores.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    try:
        app()
    except ConfigError as error:
        _fail(error, EXIT_CONFIG)
    except OfflineError as error:
        _fail(error, EXIT_OFFLINE)
    except DataError as error:
        _fail(error, EXIT_DATA)
    except OSError as error:
        _fail(error, EXIT_RUN)
    except Exception as error:
        if (
            type(error).__name__ != "SafetensorError"
        ):  # its way to say that the disk is full; torch is not imported here
            raise
        _fail(error, EXIT_RUN)


def _fail(error: BaseException, status: int) -> None:
    message = " ".join(str(error).split())
    typer.echo(f"orthoglot: {message}", err=True)
    raise SystemExit(status)
