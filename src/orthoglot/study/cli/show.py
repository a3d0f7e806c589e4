"""`orthoglot study show`: an entry of the settings in full."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from orthoglot.cli import options
from orthoglot.errors import ConfigError
from orthoglot.study.cli.language import show_language

if TYPE_CHECKING:
    from orthoglot.study.config import Params as Settings

Kind = Literal["preset", "corpus", "benchmark", "encoder", "method", "variant", "language"]


def show(
    kind: Annotated[Kind, typer.Argument(help="what to show")],
    name: Annotated[
        str | None, typer.Argument(help="an entry, KIND.NAME of a variant; all are listed if not given")
    ] = None,
    params: options.Params = None,
    text: Annotated[
        Path | None,
        typer.Option(help="of a language: UTF-8 sample; else prepared text under data/PRESET/bitext, if any"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="of a language: print JSON")] = False,
) -> None:
    """Print an entry of params.yaml or the catalogue in full, or which encoders cover a language.

    Example: orthoglot study show encoder ems-mini
    """
    if kind == "language":
        if name is None:
            raise ConfigError("name the language in any spelling: gn, grn, grn_Latn")
        show_language(name, params, text, as_json)
        return
    if text or as_json:
        raise ConfigError(f"--text and --json are for a language, not for a {kind}")
    import yaml

    from orthoglot import catalogue
    from orthoglot.catalogue_entries import known
    from orthoglot.study import config

    entries = _entries(config.load(catalogue.file_of(params)), kind)
    if name is None:
        options.print_table([(entry, _summary(kind, values)) for entry, values in entries.items()])
        return
    known(name, entries, kind)
    shown = yaml.safe_dump(
        {name: entries[name]}, sort_keys=False, allow_unicode=True, width=110, default_flow_style=None
    )
    typer.echo(shown, nl=False)


def _entries(settings: Settings, kind: Kind) -> dict[str, dict[str, Any]]:
    """All entries of one kind in full, by name."""
    if kind == "variant":
        return {
            f"{of}.{name}": changes
            for of, named in settings.variants.items()
            for name, changes in named.items()
        }
    section = "corpora" if kind == "corpus" else f"{kind}s"
    entries = {name: entry.model_dump() for name, entry in getattr(settings, section).items()}
    # The kind first, as people write it.
    return {
        name: {key: entry[key] for key in ("kind",) if key in entry} | entry
        for name, entry in entries.items()
    }


def _summary(kind: Kind, values: dict[str, Any]) -> str:
    """An entry in a few words."""
    match kind:
        case "preset":
            return f"{', '.join(values['corpora'])}; {', '.join(values['encoders'])}"
        case "corpus" | "benchmark":
            return f"{values['kind']}: {', '.join(values.get('pairs') or values['languages'])}"
        case "encoder":
            source = values.get("checkpoint") or values.get("network", {}).get("encoder", "")
            return f"{values['kind']}: {source}" if source else values["kind"]
        case "method":
            terms = f": {', '.join(values['terms'])}" if values["terms"] else ""
            return values["architecture"] + terms
        case _:
            return json.dumps(values) if values else "the encoder as it is"
