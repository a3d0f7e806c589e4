"""Kind `refused`: a checkpoint that orthoglot does not open."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NoReturn

from orthoglot.encoders.settings import FrozenSettings, Kind
from orthoglot.errors import ConfigError


class RefusedSettings(FrozenSettings):
    """A well-known checkpoint that is not opened; naming it says why."""

    serves_as = frozenset()
    has_network = False
    kind: Literal["refused"]
    reason: str
    """Why."""


def refuse(settings: RefusedSettings, name: str) -> NoReturn:
    """Say why.

    Raises:
        ConfigError: always.
    """
    raise ConfigError(f"encoder {name}: {settings.checkpoint} is refused: {settings.reason}")


def make(settings: RefusedSettings, name: str, _: Path) -> None:
    """Do as `refuse`."""
    refuse(settings, name)


KIND = Kind(RefusedSettings, make)
