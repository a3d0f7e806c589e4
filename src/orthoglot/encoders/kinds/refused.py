"""Kind `refused`: a checkpoint that orthoglot does not open."""

from __future__ import annotations

from typing import Literal, NoReturn

from orthoglot.encoders.kinds import Kind
from orthoglot.encoders.settings import FrozenSettings
from orthoglot.errors import ConfigError


class RefusedSettings(FrozenSettings):
    """A well-known checkpoint that is not opened; naming it says why."""

    serves_as = frozenset()
    has_network = False
    kind: Literal["refused"]
    reason: str
    """Why."""


def refuse(settings: RefusedSettings, name: str) -> NoReturn:
    """Say why, in a ConfigError."""
    raise ConfigError(f"encoder {name}: {settings.checkpoint} is refused: {settings.reason}")


KIND = Kind(RefusedSettings, lambda settings, name, _: refuse(settings, name))
