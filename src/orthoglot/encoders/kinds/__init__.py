"""The kinds of encoders: a module each, with `_` where the name of the kind has `-`.

A module holds the settings of its kind, how an encoder folder is made and opened, and `KIND`, which says so. It imports
PyTorch and what needs it only within functions, so that reading params.yaml stays fast.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from orthoglot import registry
from orthoglot.encoders.folder import card
from orthoglot.encoders.settings import EncoderEntry, FrozenSettings, Kind, Precision
from orthoglot.errors import ConfigError

if TYPE_CHECKING:
    from orthoglot.encoders.base import Encoder

# Kinds of the folders that trainings without a `load` of their own write.
SAVED_AS = ("ems", "pretrained", "sentence-transformers")


def names() -> list[str]:
    """Of the kinds, in order of the alphabet."""
    return [*registry.names(sys.modules[__name__])]


def kind(name: str) -> Kind:
    """The kind of one of the `names`."""
    module: Kind = registry.load(sys.modules[__name__], name).KIND
    return module


if TYPE_CHECKING:
    EncoderSettings = EncoderEntry
else:
    EncoderSettings = registry.entry_of(kind(name).settings for name in names())


@dataclass(frozen=True)
class Inputs:
    """The folders that a training reads.

    Attributes:
        bitext: prepared pair folders; a folder's name is its pair.
        corpora: prepared text folders; a folder's name is its language.
        tokens: as `tokenise` wrote it for these folders.
        encoders: other encoders by their role in `EncoderEntry.origins`: "start", "teacher".
    """

    bitext: Sequence[Path]
    corpora: Sequence[Path] = ()
    tokens: Path | None = None
    encoders: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True)
class RunOptions:
    """Where a training runs and writes; it does not change what is computed on one kind of device.

    Attributes:
        device: as `resolve_device` reads it.
        checkpoint: folder for the state from which an interrupted training resumes.
        curves: folder for the curves of `tools`.
        tools: names in `orthoglot.training.curves.TOOLS`.
        speed: folder that gets seconds and hardware (`orthoglot.training.speed`).
    """

    device: str
    checkpoint: Path
    curves: Path | None = None
    tools: tuple[str, ...] = ()
    speed: Path | None = None


def make_encoder(settings: EncoderSettings, name: str, inputs: Inputs, run: RunOptions, output: Path) -> None:
    """Train an encoder, or link one that was trained elsewhere, and write its folder.

    Args:
        settings: of any kind.
        name: of the encoder, kept in encoder.json.
        inputs: what a training reads.
        run: where a training runs.
        output: an existing empty folder.
    """
    make = kind(settings.kind).make
    if isinstance(settings, FrozenSettings):
        make(settings, name, output)
    else:
        make(settings, name, inputs, run, output)


def load_encoder(folder: Path, device: str = "auto", precision: Precision = "float32") -> Encoder:
    """Open an encoder folder.

    Args:
        folder: as written by `make_encoder`.
        device: as `resolve_device` reads it.
        precision: that the network computes in; its vectors are float32.
    Raises:
        ConfigError: of an unknown kind.
        DataError: no such folder, or a damaged one.
    """
    name = card(folder)["kind"]
    loaders = {other: load for other in names() if (load := kind(other).load)}
    if name not in loaders:
        raise ConfigError(f"encoder {folder}: unknown kind {name!r}; known are {', '.join(loaders)}")
    return loaders[name](folder, device, precision)
