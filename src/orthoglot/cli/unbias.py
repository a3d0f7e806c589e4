"""`orthoglot unbias`: stored vectors without their language."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from orthoglot.cli import options
from orthoglot.errors import ConfigError, DataError

# Vectors in memory at once: 16 MiB of float32 with 768 dimensions.
ROWS = 1 << 13


def unbias(
    vectors: Annotated[
        Path, typer.Argument(help="the encoder's vectors: .npy, .parquet, .pt or .safetensors")
    ],
    model: Annotated[Path, typer.Option(help="a decomposer's folder, or one of orthoglot fit")],
    output: Annotated[Path, options.output("the file to write, with the same ending")],
    part: Annotated[Literal["meaning", "language"], typer.Option(help="which part to keep")] = "meaning",
    language: Annotated[
        str, typer.Option(help="language code of all vectors, where the method needs it")
    ] = "",
    languages: Annotated[
        Path | None, typer.Option(help="UTF-8 text with the language code of each vector on a line")
    ] = None,
    partner: options.Partner = None,
    column: Annotated[
        str,
        typer.Option(
            help="where several would do: the column of lists, the start of the names of a column per dimension, or "
            "the name of the tensor"
        ),
    ] = "",
) -> None:
    """Take the language out of stored vectors.

    Example: orthoglot unbias old.npy --model my-labse -o new.npy

    Order and type stay, as does all else in the file; it may be replaced. It must hold the encoder's own vectors, as
    floats: an array, a column of lists, a column for each dimension, or a tensor. A row of NaN, a blank line's, stays.
    """
    options.check_outputs(output, inputs=[languages])
    options.check_model(model)
    from orthoglot.text.bitext import read_lines

    if language and languages:
        raise ConfigError("give --language or --languages, not both")
    if not vectors.exists():
        raise DataError(f"{vectors} does not exist")
    codes = list(read_lines(languages)) if languages else None
    if codes == []:
        raise DataError(f"{languages} is empty")

    # Only now the libraries that take seconds.
    import numpy as np

    from orthoglot.apply.stored_vectors import edit, suffix_of
    from orthoglot.decomposers.base import load_decomposer
    from orthoglot.usable_vectors import blank, not_finite

    if (suffix := suffix_of(vectors)) != output.suffix.lower():
        raise ConfigError(f"{output}: write a {suffix} file, as {vectors} is one")
    decomposer = load_decomposer(model)

    def split(n: int, start: int, block: np.ndarray) -> np.ndarray:
        if codes is not None and len(codes) != n:
            raise ConfigError(f"{vectors}: {n} vectors but {len(codes)} languages")
        if len(wrong := np.setdiff1d(not_finite(block), blank(block))):
            raise DataError(f"{vectors}: vector {start + int(wrong[0])} (from 0) is not finite")
        names = language if codes is None else codes[start : start + len(block)]
        part_vectors: np.ndarray = getattr(decomposer.transform(block, names, partner), part)
        return part_vectors

    count = edit(vectors, output, column, decomposer.dim, ROWS, split)
    options.say(f"{count} vectors: {output}")
