"""Kind `laser`: LASER2, converted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from orthoglot.encoders.folder import locate_converted
from orthoglot.encoders.settings import FrozenSettings, Kind, Precision

if TYPE_CHECKING:
    from orthoglot.encoders.base import Encoder
    from orthoglot.encoders.laser import LaserTokenizer


SOURCE = "https://dl.fbaipublicfiles.com/nllb/laser"
FILES = ("config.json", "model.safetensors", "vocab.json", "sentencepiece.model")


class LaserSettings(FrozenSettings):
    """LASER2, from the folder that `orthoglot convert-laser` wrote; the end token counts in `max_tokens`."""

    kind: Literal["laser"]


def make(settings: LaserSettings, name: str, output: Path) -> None:
    """As `link`."""
    from orthoglot.encoders.link import link

    link(settings, name, output)


def load(folder: Path, device: str, precision: Precision) -> Encoder:
    """As `LaserEncoder.load`."""
    from orthoglot.encoders.laser import LaserEncoder

    return LaserEncoder.load(folder, device, precision)


def tokenizer(place: Path, name: str) -> LaserTokenizer:
    """See `LaserTokenizer`."""
    from orthoglot.encoders.laser import LaserTokenizer

    return LaserTokenizer(place, name)


def place(checkpoint: str, _: str) -> Path:
    """The folder that `orthoglot convert-laser` wrote.

    Raises:
        OfflineError: a file is not on this machine.
    """
    return locate_converted(checkpoint, FILES, hint(checkpoint))


def hint(output: str) -> str:
    """The one command that fetches LASER2's official files and converts them."""
    return (
        f"fetch and convert LASER2 with: curl -fL -O {SOURCE}/laser2.pt -O {SOURCE}/laser2.spm"
        f" && orthoglot convert-laser laser2.pt laser2.spm {output}"
    )


KIND = Kind(LaserSettings, make, load, tokenizer, place)
