"""orthoglot: sentence encoders across languages, split into a meaning and a language part."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from orthoglot.model import Model

__all__ = ["load"]
__version__ = "0.1.0"


def load(folder: str | Path, device: str = "auto") -> Model:
    """Load a trained encoder or decomposer; see `orthoglot.model.Model.load`."""
    from orthoglot.model import Model

    return Model.load(folder, device=device)
