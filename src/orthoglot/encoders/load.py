"""Open any encoder folder."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path

from orthoglot.encoders.base import Encoder
from orthoglot.encoders.ems import EmsEncoder
from orthoglot.encoders.folder import card
from orthoglot.encoders.laser import LaserEncoder
from orthoglot.encoders.pretrained import PretrainedEncoder
from orthoglot.encoders.sentence_transformer import SentenceTransformersEncoder
from orthoglot.errors import ConfigError

ENCODERS: dict[str, Callable[[Path, str], Encoder]] = {
    "ems": EmsEncoder.load,
    "mlm": PretrainedEncoder.load,
    "pretrained": PretrainedEncoder.load,
    "sentence-transformers": SentenceTransformersEncoder.load,
    "laser": LaserEncoder.load,
}


def load_encoder(folder: Path, device: str = "auto") -> Encoder:
    """The encoder that a folder's encoder.json describes.

    Args:
        folder: as written by pretraining or linking.
        device: as `resolve_device` reads it.
    Raises:
        ConfigError: of an unknown kind.
        DataError: no such folder, or a damaged one.
    """
    kind = card(folder)["kind"]
    if kind not in ENCODERS:
        near = difflib.get_close_matches(str(kind), ENCODERS, n=len(ENCODERS), cutoff=0.0)
        raise ConfigError(f"encoder {folder}: unknown kind {kind!r}; known are {', '.join(near)}")
    return ENCODERS[kind](folder, device)
