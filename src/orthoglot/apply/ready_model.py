"""The ready model: an encoder out of a Python package, and PLDA of the ready map that comes with orthoglot."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from orthoglot import catalogue
from orthoglot.apply import ready
from orthoglot.apply.model_folders import SMALL, model_folder
from orthoglot.apply.ready import FILE, METHOD, Ready
from orthoglot.atomic import building
from orthoglot.decomposers.architectures.plda import maps
from orthoglot.decomposers.base import META, Decomposer
from orthoglot.encoders.folder import ENCODER, identity
from orthoglot.encoders.kinds.pretrained import PretrainedSettings
from orthoglot.errors import ConfigError, DataError
from orthoglot.file_lock import locked
from orthoglot.packages import installed_package
from orthoglot.receipts import file_digest
from orthoglot.user_folders import user_folder, user_place


def get(folder: Path) -> Ready:
    """Write the ready model's folder: the encoder out of its package, downloaded if it is not installed, and its maps.

    Returns what the maps were computed of.

    Raises:
        OfflineError: the package is neither installed nor to be had.
        DataError: its file is not the pinned one.
    """
    from orthoglot.encoders.frozen_folder import link_packaged

    model = ready.load()
    name = model.about["encoder"]
    with building(folder) as partial:
        home = partial / ENCODER
        home.mkdir()
        link_packaged(_encoder(name), name, home)
        replace(decomposer_of(model, name), identity=identity(home)).save(partial)
    return model


def decomposer_of(model: Ready, name: str) -> Decomposer:
    """PLDA's maps of an encoder whose identity is not stated yet.

    Raises:
        DataError: The formula has no solution.
    """
    scatter, settings = model.prior
    try:
        weights = {part: array.astype(np.float32) for part, array in maps(scatter, **settings).items()}
    except np.linalg.LinAlgError as error:
        raise DataError(f"map of {name}: its covariances have no solution ({error})") from error
    details = {**settings, **model.about, "train_pairs": scatter.pairs, "ready": model.sha256}
    return Decomposer(METHOD, METHOD, name, "", scatter.languages, len(scatter.mean), weights, details)


def folder_of(model: str | Path | None) -> Path:
    """The folder of a model, by its folder or its name; that of the ready model for "small" or None.

    Raises:
        ConfigError: see `default`.
    """
    return model_folder(None if model is None else Path(model)) or default()


def usual_folder(instead: str) -> Path:
    """Where `get` puts the model by default; `instead` is what to do if there can be no such folder, for the error."""
    return user_folder("data", instead) / SMALL


def default() -> Path:
    """The ready model's folder for commands without --model.

    It is written anew if it is absent, damaged or of another version of orthoglot, and the encoder's package is
    installed. Commands of a pipe wait for each other.

    Raises:
        ConfigError: it is absent, and so is the package; or the user has no folder for it.
    """
    folder = user_place("data", "give --model") / SMALL
    # A current model is used even if the home folder may only be read.
    if _is_current(folder):
        return folder
    folder = usual_folder("give --model")
    with locked(folder.with_name(f"{SMALL}.lock"), folder):
        if not _is_current(folder):
            package = _encoder(ready.load().about["encoder"]).package
            assert package is not None
            try:
                installed_package(package.name, package.version)
            except ConfigError as error:
                raise ConfigError(
                    f"no --model, and the ready model is not on this machine: orthoglot get {SMALL} fetches its encoder"
                ) from error
            get(folder)
    return folder


def _is_current(folder: Path) -> bool:
    """Whether this version of orthoglot wrote the model."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        described = json.loads((folder / META).read_text(encoding="utf-8"))
        return bool(described["details"]["ready"] == file_digest(FILE))
    return False


def _encoder(name: str) -> PretrainedSettings:
    settings = catalogue.encoders(catalogue.shipped())[name]
    assert isinstance(settings, PretrainedSettings)
    return settings
