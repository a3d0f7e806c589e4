"""Files of weights and of SentencePiece models, also of other programs; no code in them is run."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from sentencepiece import SentencePieceProcessor
from torch import nn

from orthoglot.encoders.base import check_finite
from orthoglot.errors import DataError
from orthoglot.torch_checksums import is_damaged

Sizes = TypeVar("Sizes")


def open_converted(
    place: Path, name: str, sizes: type[Sizes], network: Callable[[Sizes], nn.Module]
) -> tuple[Sizes, Any]:
    """Open a converted folder: config.json, which states the `sizes` of the network, and model.safetensors.

    Raises:
        DataError: A file is damaged, does not fit the stated sizes, or holds a weight that is not finite.
    """
    try:
        stated = sizes(**json.loads((place / "config.json").read_text(encoding="utf-8"))["sizes"])
        with torch.device("meta"):
            model = network(stated)
        model.load_state_dict(load_file(place / "model.safetensors"), assign=True)
    except (OSError, SafetensorError, ValueError, KeyError, TypeError, RuntimeError) as error:
        raise DataError(f"encoder {name}: {place} cannot be read ({' '.join(str(error).split())})") from error
    check_finite(name, model)
    return stated, model


def open_pickle(path: Path, what: str) -> Any:
    """Read what torch.save wrote: only tensors, numbers, strings and their collections, and no code is run.

    Raises:
        DataError: The file is damaged, or holds something else than `what`.
    """
    if is_damaged(path):
        raise DataError(f"{path}: not {what}, but damaged: a checksum in it does not fit")
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError, LookupError, TypeError, ValueError) as error:
        # PyTorch's own message advises to trust the file.
        raise DataError(f"{path}: not {what}, but damaged, or with objects other than tensors") from error


def open_pieces(place: Path, name: str) -> SentencePieceProcessor:
    """The SentencePiece model of an encoder's folder; a damaged one is a DataError."""
    try:
        return SentencePieceProcessor(model_proto=(place / "sentencepiece.model").read_bytes())
    except (OSError, RuntimeError) as error:
        raise DataError(f"encoder {name}: {place} cannot be read ({' '.join(str(error).split())})") from error
