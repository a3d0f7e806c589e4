"""The command that checks every result of a workspace against its receipt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from orthoglot import receipts
from orthoglot.cli.options import AsJson

app = typer.Typer()
RESULTS = ("data", "models", "embeddings", "evaluations", "results", "ablation", "tables")


@app.command()
def doctor(
    folder: Annotated[Path, typer.Argument(help="the folder with params.yaml")] = Path(),
    as_json: AsJson = False,
) -> None:
    """Check all results by SHA-256; exit status 1 if files are damaged, absent or unknown. Example: orthoglot doctor"""
    found = [one for name in RESULTS for one in receipts.problems(folder / name)]
    checked = sum(1 for name in RESULTS for _ in (folder / name).glob(f"**/{receipts.NAME}/*.json"))
    if as_json:
        typer.echo(json.dumps({"results": checked, "problems": found}, indent=1))
    else:
        for line in found or [f"{checked} results are as their jobs wrote them"]:
            typer.echo(line)
    if found:
        raise typer.Exit(1)
