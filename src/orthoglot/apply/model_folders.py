"""Where a model is, by its folder or by its name; it imports nothing that takes time."""

from __future__ import annotations

from pathlib import Path

SMALL = "small"  # the name of the ready model
WEIGHTS = Path("weights")  # where `orthoglot get` puts encoders, by name
READY = "ready"  # the folder of a ready model, beside its encoder
MAP = "map.safetensors"  # the ready map there


def model_folder(folder: Path | None) -> Path | None:
    """The folder of a model, by its folder or by the name that `orthoglot get` has; None for the ready model."""
    if folder is None or (str(folder) == SMALL and not folder.exists()):
        return None
    if not folder.exists() and (WEIGHTS / folder).is_dir():
        folder = WEIGHTS / folder
    return folder / READY if (folder / READY / "decomposer.json").is_file() else folder
