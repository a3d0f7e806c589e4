"""Open any encoder folder, and tell by its bytes which encoder it is."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from orthoglot.encoders.base import Encoder
from orthoglot.encoders.ems import EmsEncoder
from orthoglot.encoders.pretrained import PretrainedEncoder, locate
from orthoglot.errors import ConfigError, DataError

ENCODERS: dict[str, Callable[[Path, str], Encoder]] = {
    "ems": EmsEncoder.load,
    "mlm": PretrainedEncoder.load,
    "pretrained": PretrainedEncoder.load,
}
# What changes a vector: weights, their shapes, and how text becomes ids.
DECISIVE = ("*.safetensors", "config.json", "tokenizer*", "sentencepiece*", "spiece*", "vocab*", "merges.txt")


def load_encoder(folder: Path, device: str = "auto") -> Encoder:
    """The encoder that a folder's encoder.json describes.

    Args:
        folder: as written by pretraining or linking.
        device: as `resolve_device` reads it.
    Raises:
        ConfigError: of an unknown kind.
        DataError: no such folder, or a damaged one.
    """
    kind = _card(folder)["kind"]
    if kind not in ENCODERS:
        near = difflib.get_close_matches(str(kind), ENCODERS, n=len(ENCODERS), cutoff=0.0)
        raise ConfigError(f"encoder {folder}: unknown kind {kind!r}; known are {', '.join(near)}")
    return ENCODERS[kind](folder, device)


def identity(folder: Path) -> str:
    """SHA-256 over encoder.json and the names and bytes of the files that decide its vectors.

    The same settings and weights give the same identity wherever the folder lies; a linked checkpoint is read
    at its place.
    """
    card = _card(folder)
    digest = hashlib.sha256((folder / "encoder.json").read_bytes())
    for place in (folder, _checkpoint(folder, card)):
        for path in sorted({path for pattern in DECISIVE for path in place.glob(pattern) if path.is_file()}):
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
            digest.update(f"{path.name} {content}\n".encode())
    return digest.hexdigest()


def _checkpoint(folder: Path, card: dict[str, Any]) -> Path:
    checkpoint = card.get("checkpoint", ".")
    return folder if checkpoint == "." else locate(checkpoint, card["revision"])


def _card(folder: Path) -> dict[str, Any]:
    path = folder / "encoder.json"
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"encoder {path}: cannot be read ({error})") from error
    if not isinstance(card, dict) or "kind" not in card:
        raise DataError(f"encoder {path}: does not state its kind")
    return card
