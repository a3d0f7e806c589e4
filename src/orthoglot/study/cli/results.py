"""The end of a run: a short table, advice, and the best method's meaning vectors as a model to use."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orthoglot.errors import ConfigError, DataError

if TYPE_CHECKING:
    from orthoglot.statistics.records import Record
    from orthoglot.study.report.headline import Row


def results(
    run: Annotated[Path, typer.Argument(help="the folder of a report, or its records")] = Path("results"),
    advice: Annotated[
        bool, typer.Option(help="say which method is best for retrieval, scoring and search")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="the advice as JSON")] = False,
    models: Annotated[
        Path | None, typer.Option(help="models/PRESET: export the first encoder's best method from there")
    ] = None,
    output: Annotated[Path | None, typer.Option(help="a new folder for that export")] = None,
) -> None:
    """Print a run's answer or advice, and export a model.

    Example: orthoglot study results --models models/demo --output m

    The model gives the meaning vectors of the table's best method, of those that are one map for all languages: it is
    shown to gain, or has the highest P@1.
    """
    if (models is None) != (output is None):
        raise ConfigError("--models and --output go together")
    if advice and models is not None:
        raise ConfigError("--advice exports no model: give --models without it")
    if as_json and not advice:
        raise ConfigError("--json is the form of --advice")
    file = run / "records.jsonl" if run.is_dir() or not run.exists() else run
    if not file.is_file():
        raise DataError(f"{run} holds no report yet: run snakemake first")
    # Only now the libraries that take seconds: a wrong option fails at once.
    from orthoglot.statistics.records import read_records
    from orthoglot.study.report import terminal
    from orthoglot.study.report.frame import frame
    from orthoglot.study.report.headline import headline

    records = read_records(file)
    if advice:
        _advise(records, as_json)
        return
    rows = headline(frame(records), most=terminal.METHODS, authors=_authors_rates())
    if not rows:
        raise DataError(f"{run}: no encoder was scored by retrieval")
    confidence = records[0].facts.get("confidence")
    if confidence is None:
        raise DataError(f"{file}: its records do not state the confidence of their intervals")
    for line in terminal.screen(rows, float(confidence)):
        typer.echo(line)
    typer.echo("P@1 in percent: translations found first by the meaning and by the language vector.")
    if any(row.probe for row in rows):
        typer.echo(
            "Probe: percent of sentences whose language a linear classifier reads from the meaning vector."
        )
    if any("authors" in row.training for row in rows):
        typer.echo("Training: epochs at most and learning rate. At its authors' rate a method may do better.")
    typer.echo(f"report: {file.with_name('report.html').resolve()}")
    if models is not None and output is not None:
        method, refused = _export(rows, models, output, file)
        typer.echo(f"use now: {output.resolve()}, the meaning vectors of {method} on {rows[0].encoder}")
        for better, why in refused.items():
            typer.echo(f"         not {better}, although it does better: {why}")


def _advise(records: Sequence[Record], as_json: bool) -> None:
    """Print which method is best for each use, as a table or as JSON."""
    from orthoglot.study.report import recommend
    from orthoglot.study.report.table import markdown

    verdicts = [recommend.recommend(records, use) for use in recommend.USES]
    if as_json:
        content = [
            {**verdict._asdict(), "standings": [row._asdict() for row in verdict.standings]}
            for verdict in verdicts
        ]
        typer.echo(json.dumps(content, indent=1))
        return
    for verdict in verdicts:
        typer.echo(markdown([recommend.table(verdict)]) if verdict.standings else recommend.verdict(verdict))


def _authors_rates() -> dict[frozenset[str], str]:
    """The learning rates that the catalogue's recipes have, by the terms of the method."""
    from orthoglot.catalogue import shipped
    from orthoglot.study.config import load

    return {
        frozenset(f"{term}={weight:g}" for term, weight in method.terms.items()): f"{method.learning_rate:g}"
        for name, method in load(shipped()).methods.items()
        if name.endswith("-recipe") and method.learning_rate is not None
    }


def _export(rows: Sequence[Row], models: Path, output: Path, records: Path) -> tuple[str, dict[str, str]]:
    """Export the best of the first encoder's methods that one map for all languages can hold.

    Returns its name, and why better ones could not be exported.
    """
    from orthoglot.apply.export import export
    from orthoglot.study.report.headline import best_first

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
    why = f"({'; '.join(refused.values())})" if refused else ""
    raise ConfigError(f"{models}: no method of {encoder} in the table can be exported {why}")
