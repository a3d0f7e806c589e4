"""Kind `sentence-transformers`: any model of this library."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from orthoglot.encoders.kinds import Kind
from orthoglot.encoders.settings import HubSettings, Precision

if TYPE_CHECKING:
    from orthoglot.encoders.base import Encoder
    from orthoglot.encoders.tokenization import Tokenizer


class SentenceTransformersSettings(HubSettings):
    """Any sentence-transformers model, a folder or a hub id at a commit; its own modules pool and normalise."""

    kind: Literal["sentence-transformers"]
    prefix: str = ""
    """Text before every sentence; prompts that the model brings are not used."""


def _make(settings: SentenceTransformersSettings, name: str, output: Path) -> None:
    from orthoglot.encoders.sentence_transformer import link_sentence_transformers

    link_sentence_transformers(settings, name, output)


def _load(folder: Path, device: str, precision: Precision) -> Encoder:
    from orthoglot.encoders.folder import begins_static, card, checkpoint_folder

    if begins_static(checkpoint_folder(folder, card(folder))):
        from orthoglot.encoders.static import StaticEncoder

        return StaticEncoder.load(folder, device, precision)
    from orthoglot.encoders.sentence_transformer import SentenceTransformersEncoder

    return SentenceTransformersEncoder.load(folder, device, precision)


def _tokenizer(place: Path, name: str) -> Tokenizer:
    """The tokenizer of the Transformer, or of the table, that the model begins with."""
    from orthoglot.encoders import static, tokenization
    from orthoglot.encoders.folder import begins_static, modules

    if begins_static(place):
        return static.open_tokenizer(place, name)
    return tokenization.open_tokenizer(modules(place)[0].folder, name)


KIND = Kind(SentenceTransformersSettings, _make, _load, _tokenizer)
