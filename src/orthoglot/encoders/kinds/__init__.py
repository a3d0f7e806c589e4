"""The kinds of encoders: a module each, with `_` where the name of the kind has `-`.

A module has `KIND`, which says how a folder of this kind is opened and, where the encoder was trained elsewhere, its
settings and how it is linked. It imports PyTorch and what needs it only within functions, so that reading params.yaml
stays fast. Settings of trainings are in `orthoglot.study.pretraining.kinds`.
"""

from __future__ import annotations

import sys

from orthoglot import registry
from orthoglot.encoders.settings import FrozenSettings, Kind


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
