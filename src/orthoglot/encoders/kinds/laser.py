"""Kind `laser`: LASER1 or LASER2, converted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from orthoglot.encoders.laser_files import place
from orthoglot.encoders.settings import FrozenSettings, Kind, Precision

if TYPE_CHECKING:
    from orthoglot.encoders.base import Encoder
    from orthoglot.encoders.laser_tokenizers import LaserTokenizer


class LaserSettings(FrozenSettings):
    """LASER1 or LASER2, from the folder that `orthoglot get` wrote; the end token counts in `max_tokens`."""

    has_network = False
    kind: Literal["laser"]


def make(settings: LaserSettings, name: str, output: Path) -> None:
    """Do as `link`."""
    from orthoglot.encoders.link import link

    link(settings, name, output)


def load(folder: Path, device: str, precision: Precision) -> Encoder:
    """Do as `LaserEncoder.load`."""
    from orthoglot.encoders.laser import LaserEncoder

    return LaserEncoder.load(folder, device, precision)


def tokenizer(place: Path, name: str) -> LaserTokenizer:
    """Do as `open_tokenizer` of LASER."""
    from orthoglot.encoders.laser_tokenizers import open_tokenizer

    return open_tokenizer(place, name)


KIND = Kind(LaserSettings, make, load, tokenizer, place)
