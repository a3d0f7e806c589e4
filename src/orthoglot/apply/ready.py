"""A ready map: what PLDA of an encoder's vectors of free text is computed of, in a file without the encoder.

It holds a `Scatter`, so that a fit to other text can start from it: `mean`, and the covariances `total`
(E[x x^T] - mean mean^T), `within`, `between` and `spread`. A covariance is its standard deviations (D,) in float32 and
its correlations above the diagonal in float16. The header has the settings, the numbers of the scatter, the languages,
what decides the encoder's vectors, the licences of the text, and the SHA-256 of all this. `ready.safetensors` is the
map of the ready model, which comes with orthoglot.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import Field
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from orthoglot.atomic import replacing
from orthoglot.decomposers.architectures.plda import PldaSettings, Prior, Scatter
from orthoglot.errors import ConfigError, DataError
from orthoglot.receipts import file_digest
from orthoglot.settings import Settings, checked

METHOD = "plda"
FILE = Path(__file__).with_suffix(".safetensors")
COVARIANCES = ("total", "within", "between", "spread")
ABOUT = ("encoder", "vectors", "text", "made")


class Numbers(Settings):
    """Those of a `Scatter`."""

    doubt: Annotated[float, Field(ge=0, le=1)]
    pairs: Annotated[float, Field(gt=0)]


class Header(Settings):
    """The header of the file."""

    encoder: str
    vectors: dict[str, str] = {}
    text: dict[str, str]
    made: str
    languages: Annotated[list[str], Field(min_length=2)]
    settings: PldaSettings
    scatter: Numbers
    sha256: str = ""


class Ready(NamedTuple):
    """What the file holds."""

    prior: Prior  # scatter and settings
    # `encoder`, its name in the catalogue; `vectors`, what decides its vectors (`encoder_map.vectors_of`; that of the
    # ready model has none); `text`, its licence by corpus; `made`, the date
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
    numbers = {name: getattr(scatter, name) for name in Numbers.model_fields}
    stated = {"settings": settings, "scatter": numbers, "languages": scatter.languages, **about}
    stated["sha256"] = _digest(arrays, stated)
    with replacing(file) as partial:
        save_file(arrays, partial, {"ready": json.dumps(stated, sort_keys=True)})


def facts(file: Path = FILE) -> dict[str, Any]:
    """Read the header alone: `languages`, `encoder`, `settings`, `scatter`, and what else `save` was given."""
    with safe_open(file, "numpy") as stored:
        stated: dict[str, Any] = json.loads(stored.metadata()["ready"])
    return stated


def load(file: Path = FILE) -> Ready:
    """Read a file that `save` wrote; a damaged one is a DataError."""
    try:
        stated = facts(file)
        checked(Header, stated)
        with safe_open(file, "numpy") as stored:
            arrays = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
        if stated.pop("sha256", None) not in (None, _digest(arrays, stated)):
            raise ValueError("its SHA-256 is not the stated one")
        about = {name: stated[name] for name in ABOUT if name in stated}
        return Ready(Prior(_scatter(arrays, stated), stated["settings"]), about, file_digest(file))
    except (
        OSError,
        ValueError,
        TypeError,
        LookupError,
        SafetensorError,
        RecursionError,
        ConfigError,
    ) as error:
        raise DataError(f"map {file}: cannot be read ({error})") from error


def _scatter(arrays: Mapping[str, np.ndarray], stated: Mapping[str, Any]) -> Scatter:
    mean = arrays["mean"].astype(np.float64)
    for name, array in arrays.items():
        shape = (mean.size * (mean.size - 1) // 2,) if name.endswith(".correlations") else (mean.size,)
        if array.shape != shape or not np.isfinite(array).all():
            raise ValueError(f"{name} is not {shape[0]} finite numbers")
    matrices: dict[str, Any] = {}
    for name in COVARIANCES:
        sizes = arrays[f"{name}.sizes"].astype(np.float64)
        correlations = np.eye(mean.size)
        correlations[np.triu_indices(mean.size, 1)] = arrays[f"{name}.correlations"]
        correlations = np.triu(correlations) + np.triu(correlations, 1).T
        matrices[name] = correlations * np.outer(sizes, sizes)
    return Scatter(
        mean=mean,
        squares=matrices.pop("total") + np.outer(mean, mean),
        languages=stated["languages"],
        **matrices,
        **stated["scatter"],
    )


def _digest(arrays: Mapping[str, np.ndarray], stated: Mapping[str, Any]) -> str:
    digest = hashlib.sha256(json.dumps(stated, sort_keys=True).encode())
    for name in sorted(arrays):
        digest.update(name.encode() + arrays[name].tobytes())
    return digest.hexdigest()
