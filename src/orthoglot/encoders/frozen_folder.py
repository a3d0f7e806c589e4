"""Encoders that were trained elsewhere: an encoder folder that names a checkpoint, or holds one out of a package."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from orthoglot.atomic import building
from orthoglot.encoders.checkpoint import into_cache, unpack
from orthoglot.encoders.folder import load_encoder, save_card
from orthoglot.encoders.settings import FrozenSettings, HubSettings, PackagedWeights


def link(settings: FrozenSettings, name: str, output: Path) -> None:
    """Write encoder.json for a checkpoint, which stays where it is, once it has been opened.

    A hub id that is not in the hub's local cache is downloaded into it. Errors are those of `into_cache` and
    `load_encoder`.
    """
    if isinstance(settings, HubSettings):
        into_cache(settings, name)
    described = _described(settings, name)
    with tempfile.TemporaryDirectory() as trial:
        save_card(Path(trial), described)
        dim = load_encoder(Path(trial), "cpu").dim
    save_card(output, {**described, "dim": dim})


def link_packaged(settings: FrozenSettings, name: str, output: Path) -> None:
    """Do as `link`, but convert weights out of a Python package, if one is named, into the encoder folder itself.

    The card then states `bits`, to which the package has rounded the matrices, and `origin`, the checkpoint that they
    are of. Errors are those of `link` and `unpack`.
    """
    package: PackagedWeights | None = getattr(settings, "package", None)
    if package is None:
        link(settings, name, output)
        return
    unpack(settings, name, output)
    described = _described(settings, name) | {
        "checkpoint": ".",
        "origin": settings.checkpoint,
        "bits": package.bits,
    }
    if "revision" in described:
        described["revision"] = ""
    save_card(output, described)
    save_card(output, {**described, "dim": load_encoder(output, "cpu").dim})


def encoder_from_package(settings: FrozenSettings, name: str, output: Path) -> None:
    """Do as `link_packaged`, into a new folder that appears whole or not at all."""
    with building(output) as partial:
        link_packaged(settings, name, partial)


def _described(settings: FrozenSettings, name: str) -> dict[str, Any]:
    return {**settings.model_dump(exclude={"licence", "map", "package", "stands_for"}), "name": name}
