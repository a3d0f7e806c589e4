"""The ready model: an encoder out of a Python package, and PLDA of free text that comes with orthoglot.

`ready.safetensors` holds the `Scatter` that PLDA is computed of, so that a fit to other text can start from it: `mean`,
and the covariances `total` (E[x x^T] - mean mean^T), `within`, `between` and `spread`. A covariance is its standard
deviations (D,) in float32 and its correlations above the diagonal in float16. The header has the settings, the numbers
of the scatter, the languages, and the licences of the text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

from orthoglot import catalogue
from orthoglot.atomic import building, replacing
from orthoglot.decomposers.architectures.plda import Prior, Scatter, maps
from orthoglot.decomposers.base import META, Decomposer
from orthoglot.encoders.folder import ENCODER, identity
from orthoglot.encoders.kinds.pretrained import PretrainedSettings
from orthoglot.errors import ConfigError
from orthoglot.file_lock import locked
from orthoglot.packages import installed_package
from orthoglot.receipts import file_digest
from orthoglot.user_folders import user_folder, user_place

NAME, METHOD = "small", "plda"
FILE = Path(__file__).with_suffix(".safetensors")
COVARIANCES = ("total", "within", "between", "spread")
NUMBERS = ("doubt", "pairs")


class Ready(NamedTuple):
    """What the file holds."""

    prior: Prior  # scatter and settings
    # `encoder`, its name in the catalogue; `text`, its licence by corpus; `made`, the date
    about: dict[str, Any]
    sha256: str  # of the file


def save(prior: Prior, about: Mapping[str, Any], file: Path) -> None:
    """Write a file that `load` reads."""
    scatter, settings = prior
    arrays = {"mean": scatter.mean.astype(np.float32)}
    total = scatter.squares - np.outer(scatter.mean, scatter.mean)
    for name in COVARIANCES:
        matrix = total if name == "total" else getattr(scatter, name)
        sizes = np.sqrt(np.diag(matrix))
        correlations = (matrix / np.outer(sizes, sizes))[np.triu_indices(len(sizes), 1)]
        arrays[f"{name}.sizes"] = sizes.astype(np.float32)
        arrays[f"{name}.correlations"] = correlations.astype(np.float16)
    numbers = {name: getattr(scatter, name) for name in NUMBERS}
    stated = {"settings": settings, "scatter": numbers, "languages": scatter.languages, **about}
    with replacing(file) as partial:
        save_file(arrays, partial, {"ready": json.dumps(stated, sort_keys=True)})


def facts(file: Path = FILE) -> dict[str, Any]:
    """Read the header alone: `languages`, `encoder`, `settings`, `scatter`, and what else `save` was given."""
    with safe_open(file, "numpy") as stored:
        stated: dict[str, Any] = json.loads(stored.metadata()["ready"])
    return stated


def load(file: Path = FILE) -> Ready:
    """Read a file that `save` wrote."""
    with safe_open(file, "numpy") as stored:
        arrays = {name: stored.get_tensor(name).astype(np.float64) for name in stored.keys()}  # noqa: SIM118
    stated = facts(file)
    matrices = {}
    for name in COVARIANCES:
        sizes = arrays[f"{name}.sizes"]
        correlations = np.eye(len(sizes))
        correlations[np.triu_indices(len(sizes), 1)] = arrays[f"{name}.correlations"]
        correlations = np.triu(correlations) + np.triu(correlations, 1).T
        matrices[name] = correlations * np.outer(sizes, sizes)
    squares = matrices["total"] + np.outer(arrays["mean"], arrays["mean"])
    scatter = Scatter(
        mean=arrays["mean"],
        squares=squares,
        within=matrices["within"],
        between=matrices["between"],
        spread=matrices["spread"],
        languages=stated.pop("languages"),
        **stated.pop("scatter"),
    )
    return Ready(Prior(scatter, stated.pop("settings")), stated, file_digest(file))


def get(folder: Path) -> Ready:
    """Write the model folder: the encoder out of its package, downloaded if it is not installed, and its maps.

    Returns what the maps were computed of.

    Raises:
        OfflineError: the package is neither installed nor to be had.
        DataError: its file is not the pinned one.
    """
    from orthoglot.encoders.frozen_folder import link_packaged

    ready = load()
    scatter, settings = ready.prior
    name = ready.about["encoder"]
    with building(folder) as partial:
        home = partial / ENCODER
        home.mkdir()
        link_packaged(_encoder(name), name, home)
        weights = {part: array.astype(np.float32) for part, array in maps(scatter, **settings).items()}
        details = {**settings, **ready.about, "train_pairs": scatter.pairs, "ready": ready.sha256}
        dim = len(scatter.mean)
        Decomposer(METHOD, METHOD, name, identity(home), scatter.languages, dim, weights, details).save(
            partial
        )
    return ready


def usual_folder(instead: str) -> Path:
    """Where `get` puts the model by default; `instead` is what to do if there can be no such folder, for the error."""
    return user_folder("data", instead) / NAME


def default() -> Path:
    """The ready model's folder for commands without --model.

    It is written anew if it is absent, damaged or of another version of orthoglot, and the encoder's package is
    installed. Commands of a pipe wait for each other.

    Raises:
        ConfigError: it is absent, and so is the package; or the user has no folder for it.
    """
    folder = user_place("data", "give --model") / NAME
    # A current model is used even if the home folder may only be read.
    if _is_current(folder):
        return folder
    folder = usual_folder("give --model")
    with locked(folder.with_name(f"{NAME}.lock"), folder):
        if not _is_current(folder):
            package = _encoder(load().about["encoder"]).package
            assert package is not None
            try:
                installed_package(package.name, package.version)
            except ConfigError as error:
                raise ConfigError(
                    f"no --model, and the ready model is not on this machine: orthoglot get {NAME} fetches its encoder"
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
