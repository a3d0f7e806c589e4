"""The end of a run: a short table, and the best method's meaning vectors as a model to use."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orthoglot.errors import ConfigError, DataError

if TYPE_CHECKING:
    from orthoglot.report.headline import Row


def summary(
    results: Annotated[Path, typer.Argument(help="the folder of a report")] = Path("results"),
    models: Annotated[
        Path | None, typer.Option(help="models/PRESET: export the first encoder's best method from there")
    ] = None,
    output: Annotated[Path | None, typer.Option(help="a new folder for that export")] = None,
) -> None:
    """Print a run's answer, and export a model.

    Example: orthoglot summary --models models/demo --output m

    The model gives the meaning vectors of the table's best method, of those that are one map for all languages: it is
    shown to gain, or has the highest P@1.
    """
    from orthoglot.report import terminal
    from orthoglot.report.headline import headline
    from orthoglot.statistics.records import read_records
    from orthoglot.statistics.table import frame

    if (models is None) != (output is None):
        raise ConfigError("--models and --output go together")
    if not (results / "records.jsonl").is_file():
        raise DataError(f"{results} holds no report yet: run snakemake first")
    records = read_records(results / "records.jsonl")
    rows = headline(frame(records), most=terminal.METHODS, authors=_authors_rates())
    if not rows:
        raise DataError(f"{results}: no encoder was scored by retrieval")
    confidence = records[0].facts.get("confidence")
    if confidence is None:
        raise DataError(
            f"{results}/records.jsonl: its records do not state the confidence of their intervals"
        )
    for line in terminal.screen(rows, float(confidence)):
        typer.echo(line)
    typer.echo("P@1 in percent: translations found first by the meaning and by the language vector.")
    if any(row.probe for row in rows):
        typer.echo(
            "Probe: percent of sentences whose language a linear classifier reads from the meaning vector."
        )
    if any("authors" in row.training for row in rows):
        typer.echo("Training: epochs at most and learning rate. At its authors' rate a method may do better.")
    typer.echo(f"report: {(results / 'report.html').resolve()}")
    if models is not None and output is not None:
        method, refused = _export(rows, models, output, results / "records.jsonl")
        typer.echo(f"use now: {output.resolve()}, the meaning vectors of {method} on {rows[0].encoder}")
        for better, why in refused.items():
            typer.echo(f"         not {better}, although it does better: {why}")


def _authors_rates() -> dict[frozenset[str], str]:
    """The learning rates that the catalogue's recipes have, by the terms of the method."""
    from orthoglot.catalogue import shipped
    from orthoglot.config import load

    return {
        frozenset(f"{term}={weight:g}" for term, weight in method.terms.items()): f"{method.learning_rate:g}"
        for name, method in load(shipped()).methods.items()
        if name.endswith("-recipe") and method.learning_rate is not None
    }


def _export(rows: Sequence[Row], models: Path, output: Path, records: Path) -> tuple[str, dict[str, str]]:
    """Export the best of the first encoder's methods that one map for all languages can hold.

    Returns:
        Its name, and why better ones could not be exported.
    """
    from orthoglot.apply.export import export
    from orthoglot.report.headline import best_first

    logging.getLogger("orthoglot").setLevel(logging.WARNING)
    # It warns of a default prompt, which is what the model needs.
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
    encoder = rows[0].encoder
    refused: dict[str, str] = {}
    for row in best_first([row for row in rows if row.encoder == encoder and row.role != "undivided"]):
        seeds = sorted((models / "decomposers" / encoder / row.method).glob("seed*"))
        if not seeds:
            refused[row.method] = f"{models} holds no such decomposer"
            continue
        try:
            export(seeds[0], output, records=records)
        except ConfigError as error:
            # What follows says how else it can be exported.
            refused[row.method] = str(error).removeprefix(f"method {row.method}: ").partition(";")[0]
        else:
            return row.method, refused
    why = "; ".join(refused.values())
    raise ConfigError(
        f"{models}: no method of {encoder} in the table can be exported {f'({why})' if why else ''}"
    )
