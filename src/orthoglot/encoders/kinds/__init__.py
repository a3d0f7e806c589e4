"""The kinds of encoders: a module each, with `_` where the name of the kind has `-`.

A module holds the settings of its kind, how a folder of it is opened, how one that was trained elsewhere is linked, and
`KIND`, which says so. It imports PyTorch and what needs it only within functions, so that reading params.yaml stays
fast. How a kind is trained is in `orthoglot.study.pretraining.trainings`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from orthoglot import registry
from orthoglot.encoders.folder import card
from orthoglot.encoders.settings import Kind, Precision
from orthoglot.errors import ConfigError

if TYPE_CHECKING:
    from orthoglot.encoders.base import Encoder

# Kinds of the folders that trainings without a `load` of their own write.
SAVED_AS = ("ems", "pretrained", "sentence-transformers")


def names() -> list[str]:
    """The names of the kinds, in order of the alphabet."""
    return [*registry.names(sys.modules[__name__])]


def kind(name: str) -> Kind:
    """The kind of one of the `names`."""
    module: Kind = registry.load(sys.modules[__name__], name).KIND
    return module


def load_encoder(folder: Path, device: str = "auto", precision: Precision = "float32") -> Encoder:
    """Open an encoder folder.

    Args:
        folder: as a kind or a training wrote it.
        device: as `resolve_device` reads it.
        precision: that the network computes in; its vectors are float32.
    Raises:
        ConfigError: of an unknown kind.
        DataError: no such folder, or a damaged one.
    """
    name = card(folder)["kind"]
    if name not in names() or (load := kind(name).load) is None:
        known = (other for other in names() if kind(other).load)
        raise ConfigError(f"encoder {folder}: unknown kind {name!r}; known are {', '.join(known)}")
    return load(folder, device, precision)
