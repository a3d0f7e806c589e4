"""What may be wrong with a checkpoint: functions that change its folder."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

Damage = Callable[[Path], object]


def said(name: str, change: Callable[[Any], object]) -> Damage:
    """Change what a JSON file of a model says."""

    def damage(model: Path) -> None:
        content = json.loads((model / name).read_text())
        change(content)
        (model / name).write_text(json.dumps(content))

    return damage


def weights(step: str, change: Callable[[dict[str, torch.Tensor]], object]) -> Damage:
    """Change the weights of a step of a model."""

    def damage(model: Path) -> None:
        tensors = load_file(model / step / "model.safetensors")
        change(tensors)
        save_file(tensors, model / step / "model.safetensors", metadata={"format": "pt"})

    return damage


def pickled(step: str) -> Damage:
    """A pickle in place of the weights of a step; whoever opens it finds the folder `broken-into`."""

    def damage(model: Path) -> None:
        class Evil:
            def __reduce__(self) -> tuple[Any, ...]:
                return (os.mkdir, (str(model / "broken-into"),))

        (model / step / "model.safetensors").unlink()
        (model / step / "pytorch_model.bin").write_bytes(pickle.dumps(Evil()))

    return damage


def without_a_weight(tensors: dict[str, torch.Tensor]) -> None:
    """Remove the first weight."""
    del tensors[next(name for name in tensors if name.endswith("weight"))]
