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

    The order, size and type stay. The file must hold the encoder's own vectors, float32 or float16; it may be replaced.
    """
    options.check_outputs(output)
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

    from orthoglot import atomic
    from orthoglot.decomposers.base import load_decomposer
    from orthoglot.finite import not_finite

    decomposer = load_decomposer(model)
    try:
        stored = np.load(vectors, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{vectors}: not a .npy array ({error})") from error
    shape: tuple[int, ...] = getattr(stored, "shape", ())
    if len(shape) != 2 or shape[1] != decomposer.dim or stored.dtype not in (np.float32, np.float16):
        raise DataError(
            f"{vectors}: {getattr(stored, 'dtype', 'an archive')} {shape}, expected float32 or float16 "
            f"(N, {decomposer.dim})"
        )
    if codes is not None and len(codes) != shape[0]:
        raise ConfigError(f"{vectors}: {shape[0]} vectors but {len(codes)} languages")
    with atomic.replacing(output) as partial:
        edited = np.lib.format.open_memmap(partial, mode="w+", dtype=stored.dtype, shape=shape)
        atomic.reserve(partial)
        for start in range(0, shape[0], ROWS):
            block = np.asarray(stored[start : start + ROWS], dtype=np.float32)
            if len(wrong := not_finite(block)):
                raise DataError(f"{vectors}: vector {start + int(wrong[0])} (from 0) is not finite")
            names = language if codes is None else codes[start : start + ROWS]
            edited[start : start + ROWS] = getattr(decomposer.transform(block, names, partner), part)
        edited.flush()
        del edited
    options.say(f"{shape[0]} vectors: {output}")
