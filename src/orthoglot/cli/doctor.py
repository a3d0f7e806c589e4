"""The command that checks every result of a workspace against its receipt."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Annotated

import typer

from orthoglot import receipts
from orthoglot.cli import options
from orthoglot.errors import printable

RESULTS = ("data", "models", "embeddings", "evaluations", "results", "ablation", "tables")


def doctor(
    folder: Annotated[Path, typer.Argument(help="the folder with params.yaml")] = Path(),
    remove: Annotated[
        bool, typer.Option("--remove", help="remove the results that are damaged or computed from others")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Check all results by SHA-256; exit status 1 if files are damaged, absent or unknown.

    Example: orthoglot doctor

    A damaged result is removed as a whole folder, and the next run of snakemake makes it again, together with what was
    computed from other bytes. Files that no job has made stay.
    """
    os.environ.pop(receipts.TRUST, None)
    problems: dict[Path, list[str]] = {}
    for name in RESULTS:
        problems |= receipts.problems(folder / name, folder)
    checked = sum(1 for name in RESULTS for _ in (folder / name).glob(f"**/{receipts.NAME}/*.json"))
    results = [place for place in problems if (place / receipts.NAME).is_dir()]
    if remove:
        for place in results:
            place.unlink() if place.is_symlink() else shutil.rmtree(place)
    lines = [line for faults in problems.values() for line in faults]
    if as_json:
        shown: dict[str, object] = {"results": checked, "problems": lines}
        typer.echo(json.dumps(shown | ({"removed": [*map(str, results)]} if remove else {}), indent=1))
    else:
        for line in lines or [f"{checked} results are as their jobs wrote them"]:
            typer.echo(printable(line))
        named = printable(", ".join(map(str, results)))
        if remove and results:
            typer.echo(f"removed: {named}; run snakemake, which makes again what params.yaml asks for")
        elif results:
            typer.echo(
                f"`orthoglot doctor --remove` removes {named}; the next run of snakemake makes them again"
            )
    if problems and not (remove and len(results) == len(problems)):
        raise typer.Exit(1)
