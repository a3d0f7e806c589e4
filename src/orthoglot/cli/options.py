"""Options that several verbs share."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Literal

import typer

from orthoglot.errors import ConfigError

ModelFolder = Annotated[
    Path, typer.Option(help="a folder of orthoglot fit, or an encoder's or a decomposer's")
]
Language = Annotated[str | None, typer.Option(help="language code, where the model needs it")]
Part = Annotated[
    Literal["sentence", "meaning", "language"] | None,
    typer.Option(help="which vectors; meaning, or sentence of an encoder"),
]
Margin = Annotated[
    Literal["ratio", "distance", "absolute"],
    typer.Option(help="a cosine over, or minus, the mean of its neighbours', or as it is"),
]
Retrieval = Annotated[
    Literal["max", "intersection", "forward", "backward"],
    typer.Option(help="both ways one to one; what both propose; what one side proposes"),
]
Neighborhood = Annotated[int, typer.Option("--neighborhood", "-k", min=1, help="neighbours of a margin")]


def finite(value: float | None) -> float | None:
    """Refuse a number that no number is above or below, and infinity."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is not finite")
    return value


Device = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1")]
Threads = Annotated[int | None, typer.Option(min=1, help="CPU threads; all there are if not given")]
Memory = Annotated[
    float,
    typer.Option(
        min=0.01, help="GiB for the search where it is not exact; less takes longer. Vectors are on disk"
    ),
]
PairFiles = Annotated[
    list[Path],
    typer.Argument(help="one TSV file, or source and translation; plain, .gz or .zst; - for standard input"),
]


AsJson = Annotated[bool, typer.Option("--json", help="print JSON, with unrounded numbers")]
STANDARD = Path("-")  # input or output


def check_outputs(*outputs: Path | None) -> None:
    """Refuse files that cannot be written, before the work; "-" is standard output.

    Raises:
        ConfigError: a folder is there, or the place is no folder or may not be written to.
    """
    for output in outputs:
        if output is None or output == STANDARD:
            continue
        if output.is_dir():
            raise ConfigError(f"{output} is a folder; name the file to write")
        check_place(output)


def check_place(output: Path) -> None:
    """Refuse a file or folder that cannot be made where it shall be.

    Raises:
        ConfigError: the place is no folder or may not be written to.
    """
    place = next(folder for folder in output.absolute().parents if folder.exists())
    if not place.is_dir():
        raise ConfigError(f"{output} cannot be written: {place} is a file")
    if not os.access(place, os.W_OK | os.X_OK):
        raise ConfigError(f"{output} cannot be written: no right to write in {place}")


@contextmanager
def vectors_folder(chosen: Path | None, output: Path) -> Iterator[Path]:
    """The folder for vectors: one that was chosen, which stays, or OUTPUT.checkpoint, which goes after success.

    Of standard output it is a temporary one, which goes in any case.
    """
    if chosen is not None:
        yield chosen
    elif output == STANDARD:
        with TemporaryDirectory(prefix="orthoglot-") as temporary:
            yield Path(temporary)
    else:
        folder = output.with_name(output.name + ".checkpoint")
        yield folder
        shutil.rmtree(folder, ignore_errors=True)
