"""`orthoglot convert-laser`: LASER2's files as a safe checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orthoglot.cli import options


def convert_laser(
    weights: Annotated[Path, typer.Argument(help="laser2.pt, the official weights")],
    pieces: Annotated[Path, typer.Argument(help="laser2.spm, the official SentencePiece model")],
    output: Annotated[Path, typer.Argument(help="a new folder, for `kind: laser` in params.yaml")],
) -> None:
    """Make LASER2's files a safe checkpoint.

    Example: orthoglot convert-laser laser2.pt laser2.spm weights/laser2
    """
    options.check_place(output)
    from orthoglot.encoders.laser import convert

    convert(weights, pieces, output)
    typer.echo(f"LASER2: {output}", err=True)
