"""Encoders that were trained elsewhere: an encoder folder that names a checkpoint, which stays where it is."""

from __future__ import annotations

import tempfile
from pathlib import Path

from orthoglot.encoders.folder import save_card
from orthoglot.encoders.kinds import load_encoder
from orthoglot.encoders.settings import FrozenSettings


def link(settings: FrozenSettings, name: str, output: Path) -> None:
    """Write encoder.json for a checkpoint, once it has been opened without a network.

    Raises:
        ConfigError, DataError, OfflineError: as the `load` of its kind.
    """
    described = {**settings.model_dump(exclude={"licence"}), "name": name}
    with tempfile.TemporaryDirectory() as trial:
        save_card(Path(trial), described)
        dim = load_encoder(Path(trial), "cpu").dim
    save_card(output, {**described, "dim": dim})
