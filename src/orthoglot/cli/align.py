"""`orthoglot align`: translations out of two folders of documents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orthoglot.cli import options
from orthoglot.errors import ConfigError, DataError


def align(
    source: Annotated[
        Path, typer.Argument(help="a folder of UTF-8 texts, a sentence per line, plain, .gz or .zst")
    ],
    target: Annotated[Path, typer.Argument(help="the same in the other language, with the same file names")],
    model: options.ModelFolder,
    output: options.PairsOutput,
    source_language: options.Language = None,
    target_language: options.Language = None,
    part: options.Part = None,
    margin: options.Margin = "ratio",
    neighborhood: options.Neighborhood = 4,
    threshold: options.Threshold = None,
    join: Annotated[int, typer.Option(min=1, help="neighbouring sentences in one pair")] = 2,
    numbers: options.Numbers = False,
    device: options.Device = "auto",
    threads: options.Threads = None,
    checkpoint: options.Checkpoint = None,
) -> None:
    """Pair the sentences of documents of the same name.

    Example: orthoglot align en gn --model my-labse -o pairs.tsv

    The sentences of a pair stand in the same order in both documents.
    """
    for path in (source, target):
        if path.is_file():
            raise ConfigError(f"{path} is a file: orthoglot mine finds translations in two files")
        if not path.exists():
            raise DataError(f"{path} does not exist")
    options.check_outputs(output)
    if margin == "absolute" and threshold is None:
        raise ConfigError("--margin absolute needs a --threshold here")

    # Only now the libraries that take seconds.
    from orthoglot.apply.documents import align_folders, read_folders

    documents = read_folders(source, target)
    opened = options.open_model(model, device, threads, part)
    with options.vectors_folder(checkpoint, output) as work:
        summary = align_folders(
            opened.model,
            documents,
            output,
            work,
            languages=(source_language, target_language),
            part=opened.part,
            join=join,
            numbers=numbers,
            margin=margin,
            neighborhood=neighborhood,
            threshold=threshold,
            **opened.search,
        )
    unmatched = sum(map(len, documents.unmatched))
    without = f"; {unmatched} files without a partner" if unmatched else ""
    about = "" if output == options.STANDARD else f"; about them: {output}.json"
    typer.echo(f"{summary['pairs']} pairs: {output}{without}{about}", err=True)
