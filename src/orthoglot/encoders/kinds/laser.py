"""Kind `laser`: LASER1 or LASER2, converted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from orthoglot.encoders.folder import locate_converted
from orthoglot.encoders.settings import FrozenSettings, Kind, Precision

if TYPE_CHECKING:
    from orthoglot.encoders.base import Encoder
    from orthoglot.encoders.laser_tokenizers import LaserTokenizer


# Where the official files are, and their names, the weights first.
SOURCES = {
    "LASER1": ("laser/models", ("bilstm.93langs.2018-12-26.pt", "93langs.fcodes", "93langs.fvocab")),
    "LASER2": ("nllb/laser", ("laser2.pt", "laser2.spm")),
}
# What a converted folder holds: both have the first three, LASER2 the pieces, LASER1 the files of fastBPE.
FILES = ("config.json", "model.safetensors", "vocab.json")
PIECES, CODES, VOCABULARY = "sentencepiece.model", "merges.txt", "vocab.txt"


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


def place(checkpoint: str, _: str) -> Path:
    """The folder that `orthoglot get` wrote.

    One without codes of fastBPE is LASER2's, unless it is called laser1.

    Raises:
        OfflineError: a file is not on this machine.
    """
    folder = Path(checkpoint)
    name = "LASER1" if (folder / CODES).is_file() or folder.name == "laser1" else "LASER2"
    further = (PIECES,) if name == "LASER2" else (CODES, VOCABULARY)
    return locate_converted(checkpoint, (*FILES, *further), hint(name, checkpoint))


def hint(name: str, output: str) -> str:
    """The one command that fetches the official files of LASER1 or LASER2 and converts them."""
    at, files = SOURCES[name]
    fetched = " ".join(f"-O https://dl.fbaipublicfiles.com/{at}/{file}" for file in files)
    command = f"orthoglot get {name.lower()} {' '.join(files)} --output {output}"
    return f"fetch and convert {name} with: curl -fL {fetched} && {command}"


KIND = Kind(LaserSettings, make, load, tokenizer, place)
