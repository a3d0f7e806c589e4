"""Kind `laser`: LASER1 or LASER2, converted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from orthoglot.encoders.kinds import Kind
from orthoglot.encoders.laser_files import place
from orthoglot.encoders.settings import FrozenSettings, Precision

if TYPE_CHECKING:
    from orthoglot.encoders.base import Encoder
    from orthoglot.encoders.laser_tokenizers import LaserTokenizer


class LaserSettings(FrozenSettings):
    """LASER1 or LASER2, from the folder that `orthoglot get` wrote; the end token counts in `max_tokens`."""

    has_network = False
    kind: Literal["laser"]


def _make(settings: LaserSettings, name: str, output: Path) -> None:
    from orthoglot.encoders.frozen_folder import link

    link(settings, name, output)


def _load(folder: Path, device: str, precision: Precision) -> Encoder:
    from orthoglot.encoders.laser import LaserEncoder

    return LaserEncoder.load(folder, device, precision)


def _tokenizer(place: Path, name: str) -> LaserTokenizer:
    from orthoglot.encoders.laser_tokenizers import open_tokenizer

    return open_tokenizer(place, name)


KIND = Kind(LaserSettings, _make, _load, _tokenizer, place)
