"""`orthoglot opus`: what OPUS has."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from orthoglot.cli import options


def opus(
    source: Annotated[str | None, typer.Option(help="language code")] = None,
    target: Annotated[str | None, typer.Option(help="language code")] = None,
    corpus: Annotated[str | None, typer.Option(help="corpus name, e.g. Europarl")] = None,
    version: Annotated[str, typer.Option(help="release, or latest")] = "latest",
    api: Annotated[str, typer.Option(envvar="ORTHOGLOT_OPUS_API")] = "https://opus.nlpl.eu/opusapi/",
    as_json: options.AsJson = False,
) -> None:
    """List what OPUS has, with sizes.

    Example: orthoglot opus --source en --target gn
    """
    from orthoglot.fetching.opus import list_entries

    entries = list_entries(api, source=source, target=target, corpus=corpus, version=version)
    if as_json:
        typer.echo(json.dumps([entry.model_dump() for entry in entries], indent=1))
        return
    for entry in entries:
        pair = f"{entry.source}-{entry.target}"
        typer.echo(f"{entry.corpus}\t{entry.version}\t{pair}\t{entry.pairs} pairs\t{entry.kibibytes} KiB")
