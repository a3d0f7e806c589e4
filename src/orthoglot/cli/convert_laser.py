"""`orthoglot convert-laser`: LASER's files as a safe checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orthoglot.cli import options


def convert_laser(
    weights: Annotated[
        Path, typer.Argument(help="laser2.pt, or LASER1's bilstm.93langs.2018-12-26.pt: the official weights")
    ],
    vocabulary: Annotated[
        list[Path], typer.Argument(help="laser2.spm, or LASER1's 93langs.fcodes and 93langs.fvocab")
    ],
    output: Annotated[Path, typer.Argument(help="a new folder, for `kind: laser` in params.yaml")],
) -> None:
    """Make LASER1's or LASER2's files a safe checkpoint.

    Example: orthoglot convert-laser laser2.pt laser2.spm weights/laser2
    """
    options.check_place(output)
    from orthoglot.encoders.laser_release import convert

    name = convert(weights, vocabulary, output)
    typer.echo(f"{name}: {output}", err=True)
