"""`orthoglot export`: a model as a folder of sentence-transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orthoglot.cli import options


def export(
    model: options.ModelArgument,
    output: Annotated[Path, typer.Argument(help="the sentence-transformers folder to write")],
    part: Annotated[
        str | None, typer.Option(help="meaning or language, of a decomposer; meaning if not given")
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(help="whose map to write, for a method that has one per language (centering)"),
    ] = None,
    licence: Annotated[
        str, typer.Option(help="of the encoder, for the model card; what is on record if not given")
    ] = "",
    records: Annotated[
        Path | None,
        typer.Option(help="records.jsonl of a report with its scores; those of orthoglot fit if not given"),
    ] = None,
) -> None:
    """Export for SentenceTransformer(path), with a model card.

    Example: orthoglot export my-labse my-labse-meaning
    """
    from orthoglot.apply.early_checks import check_model, check_new

    check_new(output)  # before the slow imports
    options.check_place(output)
    check_model(model)

    from orthoglot.apply.export import export as exporting

    off = exporting(model, output, part=part, language=language, licence=licence, records=records)
    options.say(f"{output}: differs from orthoglot's own vectors by at most {off:.1e} of their length")
