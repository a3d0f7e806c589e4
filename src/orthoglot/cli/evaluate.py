"""The verb for one's own model on one's own benchmarks."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orthoglot import atomic
from orthoglot.cli.options import AsJson, Device, Language, Threads, check_outputs
from orthoglot.errors import ConfigError

if TYPE_CHECKING:
    from orthoglot.apply.evaluate import Row

app = typer.Typer()


@app.command()
def evaluate(
    model: Annotated[
        Path,
        typer.Argument(help="a folder of orthoglot fit, or an encoder's or a decomposer's"),
    ],
    benchmark: Annotated[
        list[Path] | None,
        typer.Option(help="TSV of translations, or of pairs with a score in column 3; repeat for more"),
    ] = None,
    text: Annotated[
        list[Path] | None,
        typer.Option(help="TSV of translations on which centering and --method are fitted for comparison"),
    ] = None,
    method: Annotated[
        str, typer.Option(help="name in the catalogue, e.g. the first of orthoglot recommend; '' for none")
    ] = "seed+oracle",
    source_language: Language = None,
    target_language: Language = None,
    as_json: AsJson = False,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="file to write; - for standard output")
    ] = Path("-"),
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Compare a model with its encoder's vectors. Example: orthoglot evaluate my-labse --benchmark test.tsv

    With --text also with centering and another method.
    """
    if not benchmark:
        raise ConfigError("nothing to measure on: give --benchmark FILE")
    check_outputs(output)
    # Only now the libraries that take seconds: a wrong option fails at once.
    import torch

    from orthoglot import load
    from orthoglot.apply import evaluate as evaluation
    from orthoglot.config import method_named

    if text and method:
        method_named(method)
    read = [evaluation.read(path) for path in benchmark]
    torch.set_num_threads(threads or len(os.sched_getaffinity(0)))
    rows = evaluation.evaluate(
        load(model, device=device),
        read,
        text=text or (),
        method=method,
        languages=(source_language, target_language),
    )
    shown = (
        json.dumps([_content(row) for row in rows], indent=1, ensure_ascii=False)
        if as_json
        else evaluation.table(rows)
    )
    if str(output) == "-":
        typer.echo(shown)
        return
    with atomic.replacing(output) as partial:
        partial.write_text(shown + "\n", encoding="utf-8")
    typer.echo(f"{len(rows)} rows: {output}", err=True)


def _content(row: Row) -> dict[str, Any]:
    """A row with the names of its numbers."""
    gain = row.minus_original
    return {
        **row._asdict(),
        "score": row.score._asdict(),
        "minus_original": None if gain is None else gain._asdict(),
    }
