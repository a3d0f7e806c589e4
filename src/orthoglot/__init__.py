"""orthoglot: sentence encoders across languages, split into a meaning and a language part."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from orthoglot.apply.estimator import Decomposer
    from orthoglot.apply.mine import mine
    from orthoglot.apply.model import Model
    from orthoglot.apply.score import score

__all__ = ["Decomposer", "load", "mine", "score"]
__version__ = "0.1.0"


def load(folder: str | Path, device: str = "auto") -> Model:
    """Load a trained encoder or decomposer; see `orthoglot.apply.model.Model.load`."""
    from orthoglot.apply.model import Model

    return Model.load(folder, device=device)


# Imported when they are asked for: scikit-learn and PyTorch take seconds.
_LATER = {"Decomposer": "estimator", "mine": "mine", "score": "score"}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'orthoglot' has no attribute {name!r}")
    return getattr(import_module(f"orthoglot.apply.{_LATER[name]}"), name)
