"""The state of a training as one file."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from orthoglot.atomic import replacing
from orthoglot.errors import DataError
from orthoglot.torch_checksums import is_archive, is_damaged


def save(path: Path, state: Mapping[str, Any]) -> None:
    """Write nested dicts, lists, tuples, tensors, numbers, strings, booleans and None; atomic."""
    with replacing(path) as partial:
        torch.save(dict(state), partial)


def load(path: Path) -> dict[str, Any]:
    """What `save` wrote, tensors on the CPU, bit-equal.

    Raises:
        DataError: The file is absent, truncated, damaged or not a checkpoint.
    """
    if not is_archive(path):
        raise DataError(f"checkpoint {path}: absent, truncated or not a checkpoint; remove it to begin anew")
    if is_damaged(path):
        raise DataError(f"checkpoint {path}: damaged, a checksum in it does not fit; remove it to begin anew")
    try:
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, RuntimeError, pickle.UnpicklingError) as error:
        reason = str(error).partition("\n")[0]
        raise DataError(f"checkpoint {path}: cannot be read ({reason}); remove it to begin anew") from error
    return state


def snapshot(module: torch.nn.Module) -> dict[str, Tensor]:
    """A copy of the module's parameters and buffers that later steps do not change."""
    return {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}
