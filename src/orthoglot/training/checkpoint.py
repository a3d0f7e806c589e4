"""State of a training as one safetensors file: tensors as they are, everything else as JSON beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from orthoglot.atomic import replacing
from orthoglot.errors import DataError

# One metadata key only: safetensors writes several in an order of its own, and bytes must not depend on it.
KEY = "state"


def save(path: Path, state: Mapping[str, Any]) -> None:
    """Write nested dicts, lists, tuples, tensors, numbers, strings, booleans and None; atomic.

    Keys may be strings or integers (optimiser states use both). Tensors that share memory are stored twice.
    """
    tensors: dict[str, Tensor] = {}
    text = json.dumps(_pack(dict(state), tensors))
    with replacing(path) as partial:
        save_file(tensors, partial, metadata={KEY: text})


def load(path: Path) -> dict[str, Any]:
    """What `save` wrote, tensors on the CPU, bit-equal.

    Raises:
        DataError: the file is absent, truncated or not a checkpoint.
    """
    try:
        with safe_open(path, framework="pt") as file:
            text = (file.metadata() or {})[KEY]
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
        return _unpack(json.loads(text), tensors)
    except (OSError, SafetensorError, RuntimeError, KeyError, ValueError) as error:
        raise DataError(f"checkpoint {path}: cannot be read ({error})") from error


def _pack(value: Any, tensors: dict[str, Tensor]) -> Any:
    if isinstance(value, Tensor):
        name = f"t{len(tensors):06d}"
        tensors[name] = value.detach().to("cpu", copy=True).contiguous()
        return {"tensor": name}
    if isinstance(value, Mapping):
        return {"dict": [[key, _pack(item, tensors)] for key, item in value.items()]}
    if isinstance(value, tuple):
        return {"tuple": [_pack(item, tensors) for item in value]}
    if isinstance(value, list):
        return [_pack(item, tensors) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"a checkpoint cannot hold {type(value).__name__}")


def _unpack(value: Any, tensors: Mapping[str, Tensor]) -> Any:
    if isinstance(value, list):
        return [_unpack(item, tensors) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "tensor":
        return tensors[content]
    if kind == "tuple":
        return tuple(_unpack(item, tensors) for item in content)
    return {key: _unpack(item, tensors) for key, item in content}


def snapshot(module: torch.nn.Module) -> dict[str, Tensor]:
    """A copy of the module's parameters and buffers that later steps do not change."""
    return {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}
