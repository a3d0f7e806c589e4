"""`orthoglot encode`: the vectors of a text."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from orthoglot import atomic
from orthoglot.cli import options
from orthoglot.errors import DataError


def encode(
    model: options.ModelArgument,
    text: Annotated[
        Path, typer.Argument(help="UTF-8 text, a sentence per line, plain, .gz or .zst; - for stdin")
    ],
    output: Annotated[
        Path, typer.Argument(help="where the .npy array (lines, dimension) goes; - for standard output")
    ],
    part: options.Part = None,
    language: options.Language = None,
    partner: options.Partner = None,
    device: options.Device = "auto",
    threads: options.Threads = None,
) -> None:
    """Encode a text file.

    Example: orthoglot encode models/mini/decomposers/ems-mini/seed/seed1 a.txt a.npy

    A blank line keeps its row, which is NaN.
    """
    options.check_outputs(output)
    from orthoglot.text.bitext import read_lines

    sentences = list(read_lines(text))
    rows = [number for number, line in enumerate(sentences) if line.strip()]
    if not rows:
        raise DataError(f"{text}: no line has text" if sentences else f"{text} is empty")

    # Only now the libraries that take seconds: an absent text fails at once.
    import numpy as np

    opened = options.open_model(model, device, threads, part)
    encoded = opened.model.encode(
        [sentences[row] for row in rows], part=opened.part, language=language, partner=partner
    )
    vectors = np.full((len(sentences), encoded.shape[1]), np.nan, dtype=np.float32)
    vectors[rows] = encoded
    if output == options.STANDARD:
        np.save(sys.stdout.buffer, vectors)
    else:
        with atomic.replacing(output) as partial:
            stored = np.lib.format.open_memmap(partial, "w+", vectors.dtype, vectors.shape)
            atomic.reserve(partial)
            stored[:] = vectors
            stored.flush()
    blank = f", {len(sentences) - len(rows)} of them blank" if len(rows) < len(sentences) else ""
    typer.echo(f"{vectors.shape[0]} x {vectors.shape[1]} vectors{blank}: {output}", err=True)
