"""`orthoglot unbias`: stored vectors without their language."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from orthoglot.cli import options
from orthoglot.errors import ConfigError, DataError


def unbias(
    vectors: Annotated[Path, typer.Argument(help="an .npy array of the encoder's vectors (N, dimension)")],
    model: Annotated[Path, typer.Option(help="a decomposer's folder, or one of orthoglot fit")],
    output: Annotated[Path, options.output("the .npy array to write, of the same size")],
    part: Annotated[Literal["meaning", "language"], typer.Option(help="which part to keep")] = "meaning",
    language: Annotated[
        str, typer.Option(help="language code of all vectors, where the method needs it")
    ] = "",
    languages: Annotated[
        Path | None, typer.Option(help="UTF-8 text with the language code of each vector on a line")
    ] = None,
    partner: options.Partner = None,
) -> None:
    """Take the language out of stored vectors.

    Example: orthoglot unbias old.npy --model my-labse -o new.npy
    """
    options.check_outputs(output)
    from orthoglot.corpora.bitext import read_lines

    if language and languages:
        raise ConfigError("give --language or --languages, not both")
    if not vectors.exists():
        raise DataError(f"{vectors} does not exist")
    codes = list(read_lines(languages)) if languages else language
    if languages and not codes:
        raise DataError(f"{languages} is empty")

    from orthoglot.apply.unbias import unbias as editing
    from orthoglot.decomposers.base import load_decomposer

    count = editing(vectors, load_decomposer(model), output, part=part, languages=codes, partner=partner)
    typer.echo(f"{count} vectors: {output}", err=True)
