"""`orthoglot study opus`: what OPUS has."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from orthoglot.cli import options
from orthoglot.errors import ConfigError

if TYPE_CHECKING:
    from orthoglot.study.fetching.opus import Entry


def opus(
    source: Annotated[str | None, typer.Option("--source", "-s", help="language as OPUS spells it")] = None,
    target: Annotated[str | None, typer.Option("--target", "-t", help="the other language")] = None,
    corpus: Annotated[
        str | None, typer.Option("--corpus", "--directory", "-d", help="corpus name, e.g. Europarl")
    ] = None,
    version: Annotated[
        str | None, typer.Option("--version", "--release", "-r", help="release; the newest if not given")
    ] = None,
    preprocess: Annotated[
        Literal["moses", "xml", "raw"], typer.Option("--preprocess", "-p", help="kind of files")
    ] = "moses",
    corpora: Annotated[bool, typer.Option("--list-corpora", "-lc", help="names of corpora alone")] = False,
    languages: Annotated[bool, typer.Option("--list-languages", "-ll", help="languages alone")] = False,
    releases: Annotated[bool, typer.Option("--releases", help="releases of a corpus alone")] = False,
    local: Annotated[
        bool, typer.Option("--local-db", help="look it up in the catalogue of opustools, without a network")
    ] = False,
    api: Annotated[str, typer.Option(envvar="ORTHOGLOT_OPUS_API")] = "https://opus.nlpl.eu/opusapi/",
    as_json: options.AsJson = False,
) -> None:
    """List what OPUS has, with sizes; options are those of opus_get.

    Example: orthoglot study opus --source en --target gn
    """
    from orthoglot.study.fetching import catalogue
    from orthoglot.study.fetching.opus import list_entries

    if corpora + languages + releases > 1:
        raise ConfigError("--list-corpora, --list-languages, --releases: give one of them")
    if releases and (not corpus or version):
        raise ConfigError("--releases: give --corpus, and no --version")
    if version is None and not releases:
        version = "latest"
    if local:
        entries = catalogue.entries(corpus, version, preprocess, source=source, target=target)
    else:
        entries = list_entries(
            api, source=source, target=target, corpus=corpus, version=version, preprocess=preprocess
        )
    if corpora or languages or releases:
        names = _names(entries, corpora, languages, source)
        typer.echo(json.dumps(names) if as_json else "\n".join(names))
        return
    if as_json:
        typer.echo(json.dumps([entry.model_dump() for entry in entries], indent=1))
        return
    for entry in entries:
        pair = f"{entry.source}-{entry.target}" if entry.target else entry.source
        counted = "pairs" if entry.target else "sentences"
        typer.echo(f"{entry.corpus}\t{entry.version}\t{pair}\t{entry.pairs} {counted}\t{entry.kibibytes} KiB")


def _names(entries: list[Entry], corpora: bool, languages: bool, source: str | None) -> list[str]:
    """The corpora of the entries, their languages but for `source`, or their releases, the newest first."""
    if corpora:
        return sorted({entry.corpus for entry in entries})
    if languages:
        return sorted({code for entry in entries for code in (entry.source, entry.target)} - {"", source})
    newest = {entry.version: entry.latest for entry in entries}
    return sorted(newest, key=lambda release: (newest[release], release), reverse=True)
