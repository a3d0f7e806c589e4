"""Kind `sentence-transformers`: any model of this library."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from orthoglot.encoders.kinds import Kind
from orthoglot.encoders.settings import HubSettings, Precision

if TYPE_CHECKING:
    from orthoglot.encoders.base import Encoder
    from orthoglot.encoders.tokenization import TextTokenizer


class SentenceTransformersSettings(HubSettings):
    """Any sentence-transformers model, a folder or a hub id at a commit; its own modules pool and normalise."""

    kind: Literal["sentence-transformers"]
    prefix: str = ""
    """Text before every sentence; prompts that the model brings are not used."""


def _make(settings: SentenceTransformersSettings, name: str, output: Path) -> None:
    from orthoglot.encoders.sentence_transformer import link_sentence_transformers

    link_sentence_transformers(settings, name, output)


def _load(folder: Path, device: str, precision: Precision) -> Encoder:
    from orthoglot.encoders.sentence_transformer import SentenceTransformersEncoder

    return SentenceTransformersEncoder.load(folder, device, precision)


def _tokenizer(place: Path, name: str) -> TextTokenizer:
    """The tokenizer of the Transformer that the model begins with."""
    from orthoglot.encoders.folder import modules
    from orthoglot.encoders.tokenization import open_tokenizer

    return open_tokenizer(modules(place)[0].folder, name)


KIND = Kind(SentenceTransformersSettings, _make, _load, _tokenizer)
